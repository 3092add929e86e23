# SPDX-License-Identifier: Apache-2.0
"""The cgroup around every run: the cap that nothing gets past, the host's counters, and the watch."""
import os
import signal
import threading
import time

from limits import OUTER

ROOT = "/sys/fs/cgroup"
NAMESPACES = ("mnt", "pid", "net", "ipc", "uts")


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def why_not():
    if not os.path.exists(ROOT + "/cgroup.controllers"):
        return "no cgroup v2"
    if not os.access(ROOT + "/cgroup.subtree_control", os.W_OK):
        return "the cgroup tree cannot be written"
    missing = {"memory", "pids", "cpu"} - set(read(ROOT + "/cgroup.controllers").split())
    return f"no controller {', '.join(sorted(missing))}" if missing else None


class Outer:
    """One run's cgroup; `leaf` is where what is started goes, beside it a runtime may make its own."""
    serial = 0

    def __enter__(self):
        Outer.serial += 1
        self.name = f"isobench-{os.getpid()}-{Outer.serial}"
        self.path = f"{ROOT}/{self.name}"
        self.leaf = self.path + "/start"
        self._write(ROOT, "cgroup.subtree_control", "+memory +pids +cpu")
        os.mkdir(self.path)
        self._write(self.path, "cgroup.subtree_control", "+memory +pids +cpu")
        self._write(self.path, "memory.max", str(OUTER["memory"]))
        self._write(self.path, "pids.max", str(OUTER["processes"]))
        os.mkdir(self.leaf)
        return self

    def __exit__(self, *_):
        self._write(self.path, "cgroup.kill", "1")
        for _ in range(100):
            if not self.processes():
                break
            time.sleep(0.05)
        for path, _, _ in os.walk(self.path, topdown=False):
            try:
                os.rmdir(path)
            except OSError:
                pass  # a runtime's own, which it removes itself

    @staticmethod
    def _write(path, name, text):
        with open(f"{path}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def enter(self):
        """In the child."""
        self._write(self.leaf, "cgroup.procs", "0")

    def processes(self):
        found = []
        for path, _, _ in os.walk(self.path):
            found += [int(pid) for pid in read(path + "/cgroup.procs").split()]
        return found

    def number(self, name):
        text = read(f"{self.path}/{name}").strip()
        return int(text) if text.isdigit() else None

    def field(self, name, key):
        for line in read(f"{self.path}/{name}").splitlines():
            if line.startswith(key + " "):
                return int(line.split()[1])
        return None


class Watch(threading.Thread):
    """Peaks of the host's counters during one run, less what they were at its start."""

    def __init__(self, outer, folder, boundary):
        super().__init__(daemon=True)
        self.outer, self.folder, self.boundary_names = outer, folder, boundary
        self.peak, self.boundary, self.pids = {}, [], set()
        self._over, self._began = threading.Event(), None

    def __enter__(self):
        self._first = self._now()
        self._began = time.monotonic()
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()
        self._look()
        used = self.outer.field("cpu.stat", "usage_usec") if self.outer else None
        if used is not None:
            self.peak["cpu_share"] = used / 1e6 / (time.monotonic() - self._began)
        peak = self.outer.number("memory.peak") if self.outer else None
        if peak is not None:
            self.peak["memory_bytes"] = peak

    def _now(self):
        disk = os.statvfs(self.folder)
        now = {"disk_bytes": -disk.f_bavail * disk.f_frsize, "inodes": -disk.f_ffree,
               "files": int((read("/proc/sys/fs/file-nr") or "0").split()[0])}
        if self.outer:
            now["pids"] = self.outer.number("pids.current")
            now["slab_bytes"] = self.outer.field("memory.stat", "slab")
        return {key: value for key, value in now.items() if value is not None}

    def _look(self):
        for key, value in self._now().items():
            self.peak[key] = max(self.peak.get(key, 0), value - self._first.get(key, 0))

    def run(self):
        turn = 0
        while not self._over.wait(0.05):
            self._look()
            turn += 1
            if self.boundary_names and turn % 6 == 0:
                self._look_at_boundary()

    def _look_at_boundary(self):
        threads = []
        for pid in self.outer.processes() if self.outer else ():
            self.pids.add(pid)
            name = read(f"/proc/{pid}/comm").strip()
            if name.startswith(self.boundary_names):
                threads += threads_of(pid)
        if threads and len(threads) >= len(self.boundary):
            self.boundary = threads
            current = self.outer.number("memory.current")
            if current is not None:
                self.peak["memory_idle_bytes"] = current


def threads_of(pid):
    found = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        fields = dict(line.split(":", 1) for line in read(f"/proc/{pid}/task/{thread}/status")
                      .splitlines() if ":" in line)
        if "CapEff" not in fields:
            continue  # it has ended
        found.append({
            "pid": pid, "thread": int(thread), "main": int(thread) == pid, "name": fields["Name"].strip(),
            "uid": int(fields["Uid"].split()[1]), "capabilities": int(fields["CapEff"], 16),
            "no_new_privs": fields["NoNewPrivs"].strip() == "1",
            "seccomp": int(fields["Seccomp"]),
            "shared_namespaces": [kind for kind in NAMESPACES if same_namespace(pid, kind)],
            "files": links(pid)})
    return found


def same_namespace(pid, kind):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return False


def links(pid):
    found = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    except OSError:
        pass  # it has ended
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
