# SPDX-License-Identifier: Apache-2.0
"""What the runtimes of containers share: a bundle with the usual default profile: fourteen
capabilities, masked and read-only paths, and the filter that Debian's containers package ships
(golang-github-containers-common, of podman and buildah). The network is a namespace with lo only: an
engine's default bridge, which reaches the host, is not set up."""
import json
import os
import subprocess

from backends import Backend
from limits import LIMITS

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PROFILE = TREE + "/build/isobench-bin/seccomp.json"
CAPABILITIES = ["CAP_" + name for name in (
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP",
    "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE")]
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
          "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
NODES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9),
         ("tty", 5, 0))


def applies(rule):
    """A rule of the profile for these capabilities, on this architecture."""
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    if not set(includes.get("caps") or []) <= set(CAPABILITIES):
        return False
    if set(excludes.get("caps") or []) & set(CAPABILITIES):
        return False
    arches = includes.get("arches")
    return (not arches or "amd64" in arches) and "amd64" not in (excludes.get("arches") or [])


def filter_of(profile):
    rules = []
    for rule in profile["syscalls"]:
        if not applies(rule):
            continue
        kept = {"names": rule["names"], "action": rule["action"]}
        for key in ("args", "errnoRet"):
            if rule.get(key):
                kept[key] = rule[key]
        rules.append(kept)
    return {"defaultAction": profile["defaultAction"],
            "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
            "syscalls": rules}


def mount(where, kind, *options, source=None):
    return {"destination": where, "type": kind, "source": source or kind, "options": list(options)}


def bundle(box, profile):
    number = 0 if box.user == "root" else 1000
    capabilities = CAPABILITIES if number == 0 else []
    return {
        "ociVersion": "1.0.2",
        "hostname": "container",
        "root": {"path": box.stage.rootfs, "readonly": True},
        "process": {
            "terminal": False, "user": {"uid": number, "gid": number}, "cwd": "/work",
            "args": ["/isoprobe", *box.probe], "env": ["PATH=/usr/bin:/bin"],
            "noNewPrivileges": False,
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": LIMITS["files"], "soft": LIMITS["files"]}],
            "capabilities": {"bounding": CAPABILITIES, "permitted": capabilities,
                             "effective": capabilities}},
        "mounts": [
            mount("/proc", "proc"),
            mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
            mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666"),
            mount("/dev/shm", "tmpfs", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"),
            mount("/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"),
            mount("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
            mount("/sys/fs/cgroup", "cgroup", "nosuid", "noexec", "nodev", "relatime", "ro"),
            mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),
            mount("/work", "bind", "rbind", "rw", source=box.folder + "/work")],
        "linux": {
            "cgroupsPath": f"/{box.cgroup}/box",
            "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount",
                                                       "cgroup")],
            "maskedPaths": MASKED, "readonlyPaths": READONLY, "seccomp": filter_of(profile),
            "resources": {
                "memory": {"limit": LIMITS["memory"], "swap": LIMITS["memory"]},
                "pids": {"limit": LIMITS["processes"]},
                "cpu": {"quota": int(LIMITS["cpus"] * 100000), "period": 100000},
                "devices": [{"allow": False, "access": "rwm"}] + [
                    {"allow": True, "type": "c", "major": major, "minor": minor, "access": "rwm"}
                    for _, major, minor in NODES]}}}


class Runtime(Backend):
    """program OPTIONS run --bundle FOLDER NAME."""
    options = ()
    controls = ("cgroup", "proc", "image")

    def why_not(self):
        if (missing := super().why_not()):
            return missing
        return None if os.path.exists(PROFILE) else "no default filter (tools/isobench/deps)"

    def prepare(self, box):
        with open(PROFILE, encoding="utf-8") as file:
            profile = json.load(file)
        with open(box.folder + "/config.json", "w", encoding="ascii") as file:
            json.dump(bundle(box, profile), file)

    def state(self, box):
        return [self.program, "--root", box.folder + "/state", *self.options]

    def command(self, box):
        return [*self.state(box), "run", "--bundle", box.folder, box.name]

    def clean(self, box):
        subprocess.run([*self.state(box), "delete", "--force", box.name], check=False, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
