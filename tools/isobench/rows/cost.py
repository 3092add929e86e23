# SPDX-License-Identifier: Apache-2.0
"""What it costs: beside the strength, in the same run, on the same machine."""
from rows.base import Row, measured, not_run, nothing_said, words

MIB = 1 << 20


def row(name, title, observed, session, judge, probe):
    return Row("cost." + name, "cost", title, "cost, not strength", observed, "no verdict", "MMMMMMM",
               session, judge, probe, control=False)


def wall(_context, facts, seen):
    return nothing_said(facts) or measured(seen.wall_s * 1000, "ms")


def memory(_context, facts, seen):
    value = seen.peak.get("memory_idle_bytes")
    if value is None:
        return not_run("no memory.current to read on this host")
    return nothing_said(facts) or measured(value / MIB, "MiB")


def density(context, facts, seen):
    value = seen.peak.get("memory_idle_bytes")
    if not value:
        return not_run("no memory.current to read on this host")
    return nothing_said(facts) or measured(1024 * MIB // value, "per GiB")


def took(count):
    def judge(_context, facts, _seen):
        if (silent := nothing_said(facts)):
            return silent
        if "ns" not in facts:
            return not_run("the work was not done")
        return measured(facts["ns"] / count, "ns")
    return judge


def fresh_random(_context, facts, seen):
    if (silent := nothing_said(facts)):
        return silent
    return measured(facts["ns"] / 1e6, "ms")


ROWS = (
    row("start", "Start and end of a program that does nothing", "clock of the host", "start", wall,
        words("nothing")),
    row("memory", "Memory of an idle sandbox", "memory.current of the outer cgroup", "boundary", memory,
        words("stay", "1500")),
    row("density", "Idle sandboxes for each GiB, by memory", "memory.current of the outer cgroup",
        "boundary", density, words("stay", "1500")),
    row("calls", "One system call", "clock of the sandbox", "work", took(20000),
        words("calls", "20000")),
    row("files", "One file made, written, read, removed", "clock of the sandbox", "work", took(100),
        words("files_io", "{work}", "100")),
    row("compute", "One round of arithmetic", "clock of the sandbox", "work", took(5000000),
        words("compute", "5000000")),
    row("random", "First random numbers", "clock of the sandbox", "work", fresh_random,
        words("random")),
)
