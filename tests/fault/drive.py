#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""drive.py: one run of a small task for each call that can fail, with that call failing.

First one run that only counts: how many allocations, opens, forks and writes each process of a run
makes, and calls on its way into its jail. Then run after run with one of them failing, and after
each: did vmrun end in time, not by a signal, with 125 and a line that says why, or with the task's
own result? Is result.json there and as the schema says, and is nothing left? See fault.h,
interpose.c and wrapper.c; needs `make fault` and a host that runs guests.

    drive.py --stand-in                 every call of all but the monitor, without guests
    drive.py --process vmrun-monitor    every call of the monitor
    drive.py --sample 40 --seed 7       40 of them
    drive.py --process vmrun --kind alloc --from 10 --to 20
"""
import argparse
import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

import jsonschema

PROCESSES = ["vmrun", "vmrun-monitor", "vmrun-scribe", "vmrun-extractor"]
KINDS = ["alloc", "open", "fork", "write", "jail"]  # enum fault_kind
STATE = struct.Struct("<II5IIiIQ32s88s")  # struct fault_state
BUILD = pathlib.Path("build").resolve()
VALIDATOR = jsonschema.Draft202012Validator(json.loads(
    pathlib.Path("doc/result.schema.json").read_text()))

# A run that was made to fail may take its grace periods; more is a hang.
SECONDS_MAX = 180

TASK = """[task]
name = fault
command = sh -c "cat in; echo to-stderr >&2; cp in out"
stdin = file:{dir}/in
[env]
NAME = value
[image]
path = {build}/images/base.erofs
[machine]
memory = 128M
workdir = {dir}/disks
workdir_tmpfs = yes
[limits]
boot = 120s
disk = 16M
[input]
in = {dir}/in
[artifacts]
collect = out
required = out
max_total = 1M
[output]
dir = {dir}/out
"""

# What a line of vmrun's may name a failed call by.
NAMED = re.compile("Cannot allocate memory|out of memory|without memory|Too many open files|"
                   "Resource temporarily unavailable|No space left|No buffer space|"
                   "Input/output error|No locks available|Operation not permitted|"
                   "is not in its jail")


class Bench:
    """A folder with the executables, where every case runs."""

    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        for name in ("bin", "real", "disks", "runtime"):
            (self.dir / name).mkdir(mode=0o700)
        for name in ("kernel", "guest", "images"):
            (self.dir / name).symlink_to(BUILD / name)
        shutil.copy(BUILD / "bin" / "vmrun", self.dir / "bin" / "vmrun")
        for name in PROCESSES[1:]:
            shutil.copy(BUILD / "fault" / "wrapper", self.dir / "bin" / name)
            real = BUILD / "bin" / name
            if name == "vmrun-monitor" and ARGUMENTS.stand_in:
                real = BUILD / "fault" / "stand-in"
            shutil.copy(real, self.dir / "real" / name)
        self.library = self.dir / "interpose.so"
        shutil.copy(BUILD / "fault" / "interpose.so", self.library)
        (self.dir / "in").write_text("hello\n")
        (self.dir / "task.ini").write_text(TASK.format(dir=self.dir, build=BUILD))

    def arm(self, process, kind, at):
        """The state and the environment with which PROCESS fails its AT-th call of KIND."""
        state = self.dir / f"state.{process}"
        state.write_bytes(STATE.pack(kind, at, *[0] * len(KINDS), 0, 0, 0, 0, b"", b""))
        return {"LD_PRELOAD": str(self.library), "FAULT_STATE": str(state)}

    def state(self, process):
        """counts, fired, errno, text of the failed call"""
        _, _, *counts, fired, errnum, _, offset, call, caller = STATE.unpack(
            (self.dir / f"state.{process}").read_bytes())
        call, caller = (text.rstrip(b"\0").decode() for text in (call, caller))
        return counts, bool(fired), errnum, f"{call}() from {caller}+{offset:#x}"

    def run(self, armed):
        """vmrun with the faults in ARMED: {process: (kind, at)}; (exit code or None, seconds)."""
        shutil.rmtree(self.dir / "out", ignore_errors=True)
        environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(self.dir / "runtime")}
        for process in PROCESSES:
            variables = self.arm(process, *armed[process]) if process in armed else {}
            if process == "vmrun":
                environment.update(variables)
                continue
            file = self.dir / "bin" / f"{process}.env"
            file.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
        begin = time.monotonic()
        with open(self.dir / "stdout", "wb") as out, open(self.dir / "stderr", "wb") as err:
            # `env`, so that the interposer is in vmrun alone.
            settings = [f"{name}={value}" for name, value in environment.items()]
            process = subprocess.Popen(
                ["env", "-i", *settings, self.dir / "bin" / "vmrun", "--config",
                 self.dir / "task.ini", *ARGUMENTS.options],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            try:
                code = process.wait(SECONDS_MAX)
            except subprocess.TimeoutExpired:
                code = None
                process.send_signal(signal.SIGKILL)
                process.wait()
        return code, time.monotonic() - begin

    def text(self, name):
        return (self.dir / name).read_text(errors="replace")

    def left_over(self):
        """What a run may not leave behind, as texts; and removes it."""
        left = []
        for _ in range(20):  # the kernel takes a moment to bury a process
            alive = [name for name in map(program_of, os.listdir("/proc"))
                     if name.startswith(f"{self.dir}/")]
            if not alive:
                break
            time.sleep(0.1)
        left += [f"process {name}" for name in alive]
        for name in ("disks", "runtime/vmrun"):
            folder = self.dir / name
            for entry in folder.iterdir() if folder.exists() else []:
                left.append(f"{name}/{entry.name}")
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        out = self.dir / "out"
        if out.exists():
            left += [f"out/{entry.name}" for entry in out.iterdir()
                     if entry.name.endswith(".partial")]
        return left


def program_of(pid):
    try:
        return os.readlink(f"/proc/{int(pid)}/exe")
    except (ValueError, OSError):
        return ""


def said_by_vmrun(bench):
    return [line for line in bench.text("stderr").splitlines() if line.startswith("vmrun: ")]


def artifact(out):
    """The artifact, from the directory or from the bundle that was asked for instead."""
    if not (out / "artifacts.tar.gz").exists():
        return (out / "artifacts" / "out").read_bytes()
    with tarfile.open(out / "artifacts.tar.gz") as bundle:
        return bundle.extractfile("out").read()


def result_problems(bench, code):
    out = bench.dir / "out"
    if {"--check", "--plan"} & set(ARGUMENTS.options):
        return ["it made an output directory"] if out.exists() else []
    if not out.exists():
        return [] if code == 125 else ["there is no output directory"]
    lines = "\n".join(said_by_vmrun(bench))
    if not (out / "result.json").exists():
        if code == 125 and re.search("cannot (write|publish) result.json", lines):
            return []
        return ["there is no result.json"]
    try:
        result = json.loads((out / "result.json").read_text())
    except ValueError as error:
        return [f"result.json: {error}"]
    problems = [f"result.json: {error.json_path}: {error.message}"
                for error in VALIDATOR.iter_errors(result)]
    if code == 125 and re.search("cannot publish result.json", lines):
        return problems  # it is there, but perhaps not for long
    # What is shown live is not the result: vmrun(1), EXIT STATUS.
    unshown = code == 125 and re.search("std(out|err) could not be written", lines)
    if result.get("status") != {0: "ok", 125: "ok" if unshown else "infra"}.get(code):
        problems.append(f"status {result.get('status')}: {result.get('reason')}")
    if code == 0 and artifact(out) != b"hello\n":
        problems.append("the artifact is wrong")
    return problems


def problems_of(bench, code, fired):
    """What is wrong with the run that just ended."""
    if code is None:
        return [f"vmrun did not end within {SECONDS_MAX} s"]
    problems = []
    if code < 0 or code > 128:
        problems.append(f"vmrun was ended by a signal ({code})")
    elif code not in (0, 125):
        problems.append(f"exit code {code}")
    elif code == 0 and (bench.dir / "out").exists():
        # What is shown live may lack what could not be kept for a slow reader; the files may not.
        logs = [(bench.dir / "out" / name) for name in ("stdout", "stderr")]
        texts = [log.read_text() if log.exists() else None for log in logs]
        if texts != ["hello\n", "to-stderr\n"]:
            problems.append(f"the logs are {texts}")
    elif code == 125 and not fired:
        problems.append("it failed though no call did")
    elif code == 125 and not any(NAMED.search(line) for line in said_by_vmrun(bench)):
        problems.append("no line says what failed")
    problems += result_problems(bench, code)
    problems += [f"left behind: {what}" for what in bench.left_over()]
    return problems


def count(bench):
    """{process: counts} of a run without a fault."""
    code, seconds = bench.run({process: (0, 0) for process in PROCESSES})
    problems = problems_of(bench, code, False)
    if code != 0 or problems:
        sys.exit(f"the run without faults: exit {code}, {problems}\n{bench.text('stderr')}")
    counts = {process: bench.state(process)[0] for process in PROCESSES}
    print(f"a run without faults takes {seconds:.1f} s and makes")
    for process in PROCESSES:
        print(f"  {process:16}" + ", ".join(
            f"{number} {kind}s" for kind, number in zip(KINDS, counts[process])), flush=True)
    return counts


def try_one(bench, process, kind, at, totals):
    code, seconds = bench.run({process: (kind, at)})
    _, fired, errnum, call = bench.state(process)
    problems = problems_of(bench, code, fired)
    result = bench.dir / "out" / "result.json"
    if ARGUMENTS.keep and result.exists():
        ARGUMENTS.keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(result, ARGUMENTS.keep / f"fault-{process}-{KINDS[kind]}-{at}.json")
    outcome = "wrong" if problems else "not reached" if not fired else \
        "survived" if code == 0 else "clean"
    totals.setdefault((process, kind), {}).setdefault(outcome, 0)
    totals[process, kind][outcome] += 1
    if problems or ARGUMENTS.verbose:
        said = said_by_vmrun(bench)
        print(f"{process} {KINDS[kind]} {at}: {call}: {os.strerror(errnum)}: "
              f"exit {code} after {seconds:.1f} s: {outcome}")
        for line in problems + (said if problems else said[:1]):
            print(f"    {line}")
        if problems:
            print("".join(f"    | {line}\n" for line in bench.text("stderr").splitlines()
                          if line not in said), end="", flush=True)
    return not problems


def chosen_cases(counts):
    cases = [(process, kind, at) for process in PROCESSES for kind in range(len(KINDS))
             for at in range(1, counts[process][kind] + 1)
             if process in ARGUMENTS.process and KINDS[kind] in ARGUMENTS.kind
             and ARGUMENTS.first <= at <= ARGUMENTS.last]
    if not ARGUMENTS.sample:
        return cases
    # The same number of each process and kind, so that the many do not hide the few.
    source = random.Random(ARGUMENTS.seed)
    source.shuffle(cases)
    rank, seen = {}, {}
    for case in cases:
        seen[case[:2]] = rank[case] = seen.get(case[:2], 0) + 1
    return sorted(cases, key=lambda case: rank[case])[:ARGUMENTS.sample]


def main():
    # Whatever a broken run leaves becomes a child of ours rather than of PID 1: seen, and ended.
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    sys.stdout.reconfigure(line_buffering=True)
    totals, bad, done = {}, 0, 0
    with tempfile.TemporaryDirectory(dir=ARGUMENTS.folder) as folder:
        bench = Bench(folder)
        cases = chosen_cases(count(bench))
        if ARGUMENTS.sample:
            print(f"seed {ARGUMENTS.seed}, {len(cases)} cases")
        for case in cases:
            bad += not try_one(bench, *case, totals)
            done += 1
            if bad >= ARGUMENTS.stop_after:
                print(f"stopped after {bad} wrong ones")
                break
    for (process, kind), outcomes in sorted(totals.items()):
        print(f"{process} {KINDS[kind]}: {sum(outcomes.values())} tried: " + ", ".join(
            f"{number} {outcome}" for outcome, number in sorted(outcomes.items())))
    print(f"{done} cases, {bad} wrong")
    sys.exit(1 if bad or not done else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stand-in", action="store_true",
                        help="no guest: a program that says what a monitor says")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--process", nargs="+", choices=PROCESSES, default=PROCESSES)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--to", dest="last", type=int, default=1 << 30)
    parser.add_argument("--options", type=str.split, default=[], help="more options of vmrun")
    parser.add_argument("--folder", default=None, help="where the executables are copied to")
    parser.add_argument("--keep", type=pathlib.Path, help="where results are copied to")
    parser.add_argument("--stop-after", type=int, default=1 << 30)
    parser.add_argument("--verbose", action="store_true")
    ARGUMENTS = parser.parse_args()
    if ARGUMENTS.stand_in:
        ARGUMENTS.process = [name for name in ARGUMENTS.process if name != "vmrun-monitor"]
    main()
