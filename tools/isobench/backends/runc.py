# SPDX-License-Identifier: Apache-2.0
"""runc, with the usual default profile of a container."""
from backends.oci import Runtime


class Container(Runtime):
    name = program = "runc"


BACKEND = Container()
