# SPDX-License-Identifier: Apache-2.0
"""Counts of one whole run of `true` and of one bare boot (cold.py): the same on a busy machine too.
make bench-gate holds them to the budgets in tools/bench/budgets."""
import os
import re
import shutil
import subprocess
import tempfile

import cold
from run import TREE, VMRUN, Folder

LAB = "--timeout 600 --memory 2G" + cold.CACHE

KEYS = {
    "syscalls_before_run": ("", "monitor: from the end of its jail to the first KVM_RUN, all threads"),
    "syscalls_loader": ("", "monitor: of the dynamic loader, before main()"),
    "syscalls_jail": ("", "monitor: into its jail, filters made"),
    "exits_per_boot": ("", "bare: exits to the monitor from the first instruction to the end"),
    "exits_per_run": ("", "whole: the same, with three disks and the agent's streams"),
    "monitor_rss_kib": ("KiB", "monitor at the end of the task, less guest RAM and libraries"),
    "monitor_bytes_stripped": ("bytes", "size of vmrun-monitor, stripped"),
    "initramfs_bytes": ("bytes", "read for every run"),
    "scratch_template_bytes": ("bytes", "read for every run"),
    "kernel_bytes": ("bytes", "size of vmlinux"),
}

LINE = re.compile(r"^(\d+) +(.*)$")
JAIL_FD = 25  # jail/order.h


def syscalls(trace):
    """(loader, jail, before the first KVM_RUN) of the monitor in the lines of strace -f."""
    counts, phase, monitor = [0, 0, 0], None, None
    for line in trace:
        pid, call = LINE.match(line).groups()
        if 'execveat' in call and '"vmrun-monitor"' in call:
            monitor, phase = pid, 0
            continue
        if pid != monitor or "resumed>" in call or call.startswith(("---", "+++")):
            continue
        if phase == 0 and call.startswith(f"read({JAIL_FD},"):
            phase = 1
        if "KVM_RUN" in call:
            return counts
        counts[phase] += 1
        if phase == 1 and call.startswith(f"sendmsg({JAIL_FD},"):
            phase = 2
    return None


def threads_of(trace):
    """The lines with each thread's number replaced by that of its process. A number that clone3()
    returned in another PID namespace says nothing: a new one is the thread that was asked for last."""
    owners, asking = {}, None
    for line in trace:
        pid, call = LINE.match(line).groups()
        if pid not in owners:
            owners[pid], asking = asking or pid, None
        if "CLONE_THREAD" in call:
            asking = owners[pid]
        yield f"{owners[pid]} {call}\n"


def traced(command):
    with tempfile.NamedTemporaryFile("r", encoding="ascii", errors="replace") as trace:
        subprocess.run(["strace", "-f", "-o", trace.name, *command], check=True,
                       stdin=subprocess.DEVNULL)
        return syscalls(threads_of(trace.readlines()))


def stripped_bytes(path):
    with tempfile.NamedTemporaryFile() as to:
        shutil.copyfile(path, to.name)
        subprocess.run(["strip", to.name], check=True)
        return os.path.getsize(to.name)


def measure(_):
    with Folder() as folder:
        run = [VMRUN, "-q", "--config", folder.task("true", "true"), "--output", f"{folder.path}/out"]
        loader, jail, before = traced(run)
        result = folder.result("out")
    return {
        "syscalls_before_run": before,
        "syscalls_loader": loader,
        "syscalls_jail": jail,
        "exits_per_boot": cold.bare_stages()["exits"],
        "exits_per_run": result["monitor_claims"]["exits"],
        "monitor_rss_kib": result["host_measured"]["monitor_rss_without_guest_bytes"] // 1024,
        "monitor_bytes_stripped": stripped_bytes(TREE + "/build/bin/vmrun-monitor"),
        "initramfs_bytes": os.path.getsize(TREE + "/build/guest/initramfs.cpio"),
        "scratch_template_bytes": os.path.getsize(TREE + "/build/guest/scratch.ext4"),
        "kernel_bytes": os.path.getsize(cold.KERNEL),
    }
