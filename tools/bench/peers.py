# SPDX-License-Identifier: Apache-2.0
"""From exec to exit in vmrun, QEMU and what else confines a program, and the memory of one that waits."""
import glob
import os
import subprocess
import time

import cold
from run import median, say
from sandboxes import PROGRAMS, SANDBOXES, Ground, Program

LAB = "--timeout 3400 --memory 4G --tb-size 512" + cold.CACHE

WHAT = {"true": "true", "hello": "python3 -c \"print('hello')\"", "chart": "the csv-chart example"}
KEYS = {}
for _name in SANDBOXES:
    KEYS |= {f"peer_{_program}_{_name}_ms": ("ms", f"{_name}: {_what}, from exec to exit, wall")
             for _program, _what in WHAT.items()}
    KEYS[f"peer_idle_{_name}_kib"] = ("KiB", f"{_name}: memory (PSS of its processes) while `sleep` runs")

# Rounds of each program.
SIZES = {"full": {"true": 7, "hello": 5, "chart": 1}, "tiny": {"true": 1, "hello": 0, "chart": 0}}
IDLE_OF = {"full": tuple(SANDBOXES), "tiny": ("vmrun",)}
CALM_S = 1.0
CALM_BUSY = 0.1
IDLE = Program(["sleep", "1000"])


def run_once(sandbox, ground, name, program):
    """ms from exec to exit."""
    command = sandbox.prepare(ground, name, program)
    began = time.monotonic()
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd="/")
    wall_ms = (time.monotonic() - began) * 1000
    said = sandbox.said(ground, name, done.stdout).decode("utf-8", "replace")
    if done.returncode != 0 or (program.says and not said.endswith(program.says)):
        words = (done.stderr.decode("utf-8", "replace") or said).strip().splitlines()
        raise RuntimeError(f"{words[-1] if words else 'said nothing'} (status {done.returncode})")
    return wall_ms


def pids():
    return {int(os.path.basename(path)) for path in glob.glob("/proc/[0-9]*")}


def pss_kib(processes):
    total = 0
    for pid in processes:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            continue  # a thread of the kernel, or gone
    return total


def busy_s():
    """Time that the processors of this machine were not idle for, since its start."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def await_calm(limit_s=60):
    """Until what was started has done its starting."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        before = busy_s()
        time.sleep(CALM_S)
        if busy_s() - before < CALM_BUSY * CALM_S:
            return


def idle_kib(sandbox, ground, name):
    command = sandbox.prepare(ground, name, IDLE)
    before = pids()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, cwd="/") as process:
        try:
            await_calm()
            if process.poll() is not None:
                raise RuntimeError("it ended")
            return pss_kib(pids() - before)
        finally:
            process.terminate()
            sandbox.clean(ground, name)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def one(figures, name, key, measure):
    """One figure more for the key, or why there is none: then nothing more is tried for it."""
    if isinstance(figures.get(key), str):
        return
    if (reason := SANDBOXES[name].why_not()):
        figures[key] = "not_run: " + reason
        return
    try:
        figures.setdefault(key, []).append(measure())
        say(f"{key} {figures[key][-1]}")
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        figures[key] = f"not_run: {error}"
        say(f"{key} {figures[key]}")


def settled(figures):
    """Medians; what was not run stays as it is."""
    return {key: median(value) if isinstance(value, list) else value
            for key in KEYS for value in [figures.get(key)]}


def measure(size):
    figures, serial = {}, 0
    with Ground() as ground:
        for program, rounds in SIZES[size].items():
            for turn in range(rounds + (rounds > 1)):
                found = figures if turn or rounds == 1 else {}  # the first of several warms up
                for name, sandbox in SANDBOXES.items():
                    serial += 1
                    one(found, name, f"peer_{program}_{name}_ms",
                        lambda: run_once(sandbox, ground, f"{name}{serial}", PROGRAMS[program]))
                    time.sleep(0.2)
        for name in IDLE_OF[size]:
            sandbox = SANDBOXES[name]
            one(figures, name, f"peer_idle_{name}_kib", lambda: idle_kib(sandbox, ground, name + "idle"))
    return settled(figures)
