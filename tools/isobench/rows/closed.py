# SPDX-License-Identifier: Apache-2.0
"""Does it refuse when a control is missing? What is taken away is taken from one start only, by a mount
or a resource limit around it."""
from rows.base import Row, held, lost, not_run, words


def judge(_context, facts, seen):
    if seen.inapplicable:
        return not_run(seen.inapplicable)
    if facts is not None:
        return lost("it ran the program all the same")
    return held(f"it refused, status {seen.status}: {seen.complaint[:90]}")


def row(control, title, attacker, expect):
    return Row("closed." + control, "closed", title, attacker,
               "did the program run? did what was started end with an error?",
               "the program ran", expect, "closed:" + control, judge, words("nothing"), control=False)


ROWS = (
    row("kvm", "Without /dev/kvm", "emulation that nobody asked for has another boundary", "?????LH"),
    row("namespaces", "Without new user and network namespaces", "runs in the host's", "?LLL?LH"),
    row("cgroup", "With a cgroup tree that cannot be written", "runs without limits", "LLHHHL?"),
    row("proc", "With an empty /proc", "cannot check what it set up", "LLHHHL?"),
    row("image", "With an image that is not what it was", "runs what somebody put there", "LLLLLLH"),
)
