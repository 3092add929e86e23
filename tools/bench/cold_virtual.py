# SPDX-License-Identifier: Apache-2.0
"""A cold start in instruction-counted time (lab only): bare, whole, and QEMU's. See cold.py."""
import os

import cold

LAB = "--timeout 3000 --memory 2G --icount --tb-size 16" + cold.CACHE

KEYS = cold.keys("virtual")

ROUNDS = {"full": 7, "tiny": 3}


def measure(size):
    if not os.environ.get("VMRUN_LAB"):
        return dict.fromkeys(KEYS)
    return cold.measure("virtual", ROUNDS[size])
