# SPDX-License-Identifier: Apache-2.0
"""What the person at the terminal sees, and the log that says the rest."""

import subprocess
import sys
import time


class BuildError(Exception):
    """Something the user can put right; the message says how."""


class Report:
    def __init__(self, name):
        self.name = name
        self.log = None
        self.log_path = None
        self.started = time.monotonic()

    def open_log(self, path):
        self.log_path = path
        self.log = open(path, "w", encoding="utf-8", errors="backslashreplace")

    def step(self, text, detail=False):
        """Announces a step; details go to the log alone."""
        if self.log:
            self.log.write(f"[{time.monotonic() - self.started:7.2f}] {text}\n")
            self.log.flush()
        if not detail:
            print(f"image {self.name}: {text}", flush=True)

    def failed(self, text):
        print(f"rootfs/build: {self.name}: {text}", file=sys.stderr)
        if self.log:
            self.log.write(f"error: {text}\n")

    def run(self, command, env=None):
        """Runs a command and returns its standard output; all it says is in the log."""
        words = [str(word) for word in command]
        self.log.write("$ " + " ".join(words) + "\n")
        self.log.flush()
        done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=self.log, text=True, check=False)
        self.log.write(done.stdout)
        self.log.flush()
        if done.returncode != 0:
            raise BuildError(f"{words[0]} failed with status {done.returncode}; "
                             f"see {self.log_path}")
        return done.stdout
