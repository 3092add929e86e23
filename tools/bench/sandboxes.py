# SPDX-License-Identifier: Apache-2.0
"""vmrun and what it is measured beside: each makes the command that runs a program on an image.

All run as root, with the same image as a read-only root and /task to write to. QEMU's guest has the same
kernel, the image as virtio-blk and an ext4 scratch disk as vmrun's has, and an init that does nothing
beside (peer_init.c). Containers get what `runc spec` gives: namespaces, no capabilities to speak of, no
filter of system calls, no network."""
import json
import os
import shutil
import subprocess

import cold
from run import MIB, TREE, VMRUN, Folder

IMAGES = TREE + "/build/images"
EXAMPLE = TREE + "/tools/examples/csv-chart"
ENVIRONMENT = ["PATH=/usr/bin:/bin", "HOME=/task", "MPLCONFIGDIR=/task"]
SCRATCH_MIB = 512


class Program:
    """What a sandbox runs: words, an image, files that lie in /task, and what it has to print."""

    def __init__(self, words, image="base", inputs=(), says=None, memory_mib=cold.MEMORY_MIB):
        self.words, self.image, self.inputs, self.says = words, image, inputs, says
        self.memory_mib = memory_mib


PROGRAMS = {
    "true": Program(["true"]),
    "hello": Program(["python3", "-c", "print('hello')"], says="hello\n"),
    "chart": Program(["python3", "chart.py"], "data", [EXAMPLE + "/chart.py", EXAMPLE + "/weather.csv"],
                     says="3 stations: chart.png\n", memory_mib=512),
}


def entry(number, name, mode, data=b""):
    """One member of a newc archive."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = "070701" + "".join(f"{field:08x}" for field in fields)
    return padded(head.encode() + name.encode() + b"\0") + padded(data)


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


class Sandbox:
    program = None   # what has to be installed

    def why_not(self):
        """None, or why it cannot run here."""
        if self.program and not shutil.which(self.program):
            return f"{self.program} is not installed"
        return None

    def prepare(self, ground, name, program):
        """Make what one run needs; returns its command. What `ground` holds goes when it goes."""
        raise NotImplementedError

    def said(self, _ground, _name, stdout):
        """What the program printed, of a run that has ended."""
        return stdout

    def clean(self, ground, name):
        """After a run that was killed."""


class Vmrun(Sandbox):
    def prepare(self, ground, name, program):
        words = " ".join(f'"{word}"' if " " in word or "(" in word else word for word in program.words)
        inputs = "".join(f"{os.path.basename(path)} = {path}\n" for path in program.inputs)
        with open(f"{ground.path}/{name}.ini", "w", encoding="ascii") as file:
            file.write(f"[task]\nname = {name}\ncommand = {words}\n"
                       f"[image]\npath = {IMAGES}/{program.image}.erofs\n"
                       f"[machine]\nmemory = {program.memory_mib}M\nworkdir = {ground.path}\n"
                       f"workdir_tmpfs = yes\n[limits]\nboot = 600s\nwall = 1800s\ncpu = 1800s\n"
                       f"idle = 1800s\ndisk = {SCRATCH_MIB}M\n[input]\n{inputs}")
        return [VMRUN, "-q", "--config", f"{ground.path}/{name}.ini", "--output",
                f"{ground.path}/{name}.out"]


class Qemu(Sandbox):
    program = "qemu-system-x86_64"

    def prepare(self, ground, name, program):
        scratch = f"{ground.path}/{name}.ext4"
        subprocess.run(["cp", ground.scratch(), scratch], check=True)  # which keeps its holes
        with open(f"{ground.path}/{name}.cpio", "wb") as file:
            file.write(self.archive(program))
        # Without that option QEMU tells the kernel where the disks are.
        base = [word.replace(",auto-kernel-cmdline=off", "") for word in cold.QEMU]
        base[base.index("-initrd") + 1] = f"{ground.path}/{name}.cpio"
        base[base.index("-m") + 1] = str(program.memory_mib)
        return [*base, *self.disk("image", f"{IMAGES}/{program.image}.erofs", "on"),
                *self.disk("scratch", scratch, "off,discard=unmap")]

    @staticmethod
    def disk(name, path, readonly):
        return ["-drive", f"file={path},if=none,format=raw,id={name},readonly={readonly}",
                "-device", f"virtio-blk-device,drive={name}"]

    @staticmethod
    def archive(program):
        folder, file = 0o040755, 0o100755
        members = [(name, folder) for name in ("dev", "image", "in")]
        members += [("init", file, contents(cold.TOOLS + "/peer_init")),
                    ("args", file, b"".join(word.encode() + b"\0" for word in program.words))]
        members += [("in/" + os.path.basename(path), file, contents(path)) for path in program.inputs]
        return b"".join(entry(at, *member) for at, member in enumerate(members, 1)) + entry(
            0, "TRAILER!!!", 0)

    def said(self, ground, name, _stdout):
        """The guest has no way out but its disk: stdout, and behind it the status of its end."""
        status, said = (subprocess.run(
            ["/sbin/debugfs", "-R", f"cat /{file}", f"{ground.path}/{name}.ext4"], check=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            for file in ("status", "stdout"))
        if status != b"0\n":
            raise RuntimeError("the program in QEMU's guest did not end well")
        return said


class Bubblewrap(Sandbox):
    program = "bwrap"

    def prepare(self, ground, name, program):
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind",
                 ground.root(program.image), "/", "--bind", ground.task(name, program), "/task",
                 "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/task", "--clearenv"]
        for variable in ENVIRONMENT:
            words += ["--setenv", *variable.split("=")]
        return words + program.words


class Container(Sandbox):
    """program OPTIONS run --bundle FOLDER NAME."""

    def __init__(self, program, *options):
        self.program, self.options = program, options

    def why_not(self):
        return super().why_not() or (None if os.getuid() == 0 else "not as root")

    def state(self, ground):
        return [self.program, "--root", f"{ground.path}/{self.program}", *self.options]

    def prepare(self, ground, name, program):
        bundle = f"{ground.path}/{name}.bundle"
        os.mkdir(bundle)
        subprocess.run([self.program, "spec", "--bundle", bundle], check=True, stdin=subprocess.DEVNULL)
        with open(bundle + "/config.json", encoding="utf-8") as file:
            spec = json.load(file)
        spec["root"] = {"path": ground.root(program.image), "readonly": True}
        spec["process"] |= {"terminal": False, "args": program.words, "env": ENVIRONMENT, "cwd": "/task"}
        spec["mounts"] += [
            {"destination": "/task", "type": "bind", "source": ground.task(name, program),
             "options": ["rbind", "rw"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]}]
        with open(bundle + "/config.json", "w", encoding="ascii") as file:
            json.dump(spec, file)
        return [*self.state(ground), "run", "--bundle", bundle, name]

    def clean(self, ground, name):
        subprocess.run([*self.state(ground), "delete", "--force", name], check=False, timeout=60,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


SANDBOXES = {"vmrun": Vmrun(), "qemu": Qemu(), "crun": Container("crun"), "runc": Container("runc"),
             "bubblewrap": Bubblewrap(),
             "runsc": Container("runsc", "--platform=ptrace", "--network=none")}


class Ground(Folder):
    """A scratch folder, with the images mounted when they are asked for."""

    def __enter__(self):
        super().__enter__()
        self.mounted = []
        return self

    def __exit__(self, *error):
        for place in self.mounted:
            subprocess.run(["umount", "--lazy", place], check=False)
        super().__exit__(*error)

    def root(self, image):
        place = f"{self.path}/{image}"
        if place not in self.mounted:
            os.mkdir(place)
            subprocess.run(["mount", "-t", "erofs", "-o", "loop,ro", f"{IMAGES}/{image}.erofs", place],
                           check=True)
            self.mounted.append(place)
        return place

    def scratch(self):
        """A sparse ext4 as vmrun's is after it has grown: guest-agent/mkscratch."""
        path = self.path + "/scratch.ext4"
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.truncate(SCRATCH_MIB * MIB)
            subprocess.run(["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-O",
                            "^has_journal,^resize_inode,meta_bg,64bit,metadata_csum", "-E",
                            "lazy_itable_init=0,root_owner=0:0", path], check=True,
                           stdin=subprocess.DEVNULL)
        return path

    def task(self, name, program):
        """The folder that is /task of a sandbox without a disk of its own."""
        path = f"{self.path}/{name}.task"
        os.mkdir(path)
        for source in program.inputs:
            shutil.copy(source, path)
        return path
