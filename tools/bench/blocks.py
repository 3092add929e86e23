# SPDX-License-Identifier: Apache-2.0
"""Bytes through virtio-blk for each second of CPU time, beside QEMU's on the same image and kernel."""
import os
import subprocess
import time

import cold
from run import MIB, median, ratio, say
from sandboxes import SANDBOXES, Ground, Program

LAB = "--timeout 3000 --memory 4G --tb-size 128" + cold.CACHE

HOW = {"scan": "files of the image one after the other", "jump": "4 KiB at scattered places of the image",
       "read": "a file on scratch", "write": "a file on scratch, flushed"}
WHERE = ("vmrun", "qemu")
KEYS = {
    "blk_read_ratio_qemu": ("", "the smallest of the three ratios of reading: at least 1"),
    "blk_write_ratio_qemu": ("", "that of writing: at least 0.9"),
    **{f"blk_{how}_ratio_qemu": ("", f"vmrun over QEMU: {what}") for how, what in HOW.items()
       if how != "write"},
    **{f"blk_{how}_{where}_mib_per_cpu_s": ("MiB/s", f"{where}: {what}") for how, what in HOW.items()
       for where in WHERE},
    "scratch_hole_left_mib": ("MiB", "scratch disk after a file of 32 MiB was written and removed, less "
                                     "one that was not written to: at most 8"),
}

DISK = cold.TOOLS + "/disk"
FOLDER = "/usr/lib/x86_64-linux-gnu"
FILE = "/usr/bin/python3.11"
HOLE_MIB = 32
# Rounds, then for each way what a short and a long run do. The difference is what counts.
SIZES = {
    "full": (5, {"scan": (("1",), ("5",)), "jump": (("4096", "100"), ("4096", "3100")),
                 "read": (("1",), ("5",)), "write": (("32", "1"), ("32", "5"))}),
    "tiny": (1, {"scan": (("1",), ("2",)), "jump": (("4096", "10"), ("4096", "310")),
                 "write": (("8", "1"), ("8", "2"))}),
}
READ_MIB = "32"


def program(how, words):
    """`read` needs a file first: writing it is in the short run as in the long one."""
    disk = "./disk"
    if how == "read":
        return Program(["sh", "-c", f"{disk} write file {READ_MIB} 1 && {disk} read file {words[0]}"],
                       inputs=[DISK])
    place = {"scan": FOLDER, "jump": FILE, "write": "file"}[how]
    return Program([disk, how, place, *words], inputs=[DISK])


def cpu_and_bytes(where, ground, name, what):
    """(CPU s of all processes of the run, bytes that the program says it moved)"""
    command = SANDBOXES[where].prepare(ground, name, what)
    with open(f"{ground.path}/{name}.said", "w+b") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = SANDBOXES[where].said(ground, name, out.read()).split()
    if process.returncode != 0 or not said:
        raise RuntimeError(f"{name} ended with {process.returncode}")
    if os.path.exists(f"{ground.path}/{name}.ext4"):
        os.unlink(f"{ground.path}/{name}.ext4")
    return usage.ru_utime + usage.ru_stime, int(said[-1])


def rate(where, ground, how, words, turn):
    """MiB per second of CPU time: the long run less the short one. None: lost in the noise."""
    short, long = (cpu_and_bytes(where, ground, f"{where}-{how}-{turn}-{at}", program(how, one))
                   for at, one in enumerate(words))
    cpu_s, moved = long[0] - short[0], long[1] - short[1]
    say(f"blocks {how} {where}: {moved / MIB:.1f} MiB in {cpu_s:.3f} s")
    return moved / MIB / cpu_s if cpu_s > 0 else None


def scratch_mib(ground, name, what):
    command = SANDBOXES["vmrun"].prepare(ground, name, what)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    result = ground.result(name + ".out")
    return result["host_measured"]["disk_bytes"]["scratch"] / MIB


def hole_left_mib(ground):
    written = Program(["./disk", "hole", "file", str(HOLE_MIB)], inputs=[DISK])
    return scratch_mib(ground, "hole", written) - scratch_mib(ground, "none", Program(["true"],
                                                                                    inputs=[DISK]))


def measure(size):
    figures, rates = dict.fromkeys(KEYS), {}
    rounds, ways = SIZES[size]
    places = [where for where in WHERE if not SANDBOXES[where].why_not()]
    with Ground() as ground:
        for where in places:  # files were not in the page cache yet, digests not known
            cpu_and_bytes(where, ground, where + "-warm", program("scan", ["1"]))
        for turn in range(rounds):
            for how, words in ways.items():
                for where in places:
                    rates.setdefault((how, where), []).append(rate(where, ground, how, words, turn))
                    time.sleep(cold.SETTLE_S)
        figures["scratch_hole_left_mib"] = hole_left_mib(ground)
    for (how, where), values in rates.items():
        known = [value for value in values if value is not None]
        figures[f"blk_{how}_{where}_mib_per_cpu_s"] = median(known) if known else None
    for how in ways:
        figures[f"blk_{how}_ratio_qemu"] = ratio(*(figures[f"blk_{how}_{where}_mib_per_cpu_s"]
                                                   for where in WHERE))
    reads = [figures[f"blk_{how}_ratio_qemu"] for how in ways if how != "write"]
    figures["blk_read_ratio_qemu"] = None if None in reads else min(reads)
    return figures
