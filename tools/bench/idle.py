# SPDX-License-Identifier: Apache-2.0
"""What a run does while its guest sleeps."""
import glob
import os
import subprocess
import time

from run import VMRUN

SETTLE_S = 2.5  # what the start of the task has dirtied is written back
SPAN_S = 2.0


def threads(pid):
    """{thread: (times that it was woken up or preempted, ns of CPU time)}"""
    seen = {}
    for path in glob.glob(f"/proc/{pid}/task/*"):
        with open(path + "/status", encoding="ascii", errors="replace") as file:
            switches = sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
        with open(path + "/schedstat", encoding="ascii") as file:
            seen[int(os.path.basename(path))] = (switches, int(file.read().split()[0]))
    return seen


def resident(pid):
    """KiB of RAM of the monitor: (shared libraries, huge pages that are not guest RAM)."""
    libraries = huge = 0
    fields, path = {}, ""
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as file:
        for line in file:
            words = line.split()
            if not words[0].endswith(":"):
                path = words[5] if len(words) > 5 else ""
            elif words[0] != "VmFlags:":
                fields[words[0]] = int(words[1])
            elif "dd" not in words:  # guest RAM alone is not dumped
                libraries += fields["Rss:"] if ".so" in path else 0
                huge += fields["AnonHugePages:"]
    return libraries, huge


def monitor_of(parent):
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                name, rest = file.read().rsplit(")", 1)
        except OSError:
            continue  # it has ended
        if name.endswith("(vmrun-monitor") and int(rest.split()[1]) == parent:
            return int(path.split("/")[2])
    raise RuntimeError("no monitor to be seen")


def measure(folder):
    task = folder.task("idle", f"/bin/sh -c 'echo ready; exec sleep {SETTLE_S + SPAN_S + 3}'")
    command = [VMRUN, "-q", "--config", task, "--output", f"{folder.path}/idle"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError("the task that idles did not start")
        monitor = monitor_of(process.pid)
        time.sleep(SETTLE_S)
        before = threads(monitor)
        time.sleep(SPAN_S)
        after = threads(monitor)
        libraries, huge = resident(monitor)
        process.communicate()
    woken = {thread: after[thread][0] - before[thread][0] for thread in before}
    return {
        "monitor_rss_libraries_kib": libraries,
        "monitor_rss_huge_kib": huge,
        "idle_monitor_wakeups": woken.pop(monitor),
        "idle_vcpu_wakeups": sum(woken.values()),
        "idle_cpu_ms": sum(after[thread][1] - before[thread][1] for thread in before) / 1e6,
    }
