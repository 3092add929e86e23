# SPDX-License-Identifier: Apache-2.0
"""Many at once: what one run of `true` costs, alone and among others, in vmrun and beside it."""
import os
import subprocess
import time

import cold
from peers import busy_s
from run import ratio, say
from sandboxes import PROGRAMS, SANDBOXES, Ground

LAB = "--timeout 3400 --memory 6G --icount --tb-size 128" + cold.CACHE

AT_ONCE = (1, 8, 32)
KEYS = {"cpu_per_task_32_over_1": ("", "vmrun: CPU time of a run among 32 over that alone: at most 1.3")}
for _name in SANDBOXES:
    for _count in AT_ONCE:
        _how = f"{_name}, {_count} at once"
        KEYS |= {f"crowd_{_count}_{_name}_cpu_ms": ("ms", f"{_how}: time the processors were busy, per run"),
                 f"crowd_{_count}_{_name}_wall_ms": ("ms", f"{_how}: from the first exec to the last exit")}

# How many runs are measured one by one; whether the largest crowd is made; of whom.
SIZES = {"full": (8, AT_ONCE, tuple(SANDBOXES)), "tiny": (1, (1, 8), ("vmrun",))}
SETTLE_S = 1.0  # what the kernel does after the end of a run is part of it
EACH_S = 3  # of counted time; a crowd that takes longer for each of its runs is ended


def ends_of(running, deadline):
    """Their exit statuses; all are killed when they are not over by then."""
    try:
        return [process.wait(max(deadline - time.monotonic(), 0)) for process in running]
    except subprocess.TimeoutExpired as error:
        for process in running:
            process.kill()
            process.wait()
        raise RuntimeError(f"{len(running)} runs together were not over in time") from error


def together(sandbox, ground, label, count):
    """(s that the processors were busy, s on the clock) of COUNT runs that are started at once."""
    commands = [sandbox.prepare(ground, f"{label}-{number}", PROGRAMS["true"]) for number in range(count)]
    time.sleep(SETTLE_S)
    busy, began = busy_s(), time.monotonic()
    running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/")
               for command in commands]
    failed = sum(status != 0 for status in ends_of(running, began + count * EACH_S))
    wall = time.monotonic() - began
    time.sleep(SETTLE_S)
    if failed:
        raise RuntimeError(f"{failed} of {count} runs failed")
    for number in range(count):
        sandbox.said(ground, f"{label}-{number}", b"")
    return busy_s() - busy, wall


def measure_one(name, ground, count, times):
    sandbox, busy, wall = SANDBOXES[name], 0, 0
    for turn in range(times):
        more = together(sandbox, ground, f"{name}{count}-{turn}", count)
        busy, wall = busy + more[0], wall + more[1]
    say(f"crowd {name} {count}: {busy * 1000 / times / count:.1f} ms of CPU each")
    return {f"crowd_{count}_{name}_cpu_ms": busy * 1000 / times / count,
            f"crowd_{count}_{name}_wall_ms": wall * 1000 / times}


def measure(size):
    figures = dict.fromkeys(KEYS)
    singles, counts, names = SIZES[size]
    if not os.environ.get("VMRUN_LAB"):
        return figures  # on a machine that does other things too, busy says nothing
    for name in names:
        reason = SANDBOXES[name].why_not()
        for count in counts:
            keys = (f"crowd_{count}_{name}_cpu_ms", f"crowd_{count}_{name}_wall_ms")
            try:
                if reason:
                    raise RuntimeError(reason)
                with Ground() as ground:
                    if count == counts[0]:
                        together(SANDBOXES[name], ground, name + "warm", 1)
                    figures |= measure_one(name, ground, count, singles if count == 1 else 1)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                figures |= dict.fromkeys(keys, f"not_run: {error}")
                say(f"crowd {name} {count}: {error}")
                reason = str(error)
    largest, alone = (figures[f"crowd_{count}_vmrun_cpu_ms"] for count in (32, 1))
    if not isinstance(largest, str) and not isinstance(alone, str):
        figures["cpu_per_task_32_over_1"] = ratio(largest, alone)
    return figures
