# SPDX-License-Identifier: Apache-2.0
"""How two sandboxes can talk. One says 32 random bits, the other listens; the host compares."""
import statistics

from rows.base import Row, held, lost, not_run, nothing_said

BITS, ENOUGH, LAGS = 32, 28, (-1, 0, 1)  # 28 of 32 by chance, in one of three tries: 6 in 100,000
SLOT_MS = {"lock": 20, "abstract": 20, "shm": 20, "sysv": 20, "cache": 40, "load": 60}
TARGETS = {"lock": "{shared}", "abstract": "{channel_name}", "shm": "/dev/shm/{channel_name}",
           "sysv": "{sysv_key}", "cache": "{cache_file}", "load": "-"}


def decode(values, bits):
    """How many bits came over, at the best lag, for numbers that are high for 1 or high for 0."""
    if len(values) != len(bits) or len(set(values)) < 2:
        return 0
    best = 0
    # A measured value is 1 when it is above the middle: the median for a scale, for yes or no the mean.
    few = len(set(values)) == 2
    middle = statistics.mean(values) if few else statistics.median(values)
    for lag in LAGS:
        pairs = [(value > middle, bits[slot - lag] == "1")
                 for slot, value in enumerate(values) if 0 <= slot - lag < len(bits)]
        same = sum(a == b for a, b in pairs)
        best = max(best, same, len(pairs) - same)
    return best


def judge(kind):
    def decide(context, facts, seen):
        if (silent := nothing_said(facts)):
            return silent
        said = seen.said.get(kind)
        if said is None or "died" in said:
            return not_run("the speaker gave no answer")
        if min(said["early_ms"], facts["early_ms"]) < 0:
            return not_run("a sandbox was not up in time for the first slot")
        right = decode(facts["values"], seen.bits[kind])
        rate = 1000 / SLOT_MS[kind]
        shown = f"{right} of {BITS} bits came over"
        if right >= ENOUGH:
            return lost(f"{shown}, {rate:.0f} bits a second", value=rate, unit="bit/s")
        return held(shown if right else "the listener measured the same in every slot", value=0.0,
                    unit="bit/s")
    return decide


def row(kind, title, expect):
    return Row(f"channels.{kind}", "channels", title, "two sandboxes that may not talk do",
               "32 random bits of the host, said in one sandbox and compared with what the other "
               "measured", f"{ENOUGH} of {BITS} bits came over", expect, "channels", judge(kind))


ROWS = (
    row("lock", "Locks on a file that both may read", "LLLLHHH"),
    row("abstract", "Names of abstract Unix sockets", "LHHHHHH"),
    row("shm", "/dev/shm", "LHHHHHH"),
    row("sysv", "System V message queues", "LHHHHHH"),
    row("cache", "The page cache of a shared file", "LLLL???"),
    row("load", "The processor's time", "LLLLLLL"),
)
