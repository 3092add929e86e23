#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the whole agent in a plain QEMU (no KVM, no vsock: see fake_host.c) and judge what it does.

    tests/unit/guest-agent/in_qemu.py KERNEL INITRAMFS IMAGE [CASE...]

INITRAMFS holds an agent that was linked with fake_host.c instead of dial.c. Prints TAP.
"""

import os
import struct
import subprocess
import sys
import tempfile
import time

ARG, ENV, WORKDIR, HOSTNAME, UID, GID, CLOCK, WALL, MEMORY, PROCESSES, FILES, STDIN, IMPORT, \
    COLLECT, OVERLAY, SCRATCH, CPU, IDLE, INODES = range(1, 20)
STARTED, EXITED, EXPORTED, FATAL = 3, 5, 6, 7
HOW = {1: "exited", 2: "signalled", 3: "not_found", 4: "not_started", 5: "setup_failed"}
LIMIT_WALL, LIMIT_MEMORY, LIMIT_PROCESSES, LIMIT_CANCELLED = 1, 4, 8, 16
ALL_CONTROLS = 0x3FF
SKIPS = [None, "missing", "symlink", "fifo", "socket", "device", "unreadable", "too_deep",
         "too_long", "no_space"]
MIB = 1 << 20
MKSCRATCH = os.path.join(os.path.dirname(__file__), "../../../guest-agent/mkscratch")


def field(tag, value):
    data = struct.pack("<Q", value) if isinstance(value, int) else value
    return struct.pack("<II", tag, len(data)) + data


def job(argv, env=(b"LANG=C.UTF-8", b"PATH=/usr/bin:/bin"), collect=(), **changes):
    numbers = {UID: 1000, GID: 1000, CLOCK: 1_900_000_000 * 10**9, WALL: 60 * 10**9,
               MEMORY: 64 * MIB, PROCESSES: 32, FILES: 256, SCRATCH: 128 * MIB,
               CPU: 60 * 10**9, IDLE: 60 * 10**9, INODES: 8192}
    texts = {WORKDIR: b"/task", HOSTNAME: b"case"}
    for tag, value in changes.get("set", {}).items():
        (numbers if isinstance(value, int) else texts)[tag] = value
    out = b"".join(field(ARG, arg) for arg in argv) + b"".join(field(ENV, e) for e in env)
    out += b"".join(field(COLLECT, path) for path in collect)
    return out + b"".join(field(t, v) for t, v in {**numbers, **texts}.items())


def sh(script, **more):
    return job([b"sh", b"-c", script.encode()], **more)


def record(kind, name=b"", mode=0, size=0, offset=0, data=b""):
    return struct.pack("<IIIIQQ", kind, len(name), mode, 0, size, offset) + name + data


def archive(records):
    body = b"".join(records)
    return b"VMRARCH1" + bytes(8) + body + record(5, size=len(records))


def read_archive(disk):
    """The records of an export disk as [(kind, name, mode or reason, content or None)]."""
    assert disk[:16] == b"VMRARCH1" + bytes(8), "no archive header"
    at, out, count = 16, [], 0
    while True:
        kind, name_bytes, mode, zero, size, offset = struct.unpack_from("<IIIIQQ", disk, at)
        assert zero == 0
        at += 32
        name = disk[at:at + name_bytes]
        at += name_bytes
        if kind == 5:
            assert size == count, "END counts wrongly"
            return out, at
        count += 1
        if kind == 3:
            out[-1][3][offset:offset + size] = disk[at:at + size]
            out[-1][4].append((offset, size))
            at += size
        elif kind == 4:
            out.append(("skipped", name, SKIPS[mode], None, []))
        elif kind == 2:
            out.append(("file", name, mode, bytearray(size), []))
        else:
            assert kind == 1, f"kind {kind}"
            out.append(("dir", name, mode, None, []))


class Outcome:
    """What one guest did: messages, streams, the export disk, the console."""

    def __init__(self, recorded, export, console, seconds):
        self.streams = {1: b"", 2: b""}
        self.ended = set()
        self.messages = []
        self.console = console
        self.seconds = seconds
        Outcome.last_console = console
        self.export = export
        at = 0
        while at + 8 <= len(recorded):
            stream, length = struct.unpack_from("<II", recorded, at)
            data = recorded[at + 8:at + 8 + length]
            at += 8 + length
            if stream == 0 and length == 0:
                break
            if stream == 0:
                self.messages.append((struct.unpack_from("<H", data)[0], data[8:]))
            elif length == 0:
                self.ended.add(stream)
            else:
                self.streams[stream] += data

    def message(self, kind):
        found = [payload for type_, payload in self.messages if type_ == kind]
        assert len(found) == 1, f"{len(found)} messages of type {kind}: {self.messages}"
        return found[0]

    def controls(self):
        return struct.unpack("<QQ", self.message(STARTED))[1]

    def exited(self):
        payload = self.message(EXITED)
        how, code, limits, _, run, user, system, peak, ooms, pids, _ = \
            struct.unpack_from("<IIIIQQQQQQQ", payload)
        text = payload[16 + 56 + 2:].decode()
        return dict(how=HOW[how], code=code, limits=limits, run=run, user=user, system=system,
                    peak=peak, ooms=ooms, pids=pids, text=text)

    def exported(self):
        error, _, size, files, skipped, _ = struct.unpack("<IIQQQQ", self.message(EXPORTED))
        return dict(error=error, size=size, files=files, skipped=skipped)

    def fatal(self):
        payload = self.message(FATAL)
        return payload[6:].decode()

    def records(self):
        records, size = read_archive(self.export)
        assert size == self.exported()["size"], "archive_bytes is wrong"
        return records

    def out(self):
        return self.streams[1]

    def err(self):
        return self.streams[2]


class Machine:
    def __init__(self, kernel, initramfs, image):
        self.kernel, self.initramfs, self.image = kernel, initramfs, image

    def run(self, payload, stdin=b"", cancel_ms=0, imports=None, export_bytes=16 * MIB,
            memory=192, cpus=1):
        with tempfile.TemporaryDirectory() as work:
            path = lambda name: os.path.join(work, name)
            subprocess.run([MKSCRATCH, path("scratch")], check=True)
            os.truncate(path("scratch"), 512 * MIB)
            script = struct.pack("<IIII", len(payload), len(stdin), cancel_ms, 0) + payload + stdin
            for name, data, size in [("export", b"", export_bytes),
                                     ("import", imports or b"", 16 * MIB),
                                     ("script", script, 8 * MIB), ("record", b"", 64 * MIB)]:
                with open(path(name), "wb") as file:
                    file.write(data)
                    file.truncate(size)
            # Time by counted instructions, so that a busy host changes no outcome.
            command = ["qemu-system-x86_64", "-M", "microvm,auto-kernel-cmdline=on,acpi=off",
                       "-accel", "tcg", "-icount", "shift=1,sleep=on", "-cpu", "max", "-m", str(memory), "-smp", str(cpus),
                       "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                       "-serial", "stdio", "-kernel", self.kernel, "-initrd", self.initramfs,
                       "-append", "console=ttyS0 quiet reboot=t panic=-1 tsc=reliable lpj=4000000",
                       "-global", "virtio-mmio.force-legacy=false"]
            disks = [self.image] + [path(n) for n in
                                    ("scratch", "export", "import", "script", "record")]
            for i, disk in enumerate(disks):
                only = ",readonly=on" if i in (0, 3) else ""
                command += ["-drive", f"id=d{i},file={disk},format=raw,if=none{only}",
                            "-device", f"virtio-blk-device,drive=d{i}"]
            start = time.monotonic()
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=180)
            seconds = time.monotonic() - start
            with open(path("record"), "rb") as file:
                recorded = file.read()
            with open(path("export"), "rb") as file:
                export = file.read()
            return Outcome(recorded, export, done.stdout.decode(errors="replace"), seconds)


def equal(got, want, what=""):
    assert got == want, f"{what} is {got!r}, not {want!r}"


# ---- cases: each boots one guest ------------------------------------------------------------------

def case_hello(machine):
    got = machine.run(sh("echo out; echo err >&2; exit 3"))
    equal(got.out(), b"out\n")
    equal(got.err(), b"err\n")
    equal([type_ for type_, _ in got.messages], [1, 3, 5, 6], "order of messages")
    exited = got.exited()
    equal((exited["how"], exited["code"], exited["limits"]), ("exited", 3, 0))
    equal(got.controls(), ALL_CONTROLS, "controls")
    assert exited["peak"] > 0 and exited["run"] > 0 and exited["user"] + exited["system"] > 0
    equal(got.exported(), dict(error=0, size=48, files=0, skipped=0))
    equal(got.ended, {1, 2}, "ended streams")
    setup = struct.unpack("<QQ", got.message(STARTED))[0]
    up = struct.unpack_from("<Q", got.message(1), 24)[0]
    print(f"# guest at main after {up / 1e6:.1f} ms, set-up {setup / 1e6:.1f} ms")


def case_world(machine):
    got = machine.run(sh("""
id; hostname; pwd; date -u +%Y; cat /proc/self/cgroup; ls /dev; ls /proc | grep '^[0-9]' | wc -l
echo $$; cat /sys/fs/cgroup/memory.max; ls /sys/devices/system/cpu/online; ulimit -n; umask
grep -E 'NoNewPrivs|Seccomp:|Cap' /proc/self/status; ls -ld /task /tmp /run; ls -l /proc/self/fd; ls -l /proc/$$/fd
echo via-name > /dev/stdout; echo via-name > /dev/stderr; touch /task/a /tmp/b /run/c && echo made
(touch /usr/x; touch /x; echo 1 > /proc/sys/vm/overcommit_memory; cat /proc/1/environ;
 kill -9 1; mount -t tmpfs x /tmp; unshare -U true; ls /init /scratch /cgroup; mknod /tmp/n b 254 0;
 dmesg; chroot / true; cat /dev/vda) 2>&1
python3 -c '
import socket, threading
try: socket.socket(socket.AF_VSOCK)
except OSError as e: print("vsock", e.errno)
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); print("lo ok")
import subprocess; print(subprocess.run(["echo", "child"], capture_output=True).stdout)
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
import multiprocessing.shared_memory as m; x = m.SharedMemory(create=True, size=10); x.unlink()
import os; print(os.openpty())
'
"""))
    text = got.out().decode()
    print("\n".join("# " + line for line in (text + got.err().decode()).splitlines()))
    for want in ["uid=1000(task) gid=1000(task) groups=1000(task)\n", "case\n", "/task\n", "2030\n", "0::/\n",
                 "67108864\n", "256\n", "NoNewPrivs:\t1", "Seccomp:\t2", "CapBnd:\t0000000000000000",
                 "via-name\n", "made\n", "'/usr/x': Read-only file system", "vsock 97\n", "lo ok\n",
                 "b'child\\n'", "thread\n"]:
        assert want in text, f"{want!r} is missing"
    equal(text.count("Read-only file system"), 2 + 1, "read-only refusals")
    equal(got.err(), b"via-name\n")


def case_big_output(machine):
    got = machine.run(job([b"python3", b"-c", b"""
import os, random
random.seed(1)
data = random.randbytes(1 << 20)
os.write(2, b'e' * 100000)
for at in range(0, len(data), 7777): os.write(1, data[at:at + 7777])
"""]))
    import random
    random.seed(1)
    equal(got.out() == random.randbytes(1 << 20), True, "output byte for byte")
    equal(len(got.err()), 100000)


def case_stdin(machine):
    data = bytes(range(256)) * 4096
    got = machine.run(sh("md5sum; cat", set={STDIN: 1}), stdin=data)
    import hashlib
    equal(got.out(), hashlib.md5(data).hexdigest().encode() + b"  -\n")


def case_stdin_unread(machine):
    got = machine.run(sh("head -c 10; exec 0<&-; sleep 0.3; echo done", set={STDIN: 1}),
                      stdin=b"x" * (4 * MIB))
    equal(got.out(), b"x" * 10 + b"done\n")
    equal(got.exited()["how"], "exited")


def case_no_stdin(machine):
    got = machine.run(sh("cat; readlink /proc/self/fd/0"))
    equal(got.out(), b"/dev/null\n")


def case_signal(machine):
    got = machine.run(sh("kill -SEGV $$"))
    equal((got.exited()["how"], got.exited()["code"]), ("signalled", 11))


def case_not_found(machine):
    got = machine.run(job([b"no-such-command"]))
    equal((got.exited()["how"], got.exited()["code"]), ("not_found", 2))
    assert "no-such-command" in got.exited()["text"]
    equal(len(got.messages), 3, "messages")


def case_not_started(machine):
    files = [record(2, b"plain", 0o644, 3), record(3, size=3, data=b"abc"),
             record(2, b"bad", 0o755, 3), record(3, size=3, data=b"abc"),
             record(2, b"crlf", 0o755, 11), record(3, size=11, data=b"#!/bin/sh\r\n")]
    got = machine.run(job([b"/task/plain"], set={IMPORT: 1}), imports=archive(files)).exited()
    equal((got["how"], got["code"]), ("not_started", 13))
    got = machine.run(job([b"./bad"], set={IMPORT: 1}), imports=archive(files)).exited()
    equal((got["how"], got["code"]), ("not_started", 8))
    got = machine.run(job([b"./crlf"], set={IMPORT: 1}), imports=archive(files)).exited()
    equal((got["how"], got["code"]), ("not_started", 2))
    assert "carriage return" in got["text"], got["text"]


def case_workdir_missing(machine):
    got = machine.run(job([b"true"], set={WORKDIR: b"/task/nowhere"})).exited()
    equal((got["how"], got["code"]), ("setup_failed", 2))
    assert "/task/nowhere" in got["text"]


def case_wall(machine):
    got = machine.run(sh("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000' & echo up; wait; "
                         "while :; do sleep 1; done", set={WALL: 10**9}))
    exited = got.exited()
    equal((exited["how"], exited["code"], exited["limits"]), ("signalled", 9, LIMIT_WALL))
    assert 1.45e9 < exited["run"] < 2.5e9, exited["run"]
    equal(got.out(), b"up\n")


def case_wall_graceful(machine):
    got = machine.run(sh("trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done",
                         set={WALL: 10**9}))
    exited = got.exited()
    equal((exited["how"], exited["code"], exited["limits"]), ("exited", 7, LIMIT_WALL))
    equal(got.out(), b"bye\n")


def case_cancel(machine):
    got = machine.run(sh("sleep 1000"), cancel_ms=300)
    exited = got.exited()
    equal((exited["how"], exited["code"], exited["limits"]), ("signalled", 15, LIMIT_CANCELLED))


def case_background_child(machine):
    got = machine.run(sh("(sleep 0.03; echo late; sleep 1000) & (setsid yes > /task/y &) ; echo main"))
    equal(got.exited()["how"], "exited")
    equal(got.out(), b"main\nlate\n")
    equal(got.exported()["error"], 0)


def case_endless_output(machine):
    got = machine.run(sh("yes & sleep 0.3"))
    equal(got.exited()["code"], 0)
    assert len(got.out()) > 1000


def case_memory(machine):
    got = machine.run(job([b"sh", b"-c", b"python3 -c 'x = b\"x\" * (100 << 20)'; echo after"]))
    exited = got.exited()
    equal((exited["how"], exited["code"], exited["limits"]), ("signalled", 9, LIMIT_MEMORY))
    assert exited["ooms"] >= 1 and exited["peak"] > 32 * MIB, exited
    equal(got.out(), b"")


def case_fork_bomb(machine):
    got = machine.run(sh("b() { b | b & }; b; sleep 0.5; echo end", set={WALL: 5 * 10**9}))
    exited = got.exited()
    assert exited["limits"] & LIMIT_PROCESSES and exited["pids"] > 0, exited
    equal(got.exported()["error"], 0)


def case_disk_full(machine):
    got = machine.run(sh("head -c 300M /dev/zero > /task/big; ls -l /task/big | wc -l; df -k /task"))
    assert b"No space left" in got.err(), got.err()
    equal(got.exited()["code"], 0)


def case_root_user(machine):
    got = machine.run(sh("""id -u; (echo 1 > /proc/sys/kernel/pid_max; mknod /tmp/n c 1 3;
cat /proc/1/environ; for f in $(ls /proc/1/fd); do echo forged > /proc/1/fd/$f; done; kill -9 1;
cat /proc/1/mem; echo max > /sys/fs/cgroup/memory.max; mount -t proc p /tmp
chown 1:1 /task; touch /usr/x) 2>&1; grep CapEff /proc/self/status; ps ax 2>/dev/null | head -3""",
                         set={UID: 0, GID: 0}))
    print("\n".join("# " + line for line in (got.out() + got.err()).decode().splitlines()))
    equal(got.controls(), ALL_CONTROLS & ~8, "controls")
    equal(got.out().splitlines()[0], b"0")
    assert b"CapEff:\t0000000000000000" in got.out()


def case_overlay(machine):
    got = machine.run(sh("touch /usr/x && echo made", set={UID: 0, GID: 0, OVERLAY: 1}))
    equal(got.out(), b"made\n")
    equal(got.controls(), ALL_CONTROLS & ~8 & ~0x100, "controls")


def case_import(machine):
    files = [record(1, b"in", 0o755), record(1, b"in/deep", 0o700),
             record(2, b"in/deep/sparse", 0o640, 3 * MIB),
             record(3, size=4, offset=MIB, data=b"data"),
             record(2, b"empty", 0o444, 0)]
    got = machine.run(sh("find . ! -name lost -printf '%p %m %u %s\n' | sort; "
                         "du -k in/deep/sparse; md5sum < in/deep/sparse", set={IMPORT: 1}),
                      imports=archive(files))
    import hashlib
    content = bytearray(3 * MIB)
    content[MIB:MIB + 4] = b"data"
    lines = got.out().decode().splitlines()
    equal(lines[1:4], ["./empty 444 task 0", "./in 755 task 4096", "./in/deep 700 task 4096"])
    equal(lines[4], f"./in/deep/sparse 640 task {3 * MIB}")
    equal(lines[5].split()[0], "4", "blocks of the sparse file")
    equal(lines[6].split()[0], hashlib.md5(content).hexdigest())


def case_import_too_large(machine):
    files = [record(2, b"large", 0o644, 12 * MIB), record(3, size=12 * MIB, data=bytes(12 * MIB))]
    got = machine.run(sh("echo no", set={IMPORT: 1, SCRATCH: 8 * MIB}), imports=archive(files))
    exited = got.exited()
    equal((exited["how"], exited["code"]), ("setup_failed", 28))
    assert "large" in exited["text"], exited["text"]
    equal(got.out(), b"")


def case_export(machine):
    got = machine.run(sh(r"""
mkdir -p out/a/b other; echo one > out/1; printf '' > out/empty; echo x > out/a/b/x; chmod 4755 out/1
ln -s /etc/passwd out/link; mkfifo out/fifo; ln -s out viaout; echo o > other/o; touch out/mode; chmod 0 out/mode
python3 -c '
import os, socket
with open("out/sparse", "wb") as f:
    f.seek(5 << 20); f.write(b"S" * 5000); f.truncate(20 << 20)
with open("out/hole", "wb") as f: f.truncate(1 << 20)
socket.socket(socket.AF_UNIX).bind("out/sock")
'""", collect=[b"out", b"other/o", b"out/a/b/x", b"gone", b"viaout/1", b"out/never", b"link-not"]))
    equal(got.exited()["code"], 0)
    equal(got.err(), b"")
    records = got.records()
    equal([(r[0], r[1].decode(), r[2]) for r in records], [
        ("skipped", "gone", "missing"), ("skipped", "link-not", "missing"),
        ("dir", "other", 0o755), ("file", "other/o", 0o644),
        ("dir", "out", 0o755), ("file", "out/1", 0o4755), ("dir", "out/a", 0o755),
        ("dir", "out/a/b", 0o755), ("file", "out/a/b/x", 0o644), ("file", "out/empty", 0o644),
        ("skipped", "out/fifo", "fifo"), ("file", "out/hole", 0o644),
        ("skipped", "out/link", "symlink"), ("file", "out/mode", 0), ("skipped", "out/sock", "socket"),
        ("file", "out/sparse", 0o644), ("skipped", "out/never", "missing"),
        ("skipped", "viaout/1", "symlink")])
    content = {r[1]: r for r in records}
    equal(bytes(content[b"out/1"][3]), b"one\n")
    sparse = bytearray(20 * MIB)
    sparse[5 * MIB:5 * MIB + 5000] = b"S" * 5000
    equal(content[b"out/sparse"][3] == sparse, True, "sparse file")
    equal(content[b"out/sparse"][4], [(5 * MIB, 8192)])
    equal(content[b"out/hole"][4], [])
    equal(got.exported()["files"], 7)
    equal(got.exported()["skipped"], 7)


def case_export_full(machine):
    got = machine.run(sh("mkdir o; for i in 1 2 3 4 5; do head -c 1M /dev/urandom > o/$i; done; "
                         "echo small > o/z", collect=[b"o"]), export_bytes=3 * MIB)
    records = got.records()
    equal([(r[0], r[2]) for r in records if r[1] in (b"o/1", b"o/2")], [("file", 0o644)] * 2)
    equal([r[2] for r in records if r[1] in (b"o/3", b"o/4", b"o/5")], ["no_space"] * 3)
    equal(records[-1][1], b"o/z")
    equal(got.exported()["error"], 0)


def case_export_hostile(machine):
    got = machine.run(job([b"python3", b"-c", b"""
import os
os.mkdir('o'); os.chdir('o')
for i in range(80): os.mkdir('d'); os.chdir('d')
os.chdir('/task')
os.mkdir('n'); os.chdir('n')
for i in range(20): os.mkdir('L' * 255); os.chdir('L' * 255)
os.chdir('/task'); os.mkdir('many')
for i in range(3000): open('many/%05d' % i, 'w').close()
open('many/' + 'bad\\n\\x1b', 'w').close()
"""], collect=[b"o", b"n", b"many"]))
    equal(got.exited()["code"], 0, got.err())
    records = got.records()
    equal([r[2] for r in records if r[0] == "skipped"], ["too_long", "too_deep"])
    equal(sum(r[1].startswith(b"many/") for r in records), 3001)


def case_export_all(machine):
    got = machine.run(sh("mkdir b; echo 1 > a; echo 2 > b/c", collect=[b".", b"b/c"]))
    equal([r[1] for r in got.records()], [b"a", b"b", b"b/c"])


def case_bad_scratch(machine):
    got = machine.run(sh("true", set={SCRATCH: 1 << 40}))
    assert "scratch" in got.fatal(), got.fatal()


def case_limits_at_edge(machine):
    got = machine.run(sh("echo alone", set={PROCESSES: 1}))
    equal(got.out(), b"alone\n")
    equal(got.exited()["pids"], 0)


def case_huge_arguments(machine):
    many = [b"sh", b"-c", b"echo $#", b"x"] + [b"y" * 100] * 10000
    got = machine.run(job(many))
    equal(got.out(), b"10000\n")


def main():
    machine = Machine(*sys.argv[1:4])
    cases = {name[5:]: f for name, f in globals().items() if name.startswith("case_")}
    chosen = sys.argv[4:] or list(cases)
    print(f"1..{len(chosen)}")
    failed = 0
    for number, name in enumerate(chosen, 1):
        try:
            cases[name](machine)
            print(f"ok {number} {name}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired, struct.error, IndexError) as error:
            failed += 1
            print(f"not ok {number} {name}\n# {error!r}"[:2000])
            print("# console:", Outcome.last_console[-500:].replace("\n", "\n# "), flush=True)
    sys.exit(1 if failed else 0)


main()
