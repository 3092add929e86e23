# SPDX-License-Identifier: Apache-2.0
"""What a guest that was taken over writes to its export disk (wire/archive.h).

    hostile.py CASE >FILE           the bytes
    hostile.py --all EXTRACTOR DIR  every case, padded with zeroes as a disk is, through the extractor
                                    itself: its verdict, what it reports, and that nothing else is there
"""
import os
import random
import shutil
import struct
import sys

import extractor

DIR, FILE, EXTENT, SKIPPED, END = 1, 2, 3, 4, 5
MAGIC = b"VMRARCH1" + bytes(8)


def record(kind, name=b"", mode=0, size=0, offset=0, zero=0):
    return struct.pack("<IIIIQQ", kind, len(name), mode, zero, size, offset) + name


def file(name, data=b"x", mode=0o644):
    return [record(FILE, name, mode, len(data))] + ([record(EXTENT, size=len(data)) + data] if data else [])


def archive(records, count=None):
    return MAGIC + b"".join(records) + record(END, size=len(records) if count is None else count)


def good():
    return [record(DIR, b"out", mode=0o755)] + file(b"out/good", b"good")


def million():
    """More entries than there may be, each with a name of its own."""
    return archive([record(DIR, b"out", mode=0o755)] +
                   [record(DIR, b"out/%d" % i, mode=0o755) for i in range(1000000)])


GOOD = [("dir", "out"), ("file", "out/good", 4)]
REFUSED, PARTIAL, COMPLETE = 3, 2, 1

# name: (bytes, status, part of the text, what is reported: None for a refusal)
CASES = {
    "garbage": (lambda: b"\x7fELF" + bytes(range(256)) * 512, REFUSED, "does not begin with an archive", None),
    "zeros": (lambda: bytes(1 << 20), REFUSED, "does not begin with an archive", None),
    "noise": (lambda: random.Random(1).randbytes(1 << 20), REFUSED, "does not begin with an archive", None),
    "nothing": (lambda: b"", REFUSED, "does not begin with an archive", None),
    "noise-inside": (lambda: MAGIC + random.Random(2).randbytes(1 << 16), REFUSED, "record 1", None),
    "half": (lambda: archive(good() + file(b"out/half", b"h" * 100000))[:50000],
             REFUSED, "record 6: archive record of kind 0: unknown kind", None),
    "no-end": (lambda: MAGIC + b"".join(good()), REFUSED, "record 4: archive record of kind 0", None),
    "two": (lambda: archive(good()) + archive(file(b"out/second", b"second")), COMPLETE, "", GOOD),
    "traversal": (lambda: archive(good() + file(b"out/../../escape")), REFUSED, '"." or ".." component', None),
    "absolute": (lambda: archive(file(b"/tmp/escape")), REFUSED, "is an absolute path", None),
    "dot": (lambda: archive(good() + file(b"out/./x")), REFUSED, '"." or ".." component', None),
    "slash": (lambda: archive(good() + [record(DIR, b"out/", mode=0o755)]), REFUSED, "empty component", None),
    "slashes": (lambda: archive(good() + file(b"out//x")), REFUSED, "empty component", None),
    "nul": (lambda: archive(good() + file(b"out/a\0b")), REFUSED, "NUL byte", None),
    "no-parent": (lambda: archive(file(b"out/x")), REFUSED, "lies in a directory that was not declared", None),
    "twice": (lambda: archive(good() + file(b"out/good", b"other")), REFUSED, "is there twice", None),
    "below-file": (lambda: archive(good() + file(b"out/good/x")),
                   REFUSED, "lies in a directory that was not declared", None),
    "long-name": (lambda: archive(good() + [struct.pack("<IIIIQQ", FILE, 5000, 0o644, 0, 0, 0)]),
                  REFUSED, "name length is out of range", None),
    "no-name": (lambda: archive(good() + [record(FILE)]), REFUSED, "name length is out of range", None),
    "huge-size": (lambda: archive(good() + [record(FILE, b"out/huge", 0o644, (1 << 64) - 1)]),
                  PARTIAL, "", GOOD + [("-", "out/huge", "file_too_big")]),
    "huge-extent": (lambda: archive(good() + [record(FILE, b"out/h", 0o644, 1 << 40),
                                              record(EXTENT, size=1 << 40)]),
                    REFUSED, "past the end of the disk", None),
    "past-file": (lambda: archive(good() + [record(FILE, b"out/h", 0o644, 4), record(EXTENT, size=5) + b"12345"]),
                  REFUSED, "past the end of its file", None),
    "overlap": (lambda: archive(good() + [record(FILE, b"out/h", 0o644, 8), record(EXTENT, size=4) + b"1234",
                                          record(EXTENT, size=4, offset=3) + b"5678"]),
                REFUSED, "overlaps or goes back", None),
    "wrap": (lambda: archive(good() + [record(FILE, b"out/h", 0o644, 1 << 63),
                                       record(EXTENT, size=4, offset=(1 << 64) - 2) + b"1234"]),
             REFUSED, "past the end of its file", None),
    "empty-extent": (lambda: archive(good() + [record(FILE, b"out/h", 0o644, 1), record(EXTENT)]),
                     REFUSED, "an empty extent", None),
    "orphan": (lambda: archive([record(EXTENT, size=1) + b"x"]), REFUSED, "follows no file", None),
    "of-a-dir": (lambda: archive([record(DIR, b"out", 0o755), record(EXTENT, size=1) + b"x"]),
                 REFUSED, "follows no file", None),
    "miscounted": (lambda: archive(good(), count=1),
                   REFUSED, "the end of the archive counts 1 records, there are 3", None),
    "kind": (lambda: archive(good() + [record(77)]), REFUSED, "unknown kind", None),
    "mode": (lambda: archive(good() + [record(FILE, b"out/m", 0o100644)]), REFUSED, "beyond 07777", None),
    "reserved": (lambda: archive(good() + [record(DIR, b"out/r", 0o755, zero=1)]),
                 REFUSED, "reserved field is not zero", None),
    "reason": (lambda: archive(good() + [record(SKIPPED, b"out/r", mode=99)]), REFUSED, "unknown skip reason", None),
    "set-id": (lambda: archive(good() + file(b"out/suid", b"#!", 0o7777)),
               COMPLETE, "", GOOD + [("file", "out/suid", 2)]),
    # 4 bytes are out; files of 10 are taken back until twice the cap of 100 has been written.
    "taken-back": (lambda: archive(good() + sum(([*file(b"out/%02d" % i, b"0123456789"),
                                                  record(SKIPPED, b"out/%02d" % i, mode=6)]
                                                 for i in range(50)), [])),
                   PARTIAL, "", GOOD + [("-", "out/%02d" % i, "unreadable" if i < 19 else "total_too_big")
                                        for i in range(50)]),
    "not-asked-for": (lambda: archive(file(b"etc", b"root::0:0")), COMPLETE, "", [("file", "etc", 9)]),
    "million": (lambda: archive([record(DIR, b"out", mode=0o755)] +
                                [record(DIR, b"out/%d" % i, mode=0o755) for i in range(1000000)]),
                PARTIAL, "more than 262144 names", None),
    "million-skipped": (lambda: archive(good() + [record(SKIPPED, b"out/s", mode=2)] * 1000000),
                        PARTIAL, "more than 262144 names", None),
}


def check(name, program, folder):
    build, status, text, entries = CASES[name]
    total = 100 if name == "taken-back" else 1 << 20
    os.mkdir(folder)
    got = extractor.run(program, build() + bytes(1 << 20), os.path.join(folder, "out"), max_total=total,
                        max_file=1 << 20, max_files=1000, max_depth=16)
    assert got.status == status, f"{name}: status {got.status}: {got.text}"
    assert text in got.text and bool(text) == bool(got.text), f"{name}: {got.text!r}"
    if entries is not None:
        assert got.entries == entries, f"{name}: {got.entries}"
        there = sorted(os.path.relpath(os.path.join(at, below), folder + "/out")
                       for at, dirs, files in os.walk(folder + "/out") for below in dirs + files)
        assert there == sorted(entry[1] for entry in entries if entry[0] != "-"), f"{name}: {there}"
    assert os.listdir(folder) == ["out"], name
    shutil.rmtree(folder)


def main():
    if sys.argv[1] != "--all":
        sys.stdout.buffer.write(CASES[sys.argv[1]][0]())
        return
    for name in CASES:
        check(name, sys.argv[2], os.path.join(sys.argv[3], name))
    print(len(CASES))


main()
