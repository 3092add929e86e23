# SPDX-License-Identifier: Apache-2.0
"""What the host's kernel saw: its own trace of system calls, of one run and all its children."""
import glob
import os
import platform
import re
import subprocess

ROOT = "/sys/kernel/tracing"
FENCE, MARK = 0x15b00000, "15b0c4e7"  # probe/main.c, probe/sweep.c
CLOSE = 3
KVM_EXIT = "/events/kvm/kvm_exit"
# ioctl, read, write and waiting: nothing here is decided by them, and they are nearly all there is.
UNINTERESTING = (0, 1, 7, 16, 24, 202, 230, 232, 270, 271, 281)
LINE = re.compile(r"-(\d+)\s.*: sys_(enter|exit|enter:|exit:):? ?NR (\d+) (?:\(([^)]*)\)|= (-?\d+))")


class Calls:
    """Parsed: the probes' calls between their fences, and the marked calls of a sweep."""

    def __init__(self, text):
        self.swept, self._probes, inside = set(), {}, {}
        for line in text.splitlines():
            match = LINE.search(line)
            if not match:
                continue
            pid, number = match.group(1), int(match.group(3))
            if match.group(4) is not None:
                arguments = match.group(4).split(", ")
                if arguments[-1] == MARK and arguments[-2] == MARK:
                    self.swept.add(number)
                if number == CLOSE:
                    self._fence(pid, int(arguments[0], 16) - FENCE, inside)
            elif pid in inside:
                self._probes[inside[pid]].append((number, int(match.group(5))))

    def _fence(self, pid, place, inside):
        if not 0 <= place < 0x10000:
            return
        if place % 2:
            inside.pop(pid, None)
        else:
            inside[pid] = place // 2
            self._probes.setdefault(place // 2, [])

    def of_probe(self, index):
        """[(number, result)...]; None when the host's kernel never saw this probe."""
        return self._probes.get(index)


def why_not():
    if platform.machine() != "x86_64":
        return "the rows name system calls by x86_64's numbers"
    if not os.access(ROOT + "/events/raw_syscalls", os.W_OK):
        return "no tracefs that can be written"
    return None


class Tracer:
    """An instance of its own in tracefs. start() in the child before it executes what is traced."""

    def __init__(self, counting=False, whole=False):
        self.path = f"{ROOT}/instances/isobench-{os.getpid()}"
        self.counting, self.whole = counting, whole

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        if self.counting:
            self._count("")
            return self
        self._write("trace", "")
        self._write("buffer_size_kb", "16384")
        self._write("options/event-fork", "1")
        skipped = " && ".join(f"id != {number}" for number in UNINTERESTING)
        for event in ("sys_enter", "sys_exit"):
            self._write(f"events/raw_syscalls/{event}/filter", "0" if self.whole else skipped)
        return self

    def start(self):
        if not self.counting:
            self._write("set_event_pid", str(os.getpid()))
            self._write("events/raw_syscalls/enable", "1")

    def calls(self):
        self._write("events/raw_syscalls/enable", "0")
        with open(self.path + "/trace", encoding="ascii", errors="replace") as file:
            return Calls(file.read())

    def _count(self, undo):
        self._write("events/raw_syscalls/sys_enter/trigger",
                    undo + "hist:keys=common_pid,id:size=16384")
        if os.path.exists(self.path + KVM_EXIT):
            self._write(KVM_EXIT + "/trigger", undo + "hist:keys=common_pid,exit_reason:size=2048")

    def exits_by_process(self):
        """{thread: {reasons}} for which guests were left."""
        found = {}
        if os.path.exists(self.path + KVM_EXIT):
            with open(f"{self.path}{KVM_EXIT}/hist", encoding="ascii") as file:
                for pid, why in re.findall(r"common_pid:\s*(\d+), exit_reason:\s*(\w+)", file.read()):
                    found.setdefault(int(pid), set()).add(why)
        return found

    def numbers_by_process(self):
        """{thread: {call numbers}} of everything that ran meanwhile."""
        found = {}
        with open(self.path + "/events/raw_syscalls/sys_enter/hist", encoding="ascii") as file:
            for pid, number in re.findall(r"common_pid:\s*(\d+), id:\s*(\d+)", file.read()):
                found.setdefault(int(pid), set()).add(int(number))
        return found

    def _write(self, name, text):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def __exit__(self, *_):
        try:
            if self.counting:
                self._count("!")
            os.rmdir(self.path)
        except OSError:
            pass  # an instance that is still read from: the next run uses it again


class Functions:
    """The function tracer in an instance of its own, filtered by process: which functions of the host's
    kernel one run and its children reached. To switch it on or off takes seconds: use it for several
    runs, and around each listen() and reached()."""
    NOBODY = "4194302"  # above every process: with no filter all of them are traced

    def __init__(self, tools):
        self.path = f"{ROOT}/instances/isobench-functions-{os.getpid()}"
        self.program, self._reader = tools + "/isofunctions", None

    @staticmethod
    def why_not():
        try:
            with open(ROOT + "/available_tracers", encoding="ascii") as file:
                known = "function" in file.read().split()
        except OSError:
            known = False
        return None if known else "this host's kernel has no function tracer"

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        for name, text in (("set_ftrace_pid", self.NOBODY), ("options/function-fork", "1"),
                           ("buffer_size_kb", "65536"), ("current_tracer", "function")):
            self._write(name, text)
        return self

    def listen(self):
        self._write("trace", "")
        self._write("tracing_on", "1")
        self._reader = subprocess.Popen([self.program, *glob.glob(self.path + "/per_cpu/*/trace_pipe_raw")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self):
        """In the child. Appended: writing from the start would first drop the filter."""
        self._write("set_ftrace_pid", str(os.getpid()), "a")

    def reached(self):
        """({addresses}, how many entries were lost)."""
        self._write("tracing_on", "0")
        lines = self._reader.communicate()[0].splitlines()
        if self._reader.returncode != 0:
            raise OSError(f"isofunctions ended with {self._reader.returncode}")
        return set(lines[:-1]), int(lines[-1].split()[1])

    def _write(self, name, text, mode="w"):
        with open(f"{self.path}/{name}", mode, encoding="ascii") as file:
            file.write(text)

    def __exit__(self, *_):
        if self._reader and self._reader.poll() is None:
            self._reader.kill()
            self._reader.wait()
        self._write("current_tracer", "nop")
        os.rmdir(self.path)
