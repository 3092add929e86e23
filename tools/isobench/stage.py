# SPDX-License-Identifier: Apache-2.0
"""The files that every sandbox is given: one small root file system, as a folder and as an image."""
import hashlib
import os
import shutil
import subprocess

from rows.channels import BITS

BLOCK = 1 << 18  # probe/channel.c
FOLDERS = ("dev", "proc", "run", "sys", "task", "tmp", "work", "shared", "etc")


class Stage:
    """Made in `folder`, from the tools in `tools`."""

    def __init__(self, folder, tools):
        self.tools, self.folder = tools, folder
        self.rootfs, self.image = folder + "/rootfs", folder + "/root.erofs"
        self.tampered_image, self.image_sha256 = folder + "/tampered.erofs", ""

    def make(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in FOLDERS:
            os.makedirs(f"{self.rootfs}/{name}")
        shutil.copy(self.tools + "/isoprobe", self.rootfs + "/isoprobe")
        with open(self.rootfs + "/shared/lock", "w", encoding="ascii") as file:
            file.write("lock\n")
        with open(self.rootfs + "/shared/cache", "wb") as file:
            file.write(os.urandom((BITS + 1) * BLOCK))
        subprocess.run(["mkfs.erofs", "--quiet", "--all-root", self.image, self.rootfs], check=True,
                       stdout=subprocess.DEVNULL)
        with open(self.image, "rb") as file:
            data = file.read()
        self.image_sha256 = hashlib.sha256(data).hexdigest()
        with open(self.tampered_image, "wb") as file:
            file.write(data[:-1] + bytes([data[-1] ^ 1]))
        return self

    def forget(self):
        """Drop the shared file from the host's page cache, where the file system can."""
        for path in (self.rootfs + "/shared/cache", self.image):
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
