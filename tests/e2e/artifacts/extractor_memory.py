# SPDX-License-Identifier: Apache-2.0
"""extractor_memory.py EXTRACTOR DIRECTORY: private memory of an extractor that reads the worst archive.

The kernel lets it have no more than extractor.DATA_BYTES, as in a run; this shows that it needs less.

Plays the supervisor (vmm/ipc/ipc.h): as many names as there may be, each with its place to remember, JSON
that wants to be kept in memory, and everything that can be asked for at once. The extractor waits whenever
its records are not taken, and then its memory is looked at. Prints the largest sum of private dirty pages: clean
ones are libraries, private only while nobody else uses them, and the kernel takes them back at will.
"""
import os
import select
import struct
import sys

import extractor

DIR, FILE, EXTENT, END = 1, 2, 3, 5
MAX_FILES = 65536


def record(kind, name=b"", mode=0, size=0, offset=0):
    return struct.pack("<IIIIQQ", kind, len(name), mode, 0, size, offset) + name


def write_archive(path):
    count = 0
    with open(path, "wb") as disk:
        disk.write(b"VMRARCH1" + bytes(8))
        for number in range(MAX_FILES - 3):
            disk.write(record(DIR, b"%0200d" % number, 0o755))
            count += 1
        for name, data in ((b"string.json", b'"' + b"x" * (32 << 20)), (b"deep.json", b"[" * (8 << 20)),
                           (b"number.json", b"1" * (8 << 20))):
            disk.write(record(FILE, name, 0o644, len(data)))
            disk.write(record(EXTENT, size=len(data)) + data)
            count += 2
        disk.write(record(END, size=count))


def private_kib(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_Dirty"))
    except ProcessLookupError:
        return 0  # it has just ended; packet() tells how


def main():
    program, directory = sys.argv[1:]
    path, out = os.path.join(directory, "disk"), os.path.join(directory, "extracted")
    write_archive(path)
    os.mkdir(out)
    disk = os.open(path, os.O_RDONLY)
    running = extractor.Extraction(program, disk, out, 1 << 30, 1 << 30, MAX_FILES, 16, types=0x7e, bundle=True)
    peak, seen = 0, 0
    while True:
        # The last entries are the files: their memory is looked at while they are parsed.
        while seen >= MAX_FILES - 4 and not select.select([running.channel], [], [], 0.002)[0]:
            peak = max(peak, private_kib(running.pid))
        kind, payload = running.packet()
        if kind == extractor.IPC_EXTRACTED:
            break
        seen += 1
        if seen % 4096 == 0:
            peak = max(peak, private_kib(running.pid))
    running.finish()
    print(peak, seen, struct.unpack_from("<I", payload)[0])


main()
