# SPDX-License-Identifier: Apache-2.0
"""What happens when one takes more than it was given. All of it is capped once more by an outer cgroup,
whose counters are the host's measure."""
from limits import ATTEMPT, LIMITS, MIB, OVERHEAD_BYTES
from rows.base import Row, held, lost, measured, not_run, nothing_said, words


def row(name, title, attacker, observed, loses, expect, probe, judge, **more):
    return Row("containment." + name, "containment", title, attacker, observed, loses, expect,
               "press:" + name, judge, probe, **more)


def bounded(counter, bound, unit, scale=1):
    """Lost when the host's own counter of this run went past the bound."""
    def judge(_context, facts, seen):
        value = seen.peak.get(counter)
        if value is None:
            return not_run(f"no {counter} to read on this host")
        # A limit may kill all that there is to answer; but then much was taken.
        if facts is None and value < bound / 4:
            return not_run("the probe gave no answer, and took nothing")
        shown = f"{value / scale:.0f} {unit}, at most {bound / scale:.0f} were given"
        return (lost if value > bound else held)(shown, value=value / scale, unit=unit)
    return judge


def processor(_context, facts, seen):
    if (silent := nothing_said(facts)):
        return silent
    used = seen.peak.get("cpu_share")
    if used is None:
        return not_run("no cpu.stat to read on this host")
    shown = f"{used:.2f} processors' time, at most {LIMITS['cpus']:.2f} were given"
    return (lost if used > LIMITS["cpus"] * 1.25 else held)(shown, value=used, unit="cpus")


def victim(name):
    def judge(_context, facts, seen):
        if (silent := nothing_said(facts)):
            return silent
        if seen.victim is None:
            return not_run("the neighbour could not be measured")
        ratio = seen.victim["beside"] / seen.victim["alone"]
        return measured(ratio, "times", f"99th percentile of a neighbour's {name}: "
                        f"{seen.victim['alone']:.2f} ms alone, {seen.victim['beside']:.2f} ms beside")
    return judge


def flood(_context, _facts, seen):
    shown = f"{seen.err_bytes >> 10} KiB of {ATTEMPT['output'] >> 10} came to the caller"
    if seen.err_bytes == 0:
        return not_run("nothing of the output came, so nothing was tried")
    return (lost if seen.err_bytes > LIMITS["output"] * 3 // 2 else held)(
        shown, value=seen.err_bytes / MIB, unit="MiB")


def left_over(_context, facts, seen):
    if (silent := nothing_said(facts)):
        return silent
    return (lost if seen.left else held)(
        f"{len(seen.left)} processes one second after the end: {', '.join(seen.left[:4])}")


def left_after_kill(_context, _facts, seen):
    if not seen.killed:
        return not_run("it was not there when it was to be killed")
    return (lost if seen.left else held)(
        f"{len(seen.left)} processes one second after kill -9: {', '.join(seen.left[:4])}")


ROWS = (
    row("disk", "Fill the disk", "the host and its neighbours cannot write",
        "free space of the host's file systems", "more than it was given", "LLLL??H",
        words("fill", "{work}", str(ATTEMPT["disk"])),
        bounded("disk_bytes", LIMITS["disk"] + OVERHEAD_BYTES, "MiB", MIB)),
    row("inodes", "Use up inodes", "nobody can make a file", "free inodes of the host's file systems",
        "more than it was given", "LLLL??H", words("inodes", "{work}", str(ATTEMPT["inodes"])),
        bounded("inodes", LIMITS["inodes"] + 200, "inodes")),
    row("processes", "Start processes", "nobody can start one", "pids.peak of the outer cgroup",
        "more than it was given", "LLHH?HH", words("forks", str(ATTEMPT["processes"])),
        bounded("pids", LIMITS["processes"] + 40, "tasks")),
    row("memory", "Take memory", "the host swaps, or kills others", "memory.peak of the outer cgroup",
        "more than it was given", "LLHHH?H", words("memory", str(ATTEMPT["memory"])),
        bounded("memory_bytes", LIMITS["memory"] + OVERHEAD_BYTES, "MiB", MIB)),
    row("processor", "Take the processor", "neighbours wait", "cpu.stat of the outer cgroup",
        "a quarter more than it was given", "?????LL", words("spin", "1500", "4"), processor,
        control=False),
    row("neighbour_timer", "A neighbour's timer beside it", "neighbours are slow",
        "99th percentile of the wake-up of a timer of 2 ms in a process of the host, over that alone",
        "no verdict", "MMMMMMM", words("spin", "1500", "4"), victim("timer"), control=False),
    row("neighbour_sync", "A neighbour's fsync beside it", "neighbours are slow",
        "99th percentile of fsync in a process of the host, over that alone", "no verdict", "MMMMMMM",
        words("syncs", "{work}", "1500"), victim("fsync"), control=False),
    row("output", "Flood the output", "fills the disk or the memory of who reads it",
        "bytes that reached the caller",
        "more than one and a half of the cap: a last part may be shown again", "LLLLLLH",
        words("flood", str(ATTEMPT["output"])), flood),
    row("files", "Open files", "nobody can open one", "file-nr of the host",
        "more than it was given", "LL??HHH", words("files", str(ATTEMPT["files"])),
        bounded("files", LIMITS["files"] + 500, "files")),
    row("kernel_memory", "Have the kernel keep things", "memory of the host's kernel",
        "slab of the outer cgroup", "more than 4 MiB", "LLLL?HH",
        words("files", str(ATTEMPT["files"])), bounded("slab_bytes", 4 * MIB, "MiB", MIB)),
    row("survivors", "Leave a process behind", "stays after its end", "processes of the outer cgroup",
        "one is there a second after the end", "LHHHHHH", words("daemon"), left_over),
    row("killed_supervisor", "Outlive who started it", "runs on with nobody watching",
        "processes of the outer cgroup, after kill -9 of what was started",
        "one is there a second later", "?HLLLHH", words("stay", "20000"), left_after_kill,
        control=False),
)
