# SPDX-License-Identifier: Apache-2.0
"""What the sections share: run a command and take its time, run a task, watch memory."""
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import types

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VMRUN = TREE + "/build/bin/vmrun"
IMAGE = TREE + "/build/images/base.erofs"
MIB = 1 << 20


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def timed(command):
    """Run COMMAND to its end: (wall s, user + system s of it and of all that it waited for, status)."""
    with open("/dev/null", "r+b") as null, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=null, stdout=null, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.stderr.write(errors.read().decode("utf-8", "replace"))
        return wall, usage.ru_utime + usage.ru_stime, process.returncode


def observed(command):
    """Run COMMAND to its end, and look at it before it is reaped: wall_ms, own_cpu_ms (of a process with
    one thread: the scheduler's clock, finer than rusage), page faults of its own and of its children."""
    with open("/dev/null", "r+b") as null:
        began = time.monotonic()
        with subprocess.Popen(command, stdin=null, stdout=null) as process:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            wall_ms = (time.monotonic() - began) * 1000
            with open(f"/proc/{process.pid}/schedstat", encoding="ascii") as file:
                own_ns = int(file.read().split()[0])
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()  # from field 3 on, see proc(5)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} exited with {process.returncode}")
    own, children = (int(fields[at]) + int(fields[at + 2]) for at in (7, 8))
    return types.SimpleNamespace(wall_ms=wall_ms, own_cpu_ms=own_ns / 1e6, faults=own,
                                 children_faults=children)


class Folder:
    """A scratch folder on a local file system, gone at the end."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="vmrun-bench-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def task(self, name, command, **limits):
        """Write a task; returns the path of its file."""
        keys = {"boot": "600s", "wall": "1800s", "cpu": "1800s", "idle": "600s", **limits}
        path = f"{self.path}/{name}.ini"
        with open(path, "w", encoding="ascii") as file:
            file.write(
                f"[task]\nname = {name}\ncommand = {command}\n[image]\npath = {IMAGE}\n"
                f"[machine]\nmemory = 96M\nworkdir = {self.path}\nworkdir_tmpfs = yes\n"
                f"[output]\ndir = out-{name}\n[limits]\n")
            file.writelines(f"{key} = {value}\n" for key, value in keys.items())
        return path

    def result(self, name, parent=None):
        with open(f"{parent or self.path}/{name}/result.json", encoding="utf-8") as file:
            return json.load(file)


class Memory(threading.Thread):
    """The highest VmHWM (the kernel's own peak) of each process of vmrun while it runs, in KiB."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peaks = {}
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.2):
            for path in glob.glob("/proc/[0-9]*/status"):
                self.look(path)

    def look(self, path):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            return  # it has ended
        name = fields["Name"].strip()
        if name.startswith("vmrun") and "VmHWM" in fields:
            peak = int(fields["VmHWM"].split()[0])
            self.peaks[name] = max(peak, self.peaks.get(name, 0))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def median(values):
    return statistics.median(values)


def less(a, b):
    return None if a is None or b is None else a - b


def ratio(a, b):
    """None when one of them was lost in the noise."""
    return a / b if a and b and a > 0 and b > 0 else None
