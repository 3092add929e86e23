# SPDX-License-Identifier: Apache-2.0
"""What every sandbox is given, what the probes try to take, and what the outer cgroup allows at all."""
MIB = 1 << 20
LIMITS = {"memory": 128 * MIB, "processes": 64, "disk": 64 * MIB, "inodes": 4096, "cpus": 1.0,
          "output": 4 * MIB, "files": 1024, "seconds": 60}
ATTEMPT = {"memory": 320 * MIB, "processes": 200, "disk": 256 * MIB, "inodes": 9000,
           "output": 16 * MIB, "files": 4000}
OUTER = {"memory": 1024 * MIB, "processes": 600}
# Of a runtime, a monitor and a kernel of its own, beside what the program was given.
OVERHEAD_BYTES = 96 * MIB
