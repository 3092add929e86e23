#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fs-verity for tests: `verity.py enable FILE` has the kernel hold FILE to its content from now on;
`verity.py digest FILE` computes the digest that this gives it, from what Documentation/filesystems/
fsverity.rst says (SHA-256, no salt, at most 128 blocks)."""

import fcntl
import hashlib
import struct
import sys

FS_IOC_ENABLE_VERITY = 0x40806685
BLOCK = 4096


def enable(path):
    argument = struct.pack("<IIIIQIIQ88x", 1, 1, BLOCK, 0, 0, 0, 0, 0)
    with open(path, "rb") as file:
        fcntl.ioctl(file, FS_IOC_ENABLE_VERITY, argument)


def digest(path):
    with open(path, "rb") as file:
        data = file.read()
    hashes = [
        hashlib.sha256(data[at : at + BLOCK].ljust(BLOCK, b"\0")).digest()
        for at in range(0, len(data), BLOCK)
    ]
    assert 0 < len(hashes) <= BLOCK // 32
    root = hashes[0]
    if len(hashes) > 1:
        root = hashlib.sha256(b"".join(hashes).ljust(BLOCK, b"\0")).digest()
    descriptor = struct.pack("<BBBBIQ64s176x", 1, 1, 12, 0, 0, len(data), root)
    print(hashlib.sha256(descriptor).hexdigest())


{"enable": enable, "digest": digest}[sys.argv[1]](sys.argv[2])
