#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a task may not do, tried from inside, as the task's user and as root: each probe must be an
# error, and afterwards the run's verdict must still be the task's own.

load e2e.bash

# One line for each probe: "name: ok" when it was refused, else what happened.
probe() {
    cat >"$T/probe.py" <<'END'
import ctypes, errno, os, resource, signal, socket, stat, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
sys_nr = {"ptrace": 101, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169,
          "pivot_root": 155, "chroot": 161, "init_module": 175, "delete_module": 176,
          "finit_module": 313, "kexec_load": 246, "iopl": 172, "ioperm": 173, "add_key": 248,
          "request_key": 249, "keyctl": 250, "perf_event_open": 298, "bpf": 321,
          "userfaultfd": 323, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429,
          "fsopen": 430, "fsmount": 432, "clone3": 435, "quotactl": 179, "unshare": 272,
          "setns": 308, "clock_settime": 227, "syslog": 103, "process_vm_readv": 310,
          "pidfd_open": 434, "pidfd_getfd": 438, "setuid": 105, "setgroups": 116, "sethostname": 170,
          "open_by_handle_at": 304, "fanotify_init": 300, "kcmp": 312, "acct": 163,
          "move_pages": 279, "mknod": 133}

def refused(name, call, *errors):
    try:
        got = call()
    except OSError as e:
        right = not errors or e.errno in errors
        print(f"{name}: {'ok' if right else 'unexpected ' + errno.errorcode.get(e.errno, '?')}")
    else:
        print(f"{name}: NOT REFUSED, {got!r}")

def syscall(name, *args):
    def call():
        buffers = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
        result = libc.syscall(ctypes.c_long(sys_nr[name]), *buffers)
        if result < 0:
            raise OSError(ctypes.get_errno(), name)
        return result
    return call

E = errno
zero = bytes(256)
room = ctypes.create_string_buffer(8)
here = struct.pack("QQ", ctypes.addressof(room), 8)

extra = [os.readlink(p) for p in (f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd") if int(n) > 2)
         if os.path.lexists(p)]
print(f"no further descriptor: {'ok' if not extra else extra}")

# The agent's line to the host: every port that has a meaning, and some that have none.
def dial(family):
    def call():
        s = socket.socket(family, socket.SOCK_STREAM)
        for port in [*range(0, 1100), 3128, 65535, 2**32 - 2]:
            try:
                s.connect((2, port))
            except OSError:
                continue
            return port
        raise OSError(E.ECONNREFUSED, "all")
    return call
refused("vsock stream", lambda: socket.socket(40, socket.SOCK_STREAM), E.EAFNOSUPPORT)
refused("vsock seqpacket", lambda: socket.socket(40, socket.SOCK_SEQPACKET), E.EAFNOSUPPORT)
refused("vsock dial", dial(40))
refused("vsock pair", lambda: socket.socketpair(40), E.EAFNOSUPPORT)
refused("packet socket", lambda: socket.socket(17, socket.SOCK_RAW))
refused("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1), E.EPERM, E.EPROTONOSUPPORT)
refused("vsock through 32 bit calls", lambda: open("/dev/vsock"), E.ENOENT)

# PID 1 of the task's namespace is the agent's; the agent itself has no number in here.
refused("kill 1", lambda: os.kill(1, signal.SIGKILL), E.EPERM)
refused("ptrace attach 1", syscall("ptrace", 16, 1, 0, 0), E.EPERM, E.ESRCH)
refused("ptrace seize 1", syscall("ptrace", 0x4206, 1, 0, 0), E.EPERM, E.ESRCH)
for name in ("mem", "environ", "maps", "auxv"):
    refused(f"/proc/1/{name}", lambda: open(f"/proc/1/{name}", "rb").read(1), E.EACCES, E.EPERM, E.ENOENT)
refused("/proc/1/fd", lambda: os.listdir("/proc/1/fd"), E.EACCES, E.EPERM, E.ENOENT)
refused("/proc/1/root", lambda: os.listdir("/proc/1/root"), E.EACCES, E.EPERM, E.ENOENT)
refused("/proc/1/ns/mnt", lambda: os.readlink("/proc/1/ns/mnt"), E.EACCES, E.EPERM, E.ENOENT)
refused("read the memory of 1", syscall("process_vm_readv", 1, here, 1, here, 1, 0), E.EPERM)
refused("pidfd_getfd of 1", lambda: syscall("pidfd_getfd", syscall("pidfd_open", 1, 0)(), 0, 0)(), E.EPERM, E.ESRCH)
refused("setrlimit of 1", lambda: resource.prlimit(1, 7, (1, 1)), E.EPERM)
refused("renice 1", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), E.EPERM, E.EACCES)
refused("oom score below", lambda: open("/proc/self/oom_score_adj", "wb", buffering=0).write(b"-1"), E.EACCES)

# Devices.
for device in ("vda", "vdb", "vdc", "vdd", "mem", "kmem", "port", "kmsg", "hvc0", "ttyS0", "fuse", "vsock"):
    refused(f"/dev/{device}", lambda: open(f"/dev/{device}", "rb"), E.ENOENT)
for kind, major, minor in ((stat.S_IFBLK, 254, 1), (stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 1, 11)):
    refused(f"mknod {major}:{minor}", lambda: os.mknod("/tmp/node", kind | 0o666, os.makedev(major, minor)), E.EPERM)
found = [os.path.join(d, f) for d, _, files in os.walk("/dev") for f in files
         if stat.S_ISBLK(os.lstat(os.path.join(d, f)).st_mode)]
print(f"no block device in /dev: {'ok' if not found else found}")

# The kernel.
for name, args, errors in [
        ("mount", (b"none", b"/tmp", b"tmpfs", 0, 0), (E.EPERM,)), ("umount2", (b"/tmp", 2), (E.EPERM,)),
        ("pivot_root", (b"/tmp", b"/tmp"), (E.EPERM,)), ("chroot", (b"/tmp",), (E.EPERM,)),
        ("open_tree", (-100, b"/", 1), (E.EPERM,)), ("move_mount", (-1, b"", -100, b"/tmp", 4), (E.EPERM,)),
        ("fsopen", (b"tmpfs", 0), (E.EPERM,)), ("fsmount", (0, 0, 0), (E.EPERM,)),
        ("swapon", (b"/task/x", 0), (E.EPERM,)), ("quotactl", (0x80000701, zero, 0, zero), (E.EPERM,)),
        ("init_module", (zero, 256, b""), (E.EPERM,)), ("finit_module", (0, b"", 0), (E.EPERM,)),
        ("delete_module", (b"ext4", 0), (E.EPERM,)), ("kexec_load", (0, 0, 0, 0), (E.EPERM,)),
        ("reboot", (0xfee1dead, 672274793, 0x1234567, 0), (E.EPERM,)),
        ("iopl", (3,), (E.EPERM,)), ("ioperm", (0x70, 1, 1), (E.EPERM,)),
        ("bpf", (0, zero, 64), (E.EPERM,)), ("perf_event_open", (zero, 0, -1, -1, 0), (E.EPERM,)),
        ("userfaultfd", (0,), (E.EPERM,)), ("io_uring_setup", (8, zero), (E.ENOSYS,)),
        ("add_key", (b"user", b"k", b"v", 1, -3), (E.EPERM,)), ("request_key", (b"user", b"k", 0, 0), (E.EPERM,)),
        ("keyctl", (0, -3, 1), (E.EPERM,)), ("clone3", (zero, 88), (E.ENOSYS,)),
        ("clock_settime", (0, zero), (E.EPERM,)), ("syslog", (3, zero, 256), (E.EPERM,)),
        ("sethostname", (b"x", 1), (E.EPERM,)), ("fanotify_init", (0, 0), (E.EPERM,)),
        ("open_by_handle_at", (0, zero, 0), (E.EPERM,)), ("acct", (b"/task/x",), (E.EPERM,)),
        ("setuid", (0 if os.getuid() else 1000,), (E.EPERM,)), ("setgroups", (1, zero), (E.EPERM,))]:
    refused(name, syscall(name, *args), *errors)
for name, flag in (("user", 0x10000000), ("mnt", 0x20000), ("pid", 0x20000000), ("net", 0x40000000),
                   ("ipc", 0x8000000), ("uts", 0x4000000), ("cgroup", 0x2000000), ("time", 0x80)):
    refused(f"unshare {name}", syscall("unshare", flag), E.EPERM)
refused("setns", lambda: syscall("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0)(), E.EPERM)

# Knobs.
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
             "/proc/sys/kernel/modprobe", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/memory.max",
             "/sys/fs/cgroup/cgroup.procs", "/sys/devices/system/cpu/cpu0/online"):
    refused(path, lambda: open(path, "w"), E.EACCES, E.EPERM, E.EROFS, E.ENOENT)
refused("make a cgroup", lambda: os.mkdir("/sys/fs/cgroup/x"), E.EACCES, E.EPERM, E.EROFS)
refused("write to the root", lambda: open("/usr/x", "w"), E.EROFS, E.EACCES)
for path in ("/sys/bus", "/sys/block", "/sys/class", "/sys/kernel", "/sys/firmware", "/sys/module"):
    refused(path, lambda: os.listdir(path), E.ENOENT)
numbers = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
print(f"sees its own processes only: {'ok' if set(numbers) <= {1, os.getpid()} else numbers}")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
caps = {k: int(status[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
print(f"no capability: {'ok' if not any(caps.values()) else caps}")
print(f"no new privileges: {'ok' if int(status['NoNewPrivs']) == 1 else 'missing'}")
print(f"filtered: {'ok' if int(status['Seccomp']) == 2 else 'missing'}")
refused("kill all others", lambda: os.kill(-1, signal.SIGKILL), E.ESRCH, E.EPERM)
print("end", os.getuid())
sys.exit(42)
END
}

# The probes ran to their end as user $1, and all were refused.
all_refused() {
    expect nonzero 42
    local others
    others=$(grep -v ': ok$' "$T/out/stdout" || true)
    if [[ $others != "end $1" ]]; then
        echo "$others"
        return 1
    fi
    [[ $(tail -n 1 "$T/out/stdout") == "end $1" ]]
    (($(grep -c ': ok$' "$T/out/stdout") > 100))
}

@test "the task's user: devices, agent, kernel and other namespaces are out of reach" {
    probe
    task 'python3 probe.py' '[input]' "probe.py = $T/probe.py"
    run_task -q
    all_refused 1000
    [[ $(result '.controls_active.claimed_by_guest | index("uid")') != null ]]
}

@test "root: the same, but for the number of the user" {
    probe
    task 'python3 probe.py' 'user = root' '[input]' "probe.py = $T/probe.py"
    run_task -q
    all_refused 0
    [[ $(result '.controls_active.claimed_by_guest | index("uid")') == null ]]
    [[ $(result '.controls_active.claimed_by_guest | index("no_capabilities")') != null ]]
}
