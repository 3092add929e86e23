# SPDX-License-Identifier: Apache-2.0
"""The same in instruction-counted time, where other work on the machine changes nothing (lab only)."""
import os

from output import Streams, stream_keys
from run import Folder

LAB = "--timeout 3000 --memory 2G --icount"

KEYS = stream_keys("output_virtual")

# (small MiB, large MiB, rounds): one nanosecond for each instruction makes many rounds needless.
SIZES = {"full": (2, 18, 3), "tiny": (1, 2, 1)}


def measure(size):
    if not os.environ.get("VMRUN_LAB"):
        return dict.fromkeys(KEYS)
    with Folder() as folder:
        return Streams(folder, *SIZES[size]).figures("output_virtual")
