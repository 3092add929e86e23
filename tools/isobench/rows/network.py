# SPDX-License-Identifier: Apache-2.0
"""What can be talked to. Each listener is the host's, and each run has a word of its own to bring."""
from rows.base import Row, arrived, words


def row(name, title, attacker, expect, probe):
    return Row("network." + name, "network", title, attacker,
               "a listener of the host waits for the word of this run", "the word arrived", expect,
               "look", arrived(name), probe)


ROWS = (
    row("loopback", "The host's loopback", "services that trust whoever is local", "LHHHHHH",
        words("tcp", "127.0.0.1", "{tcp_port}", "{word}")),
    row("loopback6", "The host's loopback, IPv6", "services that trust whoever is local", "LHHHHHH",
        words("tcp", "::1", "{tcp_port}", "{word}")),
    row("address", "An address of the host", "services of the host", "LHHHHHH",
        words("tcp", "{host_address}", "{tcp_port}", "{word}")),
    row("metadata", "The address of cloud metadata", "the host's credentials", "LHHHHHH",
        words("tcp", "169.254.169.254", "{tcp_port}", "{word}")),
    row("dns", "Names", "carries data out in questions", "LHHHHHH",
        words("dns", "{host_address}", "{word}.canary.test")),
    row("udp", "Datagrams", "carries data out", "LHHHHHH",
        words("udp", "{host_address}", "{tcp_port}", "{word}")),
    row("abstract", "An abstract Unix socket of the host", "services without a path", "LHHHHHH",
        words("unix", "@{abstract}", "{word}")),
    row("socket_path", "A Unix socket of the host, by its path", "services with a path", "LHHHHHH",
        words("unix", "{socket_path}", "{word}")),
)
