# SPDX-License-Identifier: Apache-2.0
"""What the host reads of itself: what the rows on visibility compare with."""
import glob
import os
import platform
import time

from outer import read


def facts():
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    return {
        "version": platform.version(), "release": platform.release(), "node": platform.node(),
        "hostname": platform.node(),
        "boot_id": read("/proc/sys/kernel/random/boot_id"), "cmdline": read("/proc/cmdline"),
        "cpuinfo": read("/proc/cpuinfo"),
        "ram_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "boot_moment": time.time() - uptime,
        "modules": names("/sys/module/*"), "pci": names("/sys/bus/pci/devices/*"),
        "disks": names("/sys/block/*"),
        "stext": address("_stext"),
    }


def address(symbol):
    """It stands near the beginning of a long file."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        for line in file:
            if line.rstrip().endswith(" " + symbol):
                return line.split()[0].lstrip("0")
    return ""


def names(pattern):
    return sorted(os.path.basename(path) for path in glob.glob(pattern))
