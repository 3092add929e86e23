# SPDX-License-Identifier: Apache-2.0
"""What stands between guest and host: every thread of every process in the sandbox's cgroup while the
probe waits, read from the host's /proc. For a container that is the program itself; for a guest, what
emulates its machine."""
from rows.base import Row, held, lost, measured, not_run, words

WAIT = words("stay", "1500")


def row(name, title, attacker, observed, loses, expect, judge, **more):
    return Row("hygiene." + name, "hygiene", title, attacker, observed, loses, expect, "boundary", judge,
               WAIT, **more)


def all_threads(wrong, what):
    """Lost when one thread that could be attacked from within is found wrong."""
    def judge(_context, _facts, seen):
        if not seen.boundary:
            return not_run("no process of the boundary was found")
        bad = sorted({thread["name"] for thread in seen.boundary if wrong(thread)})
        names = sorted({thread["name"] for thread in seen.boundary})
        if bad:
            return lost(f"{what}: {', '.join(bad)}")
        return held(f"not so in any of {len(seen.boundary)} threads of {', '.join(names)}")
    return judge


def counted(key, unit, otherwise=None):
    def judge(_context, _facts, seen):
        value = seen.counts.get(key)
        if value is None:
            return not_run(otherwise or seen.counts.get("why", "it could not be counted here"))
        return measured(value, unit)
    return judge


def descriptors(_context, _facts, seen):
    if not seen.boundary:
        return not_run("no process of the boundary was found")
    leaked = sorted({link for thread in seen.boundary for link in thread["files"]
                     if "isobench-token" in link})
    count = sum(len(thread["files"]) for thread in seen.boundary if thread["main"])
    return (lost if leaked else held)(f"{count} descriptors in all" +
                                      (f", the caller's {leaked[0]} is one" if leaked else ""))


def functions(name, title, attacker):
    def judge(_context, _facts, seen):
        value, dropped = seen.counts.get(name), seen.counts.get("dropped")
        if value is None:
            return not_run(seen.counts.get("why") or "no plain process to compare with")
        return measured(value, "functions", f"at least {value}, as {dropped} entries of the trace were "
                        "lost" if dropped else "")
    return Row("hygiene." + name, "hygiene", title, attacker,
               "the host's function tracer, of all processes of a run from its start to its end",
               "no verdict", "MMMMMMM", "functions", judge, WAIT, control=False)


ROWS = (
    row("root", "Runs as the host's root", "a break-out is root at once", "Uid in /proc/PID/status",
        "one thread has uid 0", "LLLLLLH", all_threads(lambda t: t["uid"] == 0, "uid 0")),
    row("capabilities", "Holds capabilities", "a break-out has powers", "CapEff in /proc/PID/status",
        "one thread has one in the host's user namespace or its own", "LLLLLLH",
        all_threads(lambda t: t["capabilities"] != 0, "capabilities")),
    row("no_new_privs", "Could gain privileges", "set-uid programs help it", "NoNewPrivs",
        "one thread has it unset", "LHHHLLH", all_threads(lambda t: not t["no_new_privs"], "not set")),
    row("seccomp", "Runs without a filter", "the whole kernel is open to a break-out", "Seccomp",
        "one thread has none", "LLHHHLH", all_threads(lambda t: t["seccomp"] != 2, "no filter")),
    row("namespaces", "Shares the host's namespaces", "a break-out sees the host",
        "links in /proc/PID/ns", "one of mnt, pid, net, ipc, uts is the host's", "LHHHHLH",
        all_threads(lambda t: t["shared_namespaces"], "shared")),
    row("descriptors", "Holds files of its caller", "a break-out reads them", "links in /proc/PID/fd",
        "a token's file is open", "LLHHHLH", descriptors),
    row("syscalls", "System calls that it really used", "what a filter could allow at most",
        "counted in the host's kernel, per process", "no verdict", "MMMMMMM",
        counted("syscalls", "calls"), control=False),
    row("exits", "Kinds of exits from a guest", "each is a path into the host that a guest takes at will",
        "reasons of kvm_exit in the host's trace", "no verdict", "MMMMMMM",
        counted("exits", "reasons", "no guest of KVM"), control=False),
    functions("functions", "Host kernel functions that ran, program waiting",
              "code of the host's kernel that a sandbox exercises: more is not always worse"),
    functions("functions_loaded", "Host kernel functions that ran, program working",
              "as above, for system calls, files and sockets of the program"),
    functions("functions_beyond", "Of these, not reached by a plain process", "what the boundary adds"),
)
