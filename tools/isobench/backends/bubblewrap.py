# SPDX-License-Identifier: Apache-2.0
"""bubblewrap with all of its namespaces, and a root of its own. It has no limits to set."""
from backends import Backend


class Bubblewrap(Backend):
    name = "bubblewrap"
    program = "bwrap"
    controls = ("namespaces", "proc", "image")

    def command(self, box):
        number = "0" if box.user == "root" else "1000"
        return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--uid", number,
                "--gid", number, "--ro-bind", box.stage.rootfs, "/", "--bind", box.folder + "/work",
                "/work", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/work",
                "/isoprobe", *box.probe]


BACKEND = Bubblewrap()
