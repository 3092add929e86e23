# SPDX-License-Identifier: Apache-2.0
"""Starts sandboxes, watches them from the host, and has the rows judge what was seen."""
import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import hosttrace
import outer as outer_cgroup
from backends import Box
from limits import LIMITS
from rows.base import not_run
from rows.channels import BITS, SLOT_MS, TARGETS

LONGEST_S = 150
KEPT_BYTES = 4 << 20
LOAD = [["calls", "2000"], ["files_io", "{work}", "50"], ["sockets"]]
STARTS = 3  # in each repeat; their median is the repeat's


@dataclasses.dataclass
class Seen:
    """What the host saw of one run."""
    status: int | None = None
    wall_s: float = 0.0
    facts: dict = dataclasses.field(default_factory=dict)   # by the words of the probe
    heard: dict = dataclasses.field(default_factory=dict)
    trace: hosttrace.Calls | None = None
    peak: dict = dataclasses.field(default_factory=dict)
    boundary: list = dataclasses.field(default_factory=list)
    counts: dict = dataclasses.field(default_factory=dict)
    left: list = dataclasses.field(default_factory=list)
    killed: bool = False
    err_bytes: int = 0
    complaint: str = ""
    victim: dict | None = None
    said: dict = dataclasses.field(default_factory=dict)
    bits: dict = dataclasses.field(default_factory=dict)
    inapplicable: str = ""
    uptimes: tuple = ()                                     # /proc/uptime before and after


class Context:
    """What all runs share."""

    def __init__(self, stage, canaries, host, scratch):
        self.stage, self.canaries, self.host, self.scratch = stage, canaries, host, scratch
        self.tokens, self.names = canaries.tokens, dict(canaries.names)
        self.no_cgroup, self.no_trace = outer_cgroup.why_not(), hosttrace.why_not()
        self.random = set()    # what sandboxes have said their random numbers are
        self.answered = set()  # backends that have run the probe here at least once
        self.plain_functions = set()  # of the host's kernel, that a working plain process reached
        self._step, self._function_tracer = None, None

    @contextlib.contextmanager
    def step(self):
        """Around one session of all backends."""
        with contextlib.ExitStack() as self._step:
            yield
        self._function_tracer = None

    def function_tracer(self):
        """One for all backends: it takes seconds to switch."""
        if not self._function_tracer:
            self._function_tracer = self._step.enter_context(hosttrace.Functions(self.stage.tools))
        return self._function_tracer


def parse(said):
    """The lines of the probe, by index; lines that are not JSON are nobody's facts."""
    found = {}
    for line in said.splitlines():
        try:
            facts = json.loads(line)
        except ValueError:
            continue
        if isinstance(facts, dict) and isinstance(facts.get("index"), int):
            found[facts["index"]] = facts
    return found


class Drain(threading.Thread):
    """Reads a pipe to its end; keeps the beginning, counts all."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.kept, self.total = pipe, b"", 0
        self.start()

    def run(self):
        while (data := self.pipe.read1(1 << 16)):
            self.total += len(data)
            if len(self.kept) < KEPT_BYTES:
                self.kept += data
        self.pipe.close()


class Run:
    """One start of one backend. Use as a context: everything is gone behind it."""

    def __init__(self, context, backend, user, probes, **how):
        self.context, self.backend, self.user, self.probes, self.how = (
            context, backend, user, probes, how)
        self.seen, self.word = Seen(), "w" + secrets.token_hex(10)
        self.outer = self.box = None

    def __enter__(self):
        folder = tempfile.mkdtemp(prefix=f"{secrets.token_hex(4)}-", dir=self.context.scratch)
        os.chmod(folder, 0o755)
        os.makedirs(folder + "/work")
        os.chmod(folder + "/work", 0o777)
        self.folder = folder
        self.names = {**self.context.names, **self.backend.names(self.context.stage),
                      "word": self.word}
        self.names["work"] = self.names["work"] or folder + "/work"
        self.outer = None if self.context.no_cgroup else outer_cgroup.Outer().__enter__()
        return self

    def __exit__(self, *_):
        if self.box:
            self.backend.clean(self.box)
        if self.outer:
            self.outer.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)

    def words(self):
        all_words = []
        for probe in self.probes:
            all_words += [*(["+"] if all_words else []),
                          *(word.format(**self.names) for word in probe)]
        return all_words

    def go(self):
        """Start, wait, look. Returns what was seen."""
        self.box = Box(name="isobench-" + secrets.token_hex(4), folder=self.folder, probe=self.words(),
                       user=self.user, stage=self.context.stage,
                       cgroup=self.outer.name if self.outer else "isobench",
                       tampered=self.how.get("tampered", False))
        self.backend.prepare(self.box)
        watch = outer_cgroup.Watch(self.outer, self.context.scratch,
                                   self.backend.boundary if self.how.get("boundary") else ())
        before = outer_cgroup.read("/proc/uptime")
        with watch:
            said, errors = self._start_and_wait(watch)
        self.seen.uptimes = (before, outer_cgroup.read("/proc/uptime"))
        self._collect(said, errors, watch)
        return self.seen

    def _environment(self):
        keep = ("PATH", "HOME", "LANG", "XDG_CACHE_HOME", "VMRUN_LAB")
        return {**{name: os.environ[name] for name in keep if name in os.environ},
                self.context.names["variable"]: self.context.tokens["variable"]}

    def _start_and_wait(self, watch):
        tracer = self.how.get("tracer")

        def in_child():
            if self.outer:
                self.outer.enter()
            if tracer:
                tracer.start()
        began = time.monotonic()
        process = subprocess.Popen(
            [*self.how.get("around", ()), *self.backend.command(self.box)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self._environment(), pass_fds=[self.context.canaries.descriptor], cwd="/",
            preexec_fn=in_child, start_new_session=True)
        said, errors = Drain(process.stdout), Drain(process.stderr)
        if self.how.get("kill"):
            self._kill_when_running(process)
        try:
            self.seen.status = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            outer_cgroup.kill(self.outer.processes() if self.outer else [process.pid])
            process.kill()
            process.wait()
            self.seen.status = None
        self.seen.wall_s = time.monotonic() - began
        if self.how.get("left"):
            time.sleep(1)
            self.seen.left = sorted(outer_cgroup.read(f"/proc/{pid}/comm").strip() or str(pid)
                                    for pid in (self.outer.processes() if self.outer else ()))
            watch.pids.clear()
        outer_cgroup.kill(self.outer.processes() if self.outer else ())
        for drain in (said, errors):
            drain.join(10)
        return said, errors

    def _kill_when_running(self, process):
        """kill -9 of what was started, and of nothing else, once the probe is there."""
        until, there = time.monotonic() + 30, False
        while not there and time.monotonic() < until and process.poll() is None:
            names = {outer_cgroup.read(f"/proc/{pid}/comm").strip()
                     for pid in (self.outer.processes() if self.outer else [process.pid])}
            there = any(name.startswith(self.backend.boundary) for name in names)
            time.sleep(0.1)
        time.sleep(1)  # a guest needs a moment until its program runs
        if process.poll() is None:
            process.kill()
            self.seen.killed = there

    def _collect(self, said, errors, watch):
        text, self.seen.err_bytes = self.backend.output(self.box, said.kept, errors.total)
        by_index = parse(text.decode("utf-8", "replace"))
        self.seen.facts = {tuple(probe): by_index.get(i) for i, probe in enumerate(self.probes)}
        complaint = errors.kept.decode("utf-8", "replace").strip().splitlines()
        self.seen.complaint = complaint[-1] if complaint else ""
        self.seen.peak, self.seen.boundary = watch.peak, watch.boundary
        self.seen.heard = self.context.canaries.heard_word(self.word)
        if by_index:
            self.context.answered.add(self.backend.name)
        else:
            print(f"isobench: {self.backend.name}: no answer, status {self.seen.status}: "
                  f"{errors.kept[-600:].decode('utf-8', 'replace')}", file=sys.stderr)


def run(context, backend, user, probes, **how):
    with Run(context, backend, user, probes, **how) as one:
        return one.go()


def traced(context, backend, user, probes, whole):
    if context.no_trace:
        return run(context, backend, user, probes)
    with hosttrace.Tracer(whole=whole) as tracer:
        seen = run(context, backend, user, probes, tracer=tracer)
        seen.trace = tracer.calls()
    return seen


def channels(context, backend, user, kinds):
    """Two sandboxes at once; one after the other, all kinds."""
    one = run(context, backend, user, [["nothing"]])
    context.stage.forget()
    # Two start at once, and must be listening in time, with enough of it left for all kinds.
    start = int((time.time() + min(2 + 3 * one.wall_s, LIMITS["seconds"] / 2)) * 1000)
    speak, listen, bits = [], [], {}
    for kind in kinds:
        half = BITS // 2
        shuffled = ["1"] * half + ["0"] * (BITS - half)
        secrets.SystemRandom().shuffle(shuffled)
        bits[kind] = "".join(shuffled)
        common = [kind, TARGETS[kind], str(start), str(SLOT_MS[kind])]
        speak.append(["say", *common, bits[kind]])
        listen.append(["hear", *common, str(BITS)])
        start += BITS * SLOT_MS[kind] + 200
    with Run(context, backend, user, speak) as speaker, Run(context, backend, user, listen) as listener:
        thread = threading.Thread(target=speaker.go)
        thread.start()
        seen = listener.go()
        thread.join()
    seen.bits = bits
    seen.said = dict(zip(kinds, speaker.seen.facts.values()))
    seen.facts = dict(zip(kinds, seen.facts.values()))
    return seen


def boundary(context, backend, user, probes):
    if context.no_trace:
        seen = run(context, backend, user, probes, boundary=True)
        seen.counts["why"] = context.no_trace
        return seen
    with hosttrace.Tracer(counting=True) as tracer:
        seen = run(context, backend, user, probes, boundary=True)
        used, exits = tracer.numbers_by_process(), tracer.exits_by_process()
    threads = {thread["thread"] for thread in seen.boundary}
    reasons = set().union(*(exits.get(thread, set()) for thread in threads))
    seen.counts["exits"] = len(reasons) or None
    if seen.boundary:
        seen.counts["syscalls"] = len(set().union(*(used.get(thread, set()) for thread in threads)))
    return seen


def functions(context, backend, user, probes):
    """The functions of the host's kernel that a run with a waiting program reached, and a working one."""
    counts = {"why": context.no_trace or hosttrace.Functions.why_not()}
    if counts["why"]:
        return Seen(counts=counts)
    tracer = context.function_tracer()
    for name, words in (("functions", probes), ("functions_loaded", LOAD)):
        tracer.listen()
        seen = run(context, backend, user, words, tracer=tracer)
        reached, dropped = tracer.reached()
        if not any(seen.facts.values()):
            counts["why"] = "the probe gave no answer"
            continue
        counts[name], counts["dropped"] = len(reached), counts.get("dropped", 0) + dropped
    # REACHED is of the working program from here on.
    if "functions_loaded" in counts and backend.name == "none":
        context.plain_functions = reached
    if "functions_loaded" in counts and context.plain_functions:
        counts["functions_beyond"] = len(reached - context.plain_functions)
    return Seen(counts=counts)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def timer_ms(over, _folder):
    """How late a neighbour wakes up, in ms."""
    late = []
    while not late or not over():
        before = time.monotonic()
        time.sleep(0.002)
        late.append((time.monotonic() - before) * 1000)
    return percentile(late, 0.99)


def sync_ms(over, folder):
    took = []
    with open(folder + "/neighbour", "wb", buffering=0) as file:
        while not took or not over():
            before = time.monotonic()
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            took.append((time.monotonic() - before) * 1000)
    return percentile(took, 0.99)


def beside_victim(context, backend, user, probes, measure):
    """A neighbour is measured alone for a moment, and from the start of the sandbox to its end."""
    until, result, ended = time.monotonic() + 1, {}, threading.Event()
    alone = measure(lambda: time.monotonic() > until, context.scratch)

    def neighbour():
        result["beside"] = measure(ended.is_set, context.scratch)
    thread = threading.Thread(target=neighbour)
    thread.start()
    try:
        seen = run(context, backend, user, probes)
    finally:
        ended.set()
        thread.join()
    seen.victim = {"alone": alone, **result} if alone > 0 else None
    return seen


def without(context, backend, user, probes, control):
    """One start with one control taken away."""
    around = {"kvm": "mount --bind /dev/null /dev/kvm", "cgroup": "mount -o remount,bind,ro /sys/fs/cgroup",
              "proc": "mount -t tmpfs none /proc"}
    if control not in backend.controls:
        return Seen(inapplicable="it has no such control")
    if backend.name not in context.answered:
        run(context, backend, user, probes)
    if backend.name not in context.answered:
        return Seen(inapplicable="it does not run here with all of its controls either")
    if control == "image":
        if not backend.has_image:
            return _changed_files(context, backend, user, probes)
        return run(context, backend, user, probes, tampered=True)
    if control == "namespaces":
        return _without_namespaces(context, backend, user, probes)
    script = around[control] + ' && exec "$@"'
    return run(context, backend, user, probes, around=["unshare", "-m", "sh", "-c", script, "sh"])


def _changed_files(context, backend, user, probes):
    extra = context.stage.rootfs + "/shared/changed"
    with open(extra, "w", encoding="ascii") as file:
        file.write("by somebody else\n")
    try:
        return run(context, backend, user, probes)
    finally:
        os.unlink(extra)


def _without_namespaces(context, backend, user, probes):
    if not context.canaries.in_lab:
        return Seen(inapplicable="only in the lab: it is a setting of the whole host")
    paths = [f"/proc/sys/user/max_{kind}_namespaces" for kind in ("user", "net")]
    before = [outer_cgroup.read(path) for path in paths]
    try:
        for path in paths:
            outer_cgroup.write(path, "0")
        return run(context, backend, user, probes)
    finally:
        for path, value in zip(paths, before):
            outer_cgroup.write(path, value)


def session(context, backend, user, name, rows):
    """Run one session; returns [(row, verdict)...]."""
    kind, _, detail = name.partition(":")
    probes = []
    for row in rows:
        words = row.probe(_Template(context)) if row.probe else None
        if words and words not in probes:
            probes.append(words)
    if kind == "channels":
        kinds = [row.id.split(".")[1] for row in rows]
        seen = channels(context, backend, user, kinds)
        return [(row, row.judge(context, seen.facts.get(kind), seen)) for row, kind in zip(rows, kinds)]
    seen = _run_session(context, backend, user, kind, detail, probes)
    return [(row, _judge(context, row, seen)) for row in rows]


def _run_session(context, backend, user, kind, detail, probes):
    if kind in ("look", "sweep"):
        return traced(context, backend, user, probes, whole=kind == "sweep")
    if kind == "boundary":
        return boundary(context, backend, user, probes)
    if kind == "functions":
        return functions(context, backend, user, probes)
    if kind == "start":
        runs = [run(context, backend, user, probes) for _ in range(STARTS)]
        runs[-1].wall_s = statistics.median(one.wall_s for one in runs)
        return runs[-1]
    if kind == "closed":
        return without(context, backend, user, probes, detail)
    if detail in ("neighbour_timer", "neighbour_sync"):
        return beside_victim(context, backend, user, probes,
                             timer_ms if detail == "neighbour_timer" else sync_ms)
    return run(context, backend, user, probes, kill=detail == "killed_supervisor",
               left=detail in ("killed_supervisor", "survivors"))


class _Template:
    """Words with their names left in: they differ between backends, and are put in by the run."""

    def __init__(self, _context):
        self.names = _Same()


class _Same(dict):
    def __missing__(self, key):
        return "{" + key + "}"


def _judge(context, row, seen):
    if seen.inapplicable:
        return not_run(seen.inapplicable)
    words = row.probe(_Template(context))
    return row.judge(context, seen.facts.get(tuple(words)), seen)
