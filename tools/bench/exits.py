# SPDX-License-Identifier: Apache-2.0
"""Why and where a guest came out: the kernel's own tracepoints of KVM, where tracefs can be written."""
import collections
import os
import re

TRACING = "/sys/kernel/tracing"
EVENTS = ("kvm_exit", "kvm_userspace_exit", "kvm_mmio", "kvm_fast_mmio", "kvm_pio")
LINE = re.compile(r" (kvm_\w+): (.*)$")
HARDWARE = re.compile(r"reason (\S+)")
USERSPACE = re.compile(r"reason KVM_EXIT_(\w+)")
MMIO = re.compile(r"mmio (?:read|write) len \d+ gpa (0x[0-9a-f]+)")
UNSATISFIED = "mmio unsatisfied-read"  # the same access again, as a read, once its value is there
FAST = re.compile(r"fast mmio at gpa (0x[0-9a-f]+)")
PIO = re.compile(r"pio_(?:read|write) at (0x[0-9a-f]+)")


def counted(lines):
    """{hardware, userspace: {reason: count}, address: {"mmio 0x…" or "port 0x…": count}}"""
    counts = {name: collections.Counter() for name in ("hardware", "userspace", "address")}
    for line in lines:
        match = LINE.search(line)
        if not match:
            continue
        event, text = match.groups()
        if event == "kvm_exit":
            counts["hardware"][HARDWARE.search(text).group(1)] += 1
        elif event == "kvm_userspace_exit":
            reason = USERSPACE.search(text)
            counts["userspace"][reason.group(1).lower() if reason else "interrupted"] += 1
        elif event == "kvm_pio":
            counts["address"]["port " + PIO.search(text).group(1)] += 1
        elif UNSATISFIED not in text:
            where = (MMIO if event == "kvm_mmio" else FAST).search(text)
            counts["address"]["mmio " + where.group(1)] += 1
    return {name: dict(counter.most_common()) for name, counter in counts.items()}


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def traced(run):
    """What `run` does, seen by KVM; None where that cannot be had."""
    folder = f"{TRACING}/instances/vmrun-bench"
    try:
        os.mkdir(folder)
    except OSError:
        return None
    try:
        write(folder + "/buffer_size_kb", "8192")
        for event in EVENTS:
            write(f"{folder}/events/kvm/{event}/enable", "1")
        run()
        write(folder + "/tracing_on", "0")
        with open(folder + "/trace", encoding="ascii", errors="replace") as file:
            return counted(file)
    finally:
        os.rmdir(folder)
