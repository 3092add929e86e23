# SPDX-License-Identifier: Apache-2.0
"""In the guest: files and directories at the caps of caps.bats, and one past them."""
import os

os.umask(0o022)
for name in ("size", "count", "depth", "total"):
    os.mkdir(name)
for size in (999, 1000, 1001):
    with open("size/%d" % size, "wb") as file:
        file.write(b"s" * size)
with open("size/holes", "wb") as file:
    file.truncate(1001)
os.makedirs("depth/2/3/4/5")
for path in ("depth/2/3/file4", "depth/2/3/4/file5"):
    open(path, "w").close()
for number in range(6):
    with open("total/%d" % number, "wb") as file:
        file.write(b"t" * 1000)
for number in range(40):
    os.mkdir("count/%02d" % number)
    open("count/%02d/x" % number, "w").close()
