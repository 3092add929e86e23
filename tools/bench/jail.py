# SPDX-License-Identifier: Apache-2.0
"""What the jails of all children of one run cost, against running `bwrap --unshare-all true` twice."""
import os
import statistics
import subprocess

LAB = "--timeout 600"

_WHAT = {"root": "as root", "user": "as an ordinary user"}
KEYS = {}
for _who, _text in _WHAT.items():
    KEYS |= {
        f"jail_ratio_{_who}": ("", f"the jails of one run over bwrap twice, {_text}: at most 1"),
        f"jail_us_{_who}": ("µs", f"the jails of monitor, scribe and extractor, with their proof, {_text}"),
        f"jail_bwrap_us_{_who}": ("µs", f"bwrap --unshare-all true, twice, {_text}"),
    }

ROUNDS = {"full": 20, "tiny": 3}
COST = "build/jail/cost"
BWRAP = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
ORDINARY = ["setpriv", "--reuid", "61234", "--regid", "61234", "--clear-groups"]


def bwrap_us(become):
    """Of a process that is already who it is to be."""
    script = "import subprocess, sys, time\nt = time.monotonic_ns()\n" \
             "for _ in range(2): subprocess.run(sys.argv[1:], check=True)\n" \
             "print((time.monotonic_ns() - t) / 1000)"
    run = subprocess.run(become + ["python3", "-c", script] + BWRAP, check=True, capture_output=True)
    return float(run.stdout)


def jails_us(become):
    return float(subprocess.run(become + [COST, "1"], check=True, capture_output=True).stdout)


def compare(who, become, rounds):
    """In turn, so that what else goes on meets both."""
    jails, bwraps = [], []
    for _ in range(rounds):
        jails.append(jails_us(become))
        bwraps.append(bwrap_us(become))
    jail, bwrap = statistics.median(jails), statistics.median(bwraps)
    return {f"jail_ratio_{who}": jail / bwrap, f"jail_us_{who}": jail, f"jail_bwrap_us_{who}": bwrap}


def measure(size):
    figures = dict.fromkeys(KEYS)
    if os.getuid() == 0:
        figures |= compare("root", [], ROUNDS[size])
    return figures | compare("user", ORDINARY if os.getuid() == 0 else [], ROUNDS[size])
