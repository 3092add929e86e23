# SPDX-License-Identifier: Apache-2.0
"""crun, with the usual default profile of a container."""
from backends.oci import Runtime


class Container(Runtime):
    name = program = "crun"
    start_s = 4


BACKEND = Container()
