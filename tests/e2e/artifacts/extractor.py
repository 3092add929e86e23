# SPDX-License-Identifier: Apache-2.0
"""The supervisor's side of an extractor (vmm/ipc/ipc.h, vmm/jail/order.h), to feed the real one with any
bytes. Its jail is the weak one: no namespaces, but its limits and its list of system calls."""
import os
import resource
import socket
import struct

IPC_EXTRACT, IPC_ENTRY, IPC_EXTRACTED = 30, 31, 32
JAIL_WEAK, JAIL_CONFINED, JAIL_SEALED, JAIL_GATE = 1, 1, 2, 3
JAIL_FD, JAIL_FD_PARENT = 25, 26
DATA_BYTES = 8 << 20
LIMITS = ((resource.RLIMIT_AS, 1 << 30), (resource.RLIMIT_DATA, DATA_BYTES), (resource.RLIMIT_FSIZE, 1 << 40), (resource.RLIMIT_NOFILE, 64),
          (resource.RLIMIT_CPU, 600))
KINDS = {1: "file", 2: "dir", 3: "-"}


class Extraction:
    """A running extractor. `packet()` gives what it says, so it waits when nobody asks."""

    def __init__(self, program, disk, out, max_total, max_file, max_files, max_depth, types=0, bundle=False):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.jail, their_jail = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        out_fd = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
        parent = os.pidfd_open(os.getpid())
        self.pid = os.fork()
        if self.pid == 0:
            places = (3, 4, 5, JAIL_FD, JAIL_FD_PARENT)
            for i, fd in enumerate((theirs.fileno(), disk, out_fd, their_jail.fileno(), parent)):
                os.dup2(fd, 60 + i)
            for i, place in enumerate(places):
                os.dup2(60 + i, place)
            for fd in range(3, 100):
                if fd not in places:
                    os.closerange(fd, fd + 1)
            os.execv(program, [program])
        theirs.close()
        their_jail.close()
        os.close(out_fd)
        os.close(parent)
        self.jail.send(struct.pack("<IIIBI", JAIL_WEAK, 0, 0, 0, len(LIMITS)) +
                       b"".join(struct.pack("<IQ", *limit) for limit in LIMITS))
        self.hear(JAIL_CONFINED)
        self.channel.send(struct.pack("<IQQQIIB", IPC_EXTRACT, max_total, max_file, max_files, max_depth, types,
                                      bundle))
        self.hear(JAIL_SEALED)
        self.jail.send(struct.pack("<BI", JAIL_GATE, 0))

    def hear(self, word):
        packet = self.jail.recv(1024)
        assert packet[:1] == bytes([word]), f"the extractor says {packet} in its jail"

    def packet(self):
        """(kind, payload)"""
        packet = self.channel.recv(16384)
        assert len(packet) >= 4, f"the extractor ended without a word: {os.waitpid(self.pid, 0)[1]}"
        return struct.unpack_from("<I", packet)[0], packet[4:]

    def finish(self):
        self.channel.close()
        assert os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]) == 0


def string(payload, at):
    length = struct.unpack_from("<I", payload, at)[0]
    return payload[at + 4:at + 4 + length].decode(), at + 4 + length


def entry(payload):
    kind, _, size = struct.unpack_from("<IIQ", payload)
    reason, at = string(payload, 52)
    exported, at = string(payload, at)
    name = payload[at + 4:]
    if KINDS[kind] == "-":
        return "-", name.decode(), reason
    return (KINDS[kind], exported, size) if KINDS[kind] == "file" else (KINDS[kind], exported)


class Outcome:
    def __init__(self, entries, payload):
        self.entries = entries
        self.status, self.files, self.bytes, self.skipped = struct.unpack_from("<IQQQ", payload)
        self.text = string(payload, 28 + 8 + 32)[0]


def run(program, disk, out, **limits):
    """The bytes DISK through an extractor, into the new directory OUT."""
    os.mkdir(out)
    fd = os.memfd_create("disk")
    with open(fd, "wb", closefd=False) as file:
        file.write(disk)
    extraction = Extraction(program, fd, out, **limits)
    os.close(fd)
    entries = []
    while True:
        kind, payload = extraction.packet()
        if kind == IPC_EXTRACTED:
            break
        entries.append(entry(payload))
    extraction.finish()
    return Outcome(entries, payload)
