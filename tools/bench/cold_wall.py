# SPDX-License-Identifier: Apache-2.0
"""A cold start by the clock on the wall: bare, whole, and QEMU's. See cold.py."""
import cold

LAB = "--timeout 3000 --memory 2G --tb-size 16" + cold.CACHE

KEYS = cold.keys("wall")

ROUNDS = {"full": 15, "tiny": 1}


def measure(size):
    return cold.measure("wall", ROUNDS[size])
