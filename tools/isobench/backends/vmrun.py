# SPDX-License-Identifier: Apache-2.0
"""vmrun, with an image of the same files. ISOBENCH_VMRUN_SET weakens it, for the benchmark's own test:
options of vmrun, separated by spaces, that a run has beside its task."""
import os

from backends import Backend
from backends.oci import TREE
from limits import LIMITS, MIB


class Vmrun(Backend):
    name = "vmrun"
    program = TREE + "/build/bin/vmrun"
    controls = ("kvm", "namespaces", "proc", "image")
    has_image = True
    boundary = ("vmrun-monitor", "vmrun-scribe", "vmrun-extractor")
    paths = {"work": "/task", "shared": "/shared/lock", "cache_file": "/shared/cache"}

    def why_not(self):
        if (missing := super().why_not()):
            return missing
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return "no /dev/kvm"
        return None

    def version(self):
        weakened = os.environ.get("ISOBENCH_VMRUN_SET")
        return super().version() + (f" (weakened: {weakened})" if weakened else "")

    def prepare(self, box):
        os.makedirs(box.folder + "/disks", exist_ok=True)
        image = box.stage.tampered_image if box.tampered else box.stage.image
        words = "".join(f"argv.{i} = {word}\n" for i, word in enumerate(["/isoprobe", *box.probe]))
        with open(box.folder + "/task.ini", "w", encoding="ascii") as file:
            file.write(
                f"[task]\nname = isobench\nuser = {'root' if box.user == 'root' else 'task'}\n{words}"
                f"[image]\npath = {image}\nsha256 = {box.stage.image_sha256}\n"
                f"[machine]\nmemory = {LIMITS['memory'] // MIB + 64}M\n"
                f"workdir = {box.folder}/disks\nworkdir_tmpfs = yes\n"
                f"[output]\ndir = {box.folder}/out\n"
                f"[limits]\nboot = 120s\nwall = {LIMITS['seconds']}s\n"
                f"memory = {LIMITS['memory'] // MIB}M\nprocesses = {LIMITS['processes']}\n"
                f"open_files = {LIMITS['files']}\ndisk = {LIMITS['disk'] // MIB}M\n"
                f"stdout = {LIMITS['output'] // MIB}M\nstderr = {LIMITS['output'] // MIB}M\n")

    def command(self, box):
        weaker = os.environ.get("ISOBENCH_VMRUN_SET", "").split()
        return [self.program, "-q", "--config", box.folder + "/task.ini", *weaker]


BACKEND = Vmrun()
