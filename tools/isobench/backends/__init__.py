# SPDX-License-Identifier: Apache-2.0
"""One small file per backend: module.BACKEND is an instance of a class derived from Backend."""
import dataclasses
import importlib
import shutil
import subprocess

from rows.base import BACKENDS


@dataclasses.dataclass
class Box:
    """One sandbox to be started: what to run in it, as whom, with which folder of its own."""
    name: str
    folder: str          # of the host, its own; folder/work is what the sandbox may write
    probe: list          # words of isoprobe
    user: str            # root or user, inside
    stage: "object"      # harness.Stage: files that every backend is given
    cgroup: str          # path below the cgroup root in which a runtime may make its own
    tampered: bool = False


class Backend:
    name = ""
    program = None           # what has to be installed
    controls = ("proc", "image")   # of rows/closed.py: those that it has, or could have
    has_image = False              # its root is an image, not the folder
    boundary = ("isoprobe",)  # names of the processes that face the program
    # Where the sandbox finds things: names for the words of the probes.
    paths = {"work": "/work", "shared": "/shared/lock", "cache_file": "/shared/cache"}

    def why_not(self):
        """None, or why it cannot run here."""
        if self.program and not shutil.which(self.program):
            return f"{self.program} is not installed"
        return None

    def version(self):
        if not self.program:
            return ""
        shown = subprocess.run([self.program, "--version"], capture_output=True, text=True,
                               check=False).stdout.strip().splitlines()
        return shown[0] if shown else "unknown"

    def names(self, _stage):
        return self.paths

    def prepare(self, box):
        """Make what the command needs, in box.folder."""

    def command(self, box):
        raise NotImplementedError

    def output(self, _box, stdout, stderr_bytes):
        """What the program printed, and how many bytes of its standard error reached the caller."""
        return stdout, stderr_bytes

    def clean(self, box):
        """After the end, whatever it was."""


def by_name(name):
    return importlib.import_module("backends." + name.replace("-", "_")).BACKEND


def all_of(names=None):
    return [by_name(name) for name in BACKENDS if not names or name in names]
