# SPDX-License-Identifier: Apache-2.0
"""Artifacts on their way out of the guest, against tar(1) of the same files inside the same guest.

In one guest, after the files were written: `tar -cf /tmp/x.tar FOLDER`, the median of some rounds, with the
files in the page cache. Then the task ends and the agent exports the same files, on the same clock: from
the end of the task to the last byte on the export disk, as the host sees it. tar leaves its bytes in the
page cache; the export brings them to the host and flushes, so tar with fsync is measured too.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

LAB = "--timeout 1200 --memory 4G"

KEYS = {}
for which, text in (("small", "1000 files of 4 KiB"), ("large", "one file of 256 MiB")):
    KEYS.update({
        f"export_{which}_ratio": ("", f"export of {text} over tar of them: at most 2"),
        f"export_{which}_ratio_fsync": ("", "the same, tar with fsync at its end"),
        f"export_{which}_ms": ("ms", f"export of {text}: from the end of the task to the last byte"),
        f"export_{which}_agent_ms": ("ms", "the agent's part of it: walk, pack, write, flush"),
        f"export_{which}_tar_ms": ("ms", "tar -cf in the guest, median"),
        f"export_{which}_tar_fsync_ms": ("ms", "tar -cf and fsync in the guest, median"),
        f"export_{which}_extract_ms": ("ms", "from the stopped machine to published, checked files"),
    })

SIZES = {"full": {"small": (1000, 4096), "large": (1, 256 << 20)},
         "tiny": {"small": (100, 4096), "large": (1, 16 << 20)}}
ROUNDS = {"full": 5, "tiny": 3}

TASK = """
import os, statistics, subprocess, sys, time
count, size, rounds = map(int, sys.argv[1:])
os.mkdir("out")
block = os.urandom(min(size, 1 << 20))
for number in range(count):
    with open("out/%d" % number, "wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
os.sync()
plain, synced = [], []
for _ in range(rounds):
    for times, flush in ((plain, False), (synced, True)):
        began = time.monotonic()
        subprocess.run(["tar", "-cf", "/tmp/x.tar", "out"], check=True)
        if flush:
            with open("/tmp/x.tar", "rb") as file:
                os.fsync(file.fileno())
        times.append(time.monotonic() - began)
        os.remove("/tmp/x.tar")
        os.sync()
print(statistics.median(plain) * 1000, statistics.median(synced) * 1000)
"""

CONFIG = """
[task]
name = export
command = python3 -I -S bench.py {count} {size} {rounds}
[image]
path = {root}/build/images/base.erofs
[machine]
memory = 1G
workdir = {folder}
workdir_tmpfs = yes
[limits]
boot = 120s
wall = 900s
disk = 1G
[input]
bench.py = {folder}/bench.py
[artifacts]
collect = out
max_total = 300M
max_file = 300M
max_files = 2000
[output]
dir = out
"""


def run(folder, count, size, rounds):
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    with open(os.path.join(folder, "bench.py"), "w", encoding="ascii") as file:
        file.write(TASK)
    config = os.path.join(folder, "task.ini")
    with open(config, "w", encoding="ascii") as file:
        file.write(CONFIG.format(count=count, size=size, rounds=rounds, root=root, folder=folder))
    subprocess.run([os.path.join(root, "build/bin/vmrun"), "-q", "--config", config], check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "out/result.json"), encoding="utf-8") as file:
        result = json.load(file)
    if result["artifacts"]["status"] != "complete" or result["artifacts"]["files"] != count:
        raise SystemExit(f"bench: the export failed: {result['artifacts']}")
    with open(os.path.join(folder, "out/stdout"), encoding="ascii") as file:
        tar, synced = map(float, file.read().split())
    return tar, synced, result


def measure(size):
    figures = {}
    for which, (count, file_bytes) in SIZES[size].items():
        folder = tempfile.mkdtemp(prefix="vmrun-bench-")
        try:
            tar, synced, result = run(folder, count, file_bytes, ROUNDS[size])
        finally:
            shutil.rmtree(folder)
        export = result["time"]["export_ms"]
        values = {"ratio": export / tar, "ratio_fsync": export / synced, "ms": export,
                  "agent_ms": result["guest_claims"]["export_ms"], "tar_ms": tar,
                  "tar_fsync_ms": synced, "extract_ms": result["time"]["teardown_ms"]}
        figures.update({f"export_{which}_{key}": round(value, 3) for key, value in values.items()})
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1] if len(sys.argv) > 1 else "full"), indent=2))
