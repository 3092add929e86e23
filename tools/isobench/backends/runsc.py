# SPDX-License-Identifier: Apache-2.0
"""runsc (gVisor) on its ptrace platform, which needs no KVM. Debian's is of 2022: the version is shown."""
from backends.oci import Runtime


class Gvisor(Runtime):
    name = program = "runsc"
    options = ("--platform=ptrace", "--network=none")
    boundary = ("exe", "runsc")


BACKEND = Gvisor()
