# SPDX-License-Identifier: Apache-2.0
"""In the guest: one of everything that a task can leave behind."""
import gzip
import io
import os
import socket
import struct
import tarfile
import zipfile

os.umask(0o022)
os.mkdir("out")
os.chdir("out")


def write(name, data=b"x", mode=None):
    with open(name, "wb") as file:
        file.write(data)
    if mode is not None:
        os.chmod(name, mode)


# Links, hard and symbolic.
os.mkdir("links")
write("links/file", b"file")
os.mkdir("links/dir")
write("links/dir/below")
os.link("links/file", "links/hard")
os.link("links/file", "links/dir/hard-across")
for name, target in (("absolute", "/etc/passwd"), ("relative", "../../../../etc/passwd"),
                     ("dangling", "nothing"), ("loop", "loop"), ("to-dir", "dir"),
                     ("to-file", "file"), ("to-parent", ".."), ("to-task", "/task"),
                     ("long", "x" * 4000)):
    os.symlink(target, "links/" + name)

# What is neither file nor directory.
os.mkdir("special")
os.mkfifo("special/fifo")
socket.socket(socket.AF_UNIX).bind("special/socket")
try:
    os.mknod("special/whiteout", 0o20644, 0)
except OSError:
    pass
for name, number in (("zero", os.makedev(1, 5)), ("disk", os.makedev(254, 0))):
    try:
        os.mknod("special/" + name, 0o60644 if name == "disk" else 0o20644, number)
        print("made", name)
    except OSError:
        pass

# Modes and attributes.
os.mkdir("modes")
for mode in (0o0, 0o1, 0o10, 0o100, 0o400, 0o666, 0o777, 0o1644, 0o2644, 0o2755, 0o4755, 0o6711):
    write("modes/%04o" % mode, b"m", mode)
os.mkdir("modes/closed")
write("modes/closed/inside")
os.chmod("modes/closed", 0)
os.mkdir("modes/sticky")
os.chmod("modes/sticky", 0o1777)
write("modes/xattr")
os.setxattr("modes/xattr", "user.note", b"kept inside")
write("modes/acl")
try:
    os.setxattr("modes/acl", "system.posix_acl_access",
                struct.pack("<I", 2) + b"".join(
                    struct.pack("<HHI", tag, perm, who) for tag, perm, who in
                    ((1, 6, 0xffffffff), (2, 7, 1234), (4, 4, 0xffffffff), (0x10, 4, 0xffffffff),
                     (0x20, 4, 0xffffffff))))
except OSError as error:
    print("no ACL:", error.strerror)

# Names.
os.mkdir("names")
for name in (b"plain", b"caf\xc3\xa9", b"cafe\xcc\x81", b"Case", b"CASE", b"case", b"\xce\xa3", b"\xcf\x82",
             b"f-3", b"new\nline", b"tab\t", b"\x1b]0;title\x07", b"\x1b[2J", b"del\x7f", b"c1\xc2\x9b",
             b"rtl\xe2\x80\xaegnp.exe", b"iso\xe2\x81\xa6late", b"invalid\xff", b"cut\xe2\x82", b"over\xc0\xaf",
             b"half\xed\xa0\x80", b"zero\xe2\x80\x8bwidth", b" lead", b"trail ", b"dot.", b"...", b"..x", b"-rf",
             b"CON", b"nul.txt", b"a:b", b"back\\slash", b"star*", b"what?", b"quo\"te", b"<", b"pipe|", b"%s%n",
             b"n" * 255, b".hidden", b"\xf0\x9f\x98\x80", b"$(id)", b"`id`"):
    write(b"names/" + name, b"n")
os.mkdir("names/DIR")
write("names/DIR/1")
os.mkdir("names/dir")
write("names/dir/2")
os.mkdir(b"names/bad\xfe")
write(b"names/bad\xfe/inside")
os.mkdir(b"names/bad\xfe/bad\xfe")
write(b"names/bad\xfe/bad\xfe/\xfe")

# Sizes and holes.
os.mkdir("sizes")
write("sizes/empty", b"")
with open("sizes/hole", "wb") as file:
    file.truncate(1 << 20)
with open("sizes/middle", "wb") as file:
    file.truncate(1 << 20)
    file.seek(500000)
    file.write(b"middle")
with open("sizes/tail", "wb") as file:
    file.seek((1 << 20) - 1)
    file.write(b"z")
with open("sizes/giant", "wb") as file:
    file.truncate(1 << 40)
write("sizes/odd", b"o" * 4097)
os.mkdir("sizes/nothing")

# Archives of the task's own: opaque.
os.mkdir("packed")
with tarfile.open("packed/escape.tar", "w") as tar:
    member = tarfile.TarInfo("../../../etc/passwd")
    member.size = 1
    tar.addfile(member, io.BytesIO(b"x"))
write("packed/bomb.gz", gzip.compress(bytes(1 << 22), mtime=0))
with zipfile.ZipFile("packed/bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr(zipfile.ZipInfo("x"), bytes(1 << 20), zipfile.ZIP_DEFLATED)
write("packed/gif.js", b"GIF89a=1;alert(1)")
write("packed/page.txt", b"<html><script>alert(1)</script></html>")

# Depth and length.
top = os.open(".", os.O_RDONLY)
os.mkdir("deep")
os.chdir("deep")
for level in range(40):
    os.mkdir("d")
    os.chdir("d")
os.fchdir(top)
os.mkdir("long")
os.chdir("long")
for level in range(5):
    os.mkdir("l" * 250)
    os.chdir("l" * 250)
write("end")
