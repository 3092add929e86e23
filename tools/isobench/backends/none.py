# SPDX-License-Identifier: Apache-2.0
"""No sandbox: a plain process of the host. The negative control: what it does not lose is not tried."""
from backends import Backend


class Plain(Backend):
    name = "none"
    controls = ()

    def version(self):
        return "a plain process"

    def names(self, stage):
        return {"shared": stage.rootfs + "/shared/lock", "cache_file": stage.rootfs + "/shared/cache",
                "work": None}  # the harness puts the box's own folder in

    def command(self, box):
        identity = [] if box.user == "root" else ["setpriv", "--reuid=1000", "--regid=1000",
                                                  "--clear-groups"]
        return [*identity, box.stage.rootfs + "/isoprobe", *box.probe]


BACKEND = Plain()
