# SPDX-License-Identifier: Apache-2.0
"""What of the host's kernel can be invoked. Decided by the host's trace: a call counts when the host's
kernel ran it for the probe and granted it. Numbers of calls are x86_64's."""
from rows.base import Row, granted, held, lost, measured, not_run, nothing_said, shows_token, words

OPENAT, SOCKET, PTRACE, MOUNT = 257, 41, 101, 165
UNSHARE, PERF, FANOTIFY, SETNS, HANDLE, READV = 272, 298, 300, 308, 304, 310
BPF, USERFAULT, IO_URING, OPEN, FSOPEN, OPEN_TREE = 321, 323, 425, 2, 430, 428
MODULE, UNLOAD, KEXEC, ADJTIME = 175, 176, 246, 159
EPERM = 1


def row(name, title, attacker, observed, loses, expect, probe, judge, session="look", **more):
    return Row("reach." + name, "reach", title, attacker, observed, loses, expect, session, judge,
               probe, **more)


def traced(name, title, attacker, probe, judge, expect):
    return row(name, title, attacker, "system calls of the probe in the host's trace",
               "the host's kernel granted it", expect, probe, judge)


def past_rights(result):
    """The check of rights let it pass; the arguments then made it fail."""
    return result != -EPERM


def sweep(context, facts, seen):
    if seen.trace is None:
        return not_run("no trace of the host's kernel here")
    if (silent := nothing_said(facts)):
        return silent
    reached = seen.trace.swept
    return measured(len(reached), "calls", f"{len(reached)} of {facts['made']} numbers reached the "
                    f"host's kernel; {facts['refused']} were refused, {facts['absent']} are absent")


def swept_any(_context, facts, seen):
    if seen.trace is None:
        return not_run("no trace of the host's kernel here")
    if (silent := nothing_said(facts)):
        return silent
    reached = len(seen.trace.swept)
    return (lost if reached else held)(f"{reached} call numbers reached the host's kernel")


def families(_context, facts, seen):
    if seen.trace is None:
        return not_run("no trace of the host's kernel here")
    if (silent := nothing_said(facts)):
        return silent
    made = seen.trace.of_probe(facts["index"])
    count = len({facts_family for facts_family in facts.get("families", [])})
    if made is None:
        return held(f"{count} families, none of them of the host's kernel")
    opened = sum(1 for number, result in made if number == SOCKET and result >= 0)
    return (lost if opened > 3 else held)(f"{opened} families of the host's kernel: "
                                          f"{facts.get('families')}")


def no_new_privileges(_context, facts, seen):
    if (silent := nothing_said(facts)):
        return silent
    made = seen.trace.of_probe(facts["index"]) if seen.trace else None
    if made is None and seen.trace:
        return held("a kernel of its own: its privileges are not the host's")
    if not seen.trace:
        return not_run("no trace of the host's kernel here")
    shown = f"NoNewPrivs {facts.get('NoNewPrivs')}, CapBnd {facts.get('CapBnd')}"
    return (held if facts.get("NoNewPrivs") == "1" else lost)(shown)


ROWS = (
    row("sweep", "System calls that reach the host's kernel",
        "each is code of the host's kernel that it can run", "calls with a mark in the host's trace",
        "any reached it", "LLLLHHH", words("sweep"), swept_any, session="sweep"),
    row("sweep_count", "How many call numbers reach it", "the size of what it can attack",
        "calls with a mark in the host's trace", "no verdict", "MMMMMMM", words("sweep"), sweep,
        session="sweep", control=False),
    traced("io_uring", "io_uring", "a large, young part of the kernel", words("io_uring"),
           granted(IO_URING), "LLHHHHH"),
    traced("userns", "User namespaces", "becomes root of its own, and reaches much more code",
           words("userns"), granted(UNSHARE, MOUNT), "LLHHHHH"),
    traced("mount", "Mounts", "file system code with hostile input", words("mount"),
           granted(UNSHARE, FSOPEN, OPEN_TREE, MOUNT), "LLHHHHH"),
    traced("bpf", "Loading BPF", "the verifier, and code in the kernel", words("bpf"),
           granted(BPF), "LHHHHHH"),
    traced("perf", "perf_event_open", "a large part of the kernel; side channels", words("perf"),
           granted(PERF), "LLHHHHH"),
    traced("userfault", "userfaultfd", "stops the kernel where it likes, for exploits",
           words("userfault"), granted(USERFAULT), "L?HHHHH"),
    row("keyring", "A key of the host's user", "reads credentials",
        "a key with a token in the host's user keyring", "the token was read", "LLHHHHH",
        words("key", "{key_name}"), shows_token("key", "text")),
    traced("trace_others", "Attaching to a host process", "takes over another program",
           words("peek", "{canary_pid}"), granted(PTRACE, READV), "LHHHHHH"),
    traced("socket_families", "Kinds of sockets", "each is a protocol of the host's kernel",
           words("sockets"), families, "L?LLHHH"),
    traced("af_alg", "AF_ALG", "the kernel's crypto, reached from sockets",
           words("socket", "38", "5", "0"), granted(SOCKET), "LL??HHH"),
    traced("packet", "Raw packets", "forges traffic", words("socket", "17", "3", "3"),
           granted(SOCKET), "L?LLHHH"),
    traced("netlink", "Netlink, netfilter", "a large part of the kernel",
           words("socket", "16", "3", "12"), granted(SOCKET), "LLLLHHH"),
    traced("vsock", "AF_VSOCK", "services of the hypervisor", words("socket", "40", "1", "0"),
           granted(SOCKET), "L???HHH"),
    traced("devices", "Devices of the host", "memory, disks, KVM without a boundary",
           words("open", "0", "/dev/kvm", "/dev/mem", "/dev/kmsg", "/dev/port", "/dev/fuse",
                 "/dev/net/tun", "/dev/vhost-vsock", "/dev/loop-control", "/dev/vda", "/dev/sda"),
           granted(OPEN, OPENAT), "LHHHHHH"),
    traced("knobs", "Knobs of the host's kernel, opened for writing",
           "has the host run its program, or reboot",
           words("open", "1", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
                 "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches", "/sys/kernel/uevent_helper"),
           granted(OPEN, OPENAT), "LLHHHHH"),
    row("node", "A host disk by a device node of its own", "reads and writes any disk",
        "a token on a loop device of the host", "the token was read", "LHHHHHH",
        words("node", "/dev", "{disk_major}", "{disk_minor}"), shows_token("disk", "text")),
    traced("machine", "Modules, kexec, time", "owns the machine", words("machine_calls"),
           granted(MODULE, UNLOAD, KEXEC, ADJTIME, allow=past_rights), "LHHHHHH"),
    traced("namespaces", "Namespaces", "leaves its own, or makes new ones", words("namespaces"),
           granted(SETNS, UNSHARE), "LLHHHHH"),
    traced("handles", "Files by handle, fanotify", "opens files past its root; watches others",
           words("handles"), granted(HANDLE, FANOTIFY), "LHHHHHH"),
    row("privileges", "Gains of privilege by set-uid programs", "a way up that is left open",
        "no_new_privs of the probe", "it is not set on the host's kernel", "LHHHHHH",
        words("privileges"), no_new_privileges),
)
