# SPDX-License-Identifier: Apache-2.0
"""crun, with the usual default profile of a container."""
from backends.oci import Runtime


class Container(Runtime):
    name = program = "crun"


BACKEND = Container()
