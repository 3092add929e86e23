# SPDX-License-Identifier: Apache-2.0
"""In the guest: files that are what their names say, and files that are not."""
import io
import json
import os
import struct
import zipfile
import zlib


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
       chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))
jpeg = b"\xff\xd8\xff\xc0\0\x08\x08\0\x01\0\x01\0\xff\xda\0\x04abscan\xff\0x\xff\xd9"
pdf = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n"
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w") as archive:
    archive.writestr(zipfile.ZipInfo("a"), "x")
packed = packed.getvalue()

os.umask(0o022)
os.mkdir("t")
os.chdir("t")
write("good.png", png)
write("good.PNG2", png)
write("good.jpg", jpeg)
write("good.jpeg", jpeg)
write("good.pdf", pdf)
write("good.csv", "a,b\r\n1,é\r\n".encode())
write("good.json", json.dumps({"a": [1, 2.5, None, "é"] * 1000}).encode())
write("good.txt", b"hello\n")
write("empty.txt", b"")
write("empty.csv", b"")
write("no-ending", b"some text\n")
write("json-without-ending", b"{}")
write("script.sh", b"#!/bin/sh\nrm -rf /\n")
write("html.txt", b"<html><script>alert(1)</script></html>\n")
write("empty.json", b"")
write("empty.png", b"")
write("png.jpg", png)
write("png.txt", png)
write("text.png", b"not a picture\n")
write("cut.png", png[:-1])
write("more.png", png + b"x")
write("crc.png", png[:45] + b"\xff" + png[46:])
write("zip.png", png + packed)
write("zip-inside.png", png[:33] + chunk(b"teSt", b"PK\5\6" + bytes(18)) + png[33:])
write("pdf-inside.png", png[:33] + chunk(b"tEXt", b"%PDF-1.4") + png[33:])
write("more.jpg", jpeg + b"x")
write("zip.pdf", pdf + packed + b"\n%%EOF\n")
write("more.pdf", pdf + b"<script>")
write("pdf.txt", pdf)
write("gif.txt", b"GIF89a=1;alert(1)//\n")
write("escape.txt", b"\x1b[2Jgone\n")
write("latin1.csv", b"caf\xe9\n")
write("nul.csv", b"a\0b\n")
write("utf16.txt", "text".encode("utf-16"))
write("comment.json", b"// no\n{}")
write("comma.json", b"[1,]")
write("two.json", b"{}{}")
write("deep.json", b"[" * 100000 + b"]" * 100000)
write("deep-enough.json", b"[" * 256 + b"]" * 256)
write("one-string.json", b'"' + b"x" * (1 << 21) + b'"')
write("binary", bytes(range(256)))
write("archive.zip", packed)
