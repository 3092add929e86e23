# SPDX-License-Identifier: Apache-2.0
"""QEMU's microvm with vmrun's guest kernel: the probe on an initramfs, its output on two disks. QEMU is
started as its caller, with its own filter on (-sandbox on)."""
import os
import stat

from backends import Backend
from backends.oci import TREE
from limits import LIMITS, MIB

KERNEL = TREE + "/build/kernel/vmlinux"
COMMAND_LINE = ("panic=-1 nomodule cryptomgr.notests random.trust_cpu=on reboot=t quiet loglevel=0 "
                "8250.nr_uarts=0")


def entry(number, name, mode, data=b""):
    """One member of a newc archive."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    header = "070701" + "".join(f"{field:08x}" for field in fields)
    return padded(header.encode() + name.encode() + b"\0") + padded(data)


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def archive(box):
    with open(box.stage.tools + "/isoprobe", "rb") as file:
        probe = file.read()
    with open(box.stage.tools + "/isoinit", "rb") as file:
        init = file.read()
    user = "0" if box.user == "root" else "1000"
    arguments = b"\0".join(word.encode() for word in (user, *box.probe)) + b"\0"
    folders = [(name, stat.S_IFDIR | 0o755, b"") for name in ("dev", "proc", "sys", "work", "tmp",
                                                               "shared")]
    files = [("isoprobe", stat.S_IFREG | 0o755, probe), ("init", stat.S_IFREG | 0o755, init),
             ("args", stat.S_IFREG | 0o644, arguments)]
    for name in os.listdir(box.stage.rootfs + "/shared"):
        with open(f"{box.stage.rootfs}/shared/{name}", "rb") as file:
            files.append(("shared/" + name, stat.S_IFREG | 0o644, file.read()))
    body = b"".join(entry(i, *member) for i, member in enumerate(folders + files, 1))
    return body + entry(0, "TRAILER!!!", 0)


class Microvm(Backend):
    name = "qemu-microvm"
    program = "qemu-system-x86_64"
    controls = ("kvm", "proc", "image")
    boundary = ("qemu-system",)

    def why_not(self):
        if (missing := super().why_not()):
            return missing
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return "no /dev/kvm"
        return None if os.path.exists(KERNEL) else "no guest kernel"

    def prepare(self, box):
        with open(box.folder + "/initramfs.cpio", "wb") as file:
            file.write(archive(box))
        for name, size in (("stdout", 1), ("stderr", 2 * LIMITS["disk"] // MIB)):
            with open(f"{box.folder}/{name}.img", "wb") as file:
                file.truncate(size * MIB)

    def command(self, box):
        disks = []
        for name in ("stdout", "stderr"):
            disks += ["-drive", f"file={box.folder}/{name}.img,if=none,format=raw,id={name}",
                      "-device", f"virtio-blk-device,drive={name},serial={name[3:]}"]
        return [self.program, "-M", "microvm,x-option-roms=off,pit=off,pic=off,rtc=off,isa-serial=off,"
                "acpi=off", "-accel", "kvm", "-cpu", "host", "-m", str(LIMITS["memory"] // MIB + 32),
                "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-sandbox", "on", "-bios", "qboot.rom", "-kernel", KERNEL, "-initrd",
                box.folder + "/initramfs.cpio", "-append", COMMAND_LINE, *disks]

    def output(self, box, _stdout, _stderr_bytes):
        with open(box.folder + "/stdout.img", "rb") as file:
            said = file.read().rstrip(b"\0")
        return said, os.stat(box.folder + "/stderr.img").st_blocks * 512


BACKEND = Microvm()
