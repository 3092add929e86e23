# SPDX-License-Identifier: Apache-2.0
"""Counts of one whole run of `true` and of one bare boot (cold.py): the same on a busy machine too.
make bench-gate holds them to the budgets in tools/bench/budgets."""
import os
import re
import shutil
import subprocess
import tempfile

import cold
import exits
import idle
from run import TREE, VMRUN, Folder, median, observed

LAB = "--timeout 600 --memory 2G" + cold.CACHE

KEYS = {
    "syscalls_before_run": ("", "monitor: from the end of its jail to the first KVM_RUN, all threads"),
    "syscalls_loader": ("", "monitor: of the dynamic loader, before main()"),
    "syscalls_jail": ("", "monitor: into its jail, filters made"),
    "exits_per_boot": ("", "bare: exits to the monitor from the first instruction to the end"),
    "exits_per_run": ("", "whole: the same, with three disks and the agent's streams"),
    "monitor_rss_kib": ("KiB", "monitor at the end of the task, less guest RAM: smaps, median of three runs"),
    "monitor_rss_most_kib": ("KiB", "the same, the largest of three runs: a huge page may be in it"),
    "monitor_rss_libraries_kib": ("KiB", "of it: pages of shared libraries, most of them shared"),
    "monitor_rss_huge_kib": ("KiB", "of it: huge pages, which depend on where the kernel maps things"),
    "monitor_bytes_stripped": ("bytes", "size of vmrun-monitor, stripped"),
    "initramfs_bytes": ("bytes", "read for every run"),
    "scratch_template_bytes": ("bytes", "read for every run"),
    "kernel_bytes": ("bytes", "size of vmlinux"),
    "kernel_bytes_read": ("bytes", "whole: read by the monitor from vmlinux"),
    "initramfs_bytes_read": ("bytes", "whole: read by the monitor from the initramfs"),
    "page_faults_bare": ("", "bare: page faults of the monitor, those for guest RAM included"),
    "page_faults_supervisor": ("", "whole: page faults of vmrun itself"),
    "page_faults_children": ("", "whole: those of monitor and scribe"),
    "idle_monitor_wakeups": ("", "times that the monitor's loop ran in 2 s of a sleeping task: 0"),
    "idle_vcpu_wakeups": ("", "the same of the vCPU's thread: timers of the guest's own kernel"),
    "idle_cpu_ms": ("ms", "CPU time of the monitor in those 2 s, the guest's included"),
}
for _name, _what in (("boot", "bare"), ("run", "whole")):
    KEYS |= {
        f"{_name}_exits_hardware": ("", f"{_what}: exits to KVM by the processor's reason"),
        f"{_name}_exits_userspace": ("", f"{_what}: exits to the monitor by reason"),
        f"{_name}_exits_address": ("", f"{_what}: accesses of the guest by address"),
    }

LINE = re.compile(r"^(\d+) +(.*)$")
JAIL_FD = 25  # jail/order.h
READ_FDS = {5: "kernel_bytes_read", 6: "initramfs_bytes_read"}  # ipc/ipc.h
READ = re.compile(r"p?read(?:64)?\((\d+),")
RETURNED = re.compile(r"= (\d+)$")


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


def bytes_read(trace):
    """What the monitor read from the files of READ_FDS. A call that another thread got in between of has
    two lines: its descriptor is in the first, what it returned in the second."""
    totals, monitor, name = dict.fromkeys(READ_FDS.values(), 0), None, None
    for line in trace:
        pid, call = LINE.match(line).groups()
        if "execveat" in call:
            monitor = pid if '"vmrun-monitor"' in call else monitor
        if pid != monitor:
            continue
        if "resumed>" not in call:
            read = READ.match(call)
            name = READ_FDS.get(int(read.group(1))) if read else None
        returned = RETURNED.search(call)
        if name and returned:
            totals[name] += int(returned.group(1))
    return totals


def traced(command):
    with tempfile.NamedTemporaryFile("r", encoding="ascii", errors="replace") as trace:
        subprocess.run(["strace", "-f", "-o", trace.name, *command], check=True,
                       stdin=subprocess.DEVNULL)
        lines = trace.readlines()
    return syscalls(threads_of(lines)), bytes_read(lines)


def why_and_where(command):
    """Exits of a bare boot, and of a whole run."""
    figures = {}
    for name, run in (("boot", cold.bare_stages), ("run", lambda: observed(command))):
        seen = exits.traced(run) or {}
        figures |= {f"{name}_exits_{by}": seen.get(by) for by in ("hardware", "userspace", "address")}
    return figures


def stripped_bytes(path):
    with tempfile.NamedTemporaryFile() as to:
        shutil.copyfile(path, to.name)
        subprocess.run(["strip", to.name], check=True)
        return os.path.getsize(to.name)


def measure(_):
    with Folder() as folder:
        run = [VMRUN, "-q", "--config", folder.task("true", "true"), "--output"]
        (loader, jail, before), read = traced([*run, f"{folder.path}/out"])
        seen = observed([*run, f"{folder.path}/seen"])
        result = folder.result("seen")
        figures = why_and_where([*run, f"{folder.path}/exits"]) | idle.measure(folder)
        own = [folder.result(name)["host_measured"]["monitor_rss_without_guest_bytes"] // 1024
               for name in ("out", "seen", "idle")]
        bare = cold.bare_stages()
    return {
        **figures,
        **read,
        "syscalls_before_run": before,
        "syscalls_loader": loader,
        "syscalls_jail": jail,
        "exits_per_boot": bare["exits"],
        "exits_per_run": result["monitor_claims"]["exits"],
        "page_faults_bare": bare["page_faults"],
        "page_faults_supervisor": seen.faults,
        "page_faults_children": seen.children_faults,
        "monitor_rss_kib": median(own),
        "monitor_rss_most_kib": max(own),
        "monitor_bytes_stripped": stripped_bytes(TREE + "/build/bin/vmrun-monitor"),
        "initramfs_bytes": os.path.getsize(TREE + "/build/guest/initramfs.cpio"),
        "scratch_template_bytes": os.path.getsize(TREE + "/build/guest/scratch.ext4"),
        "kernel_bytes": os.path.getsize(cold.KERNEL),
    }
