# SPDX-License-Identifier: Apache-2.0
"""What a row is, and the ways in which the host decides one."""
import dataclasses
from typing import Callable

FAMILIES = {
    "visibility": "What leaks of the host",
    "reach": "What of the host's kernel can be invoked",
    "channels": "How two sandboxes can talk",
    "containment": "What happens when one takes more than it was given",
    "network": "What can be talked to",
    "hygiene": "What stands between guest and host",
    "closed": "Does it refuse when a control is missing?",
    "cost": "What it costs",
}
BACKENDS = ("none", "bubblewrap", "runc", "crun", "runsc", "qemu-microvm", "vmrun")
OUTCOMES = ("held", "lost", "measured", "flaky", "not_run")


@dataclasses.dataclass(frozen=True)
class Verdict:
    outcome: str
    evidence: str
    value: float | None = None
    unit: str = ""


def held(evidence, **more):
    return Verdict("held", evidence, **more)


def lost(evidence, **more):
    return Verdict("lost", evidence, **more)


def not_run(why):
    return Verdict("not_run", why)


def measured(value, unit, evidence=""):
    return Verdict("measured", evidence or f"{value:.4g} {unit}".strip(), value, unit)


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table. judge(context, facts, seen) looks at one run; seen is what the host saw of
    it (harness.Seen). expect: one letter per backend, in the order of BACKENDS: L lost, H held,
    M measured, ? either. It is a hypothesis, printed beside what was observed, never used for it."""
    id: str
    family: str
    title: str
    attacker: str
    observed: str
    lost: str
    expect: str
    session: str
    judge: Callable
    probe: Callable | None = None
    control: bool = True  # has a plain process to lose it?

    def expected(self, backend):
        letters = {"L": "lost", "H": "held", "M": "measured", "?": "either"}
        return letters[self.expect[BACKENDS.index(backend)]]


def words(*template):
    """A probe whose words are formatted with the context's names."""
    return lambda context: [word.format_map(context.names) for word in template]


def nothing_said(facts):
    """None when the probe answered, else why its row cannot be decided."""
    if facts is None:
        return not_run("the probe gave no answer")
    if "died" in facts:
        return not_run(f"the probe was killed by signal {facts['died']}")
    return None


def same_as_host(key, name, normal=str.strip):
    """Lost when the fact KEY is what the host itself reads as NAME."""
    def judge(context, facts, _seen):
        host = context.host.get(name)
        if not host:
            return not_run(f"this host has no {name} to leak")
        if (silent := nothing_said(facts)):
            return silent
        got = facts.get(key)
        if got is None:
            return held(f"not readable (errno {facts.get('errno', 'none')})")
        shown = normal(str(got))[:60].strip()
        if normal(str(got)) == normal(str(host)):
            return lost(f"reads the host's: {shown!r}")
        return held(f"reads another: {shown!r}")
    return judge


def shows_token(token_name, *keys):
    """Lost when one of the facts holds the random token, which no argument of the probe had."""
    def judge(context, facts, _seen):
        if (silent := nothing_said(facts)):
            return silent
        token = context.tokens[token_name]
        for key in keys:
            if token in str(facts.get(key, "")):
                return lost(f"the token of the {token_name} was read")
        return held(f"the token of the {token_name} was not read")
    return judge


def arrived(canary):
    """Lost when the host's listener got the word that this run was told to hand over."""
    def judge(context, facts, seen):
        if (silent := nothing_said(facts)):
            return silent
        if context.canaries.unavailable.get(canary):
            return not_run(context.canaries.unavailable[canary])
        if seen.heard.get(canary):
            return lost(f"the host's {canary} listener got the word of this run")
        return held(f"nothing arrived at the {canary} listener (errno {facts.get('errno')})")
    return judge


def granted(*calls, allow=lambda result: result >= 0):
    """Lost when the host's trace shows one of these system calls of the probe, and its success."""
    def judge(_context, facts, seen):
        if seen.trace is None:
            return not_run("no trace of the host's kernel here")
        if facts is None:
            return not_run("the probe gave no answer")
        made = seen.trace.of_probe(facts["index"])
        if made is None:
            return held("never seen by the host's kernel: a kernel of its own answered")
        relevant = [(number, result) for number, result in made if number in calls]
        for number, result in relevant:
            if allow(result):
                return lost(f"the host's kernel granted system call {number} ({result})")
        if not relevant:
            return held("refused before the host's kernel ran it")
        return held(f"the host's kernel refused: {sorted(set(result for _, result in relevant))}")
    return judge
