# SPDX-License-Identifier: Apache-2.0
"""What leaks of the host."""
from rows.base import (Row, held, lost, measured, not_run, nothing_said, same_as_host, shows_token,
                       words)

MIB = 1 << 20


def row(name, title, attacker, observed, loses, expect, probe, judge, **more):
    return Row("visibility." + name, "visibility", title, attacker, observed, loses, expect, "look",
               judge, probe, **more)


def ram(context, facts, _seen):
    if (silent := nothing_said(facts)):
        return silent
    shown = f"{facts['ram_bytes'] // MIB} MiB, the host has {context.host['ram_bytes'] // MIB} MiB"
    return lost(shown) if facts["ram_bytes"] == context.host["ram_bytes"] else held(shown)


def uptime(context, facts, _seen):
    """Both clocks were read by the probe at once: the boot moment of what it sees, less the host's."""
    if (silent := nothing_said(facts)):
        return silent
    boot = (facts["realtime_ns"] - facts["boottime_ns"]) / 1e9
    apart = abs(boot - context.host["boot_moment"])
    return (lost if apart < 1 else held)(f"boot moment {apart:.1f} s from the host's")


def names_of_host(host_key):
    def judge(context, facts, _seen):
        wanted = context.host.get(host_key) or []
        if not wanted:
            return not_run(f"this host has no {host_key} to leak")
        if (silent := nothing_said(facts)):
            return silent
        common = sorted(set(facts.get("names", "").split()) & set(wanted))
        if len(common) * 2 > len(wanted):
            return lost(f"{len(common)} of the host's {len(wanted)}: {', '.join(common[:4])}")
        return held(f"{len(common)} of the host's {len(wanted)}")
    return judge


def other_processes(context, facts, _seen):
    if (silent := nothing_said(facts)):
        return silent
    if context.tokens["process"] in facts.get("cmdline", ""):
        return lost(f"the host's canary process is seen, of {facts['seen']}")
    return held(f"{facts['seen']} processes are seen, not the host's canary")


def mounts(context, facts, _seen):
    if (silent := nothing_said(facts)):
        return silent
    if context.tokens["path"] in facts.get("text", ""):
        return lost("a mount's source or root names the host's folder, whose name is a token")
    return held("no mount names the host's folder")


def processor(cpuinfo):
    """What tells processors apart. The name need not be there for it, and is not in every guest."""
    fields = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    names = ("vendor_id", "cpu family", "model", "stepping",  # of x86_64, then of aarch64
             "CPU implementer", "CPU variant", "CPU part", "CPU revision")
    return " ".join(fields[name] for name in names if name in fields)


def idle_time(_context, facts, seen):
    if (silent := nothing_said(facts)):
        return silent
    try:
        idle = float(facts["text"].split()[1])
        before, after = (float(text.split()[1]) for text in seen.uptimes)
    except (KeyError, IndexError, ValueError):
        return held("not readable")
    shown = f"{idle} s idle were read; the host had {before} before and {after} after"
    return (lost if before <= idle <= after else held)(shown)


def random_numbers(context, facts, _seen):
    if (silent := nothing_said(facts)):
        return silent
    got = facts.get("bytes")
    if not got:
        return not_run("no random numbers were given")
    if got in context.random:
        return lost("the same 32 bytes as in an earlier sandbox")
    context.random.add(got)
    return held(f"unlike those of {len(context.random) - 1} other runs")


def vulnerabilities(context, facts, _seen):
    if (silent := nothing_said(facts)):
        return silent
    seen_here = sorted(facts.get("names", "").split())
    return measured(len(seen_here), "files", f"{len(seen_here)} files on faults of the processor")


ROWS = (
    row("kernel_version", "Release and build of the host's kernel",
        "chooses the exploit that fits the host's kernel", "compared with uname of the host",
        "version is the host's", "LLLLHHH", words("machine"), same_as_host("version", "version")),
    row("boot_id", "Identity of this boot", "knows whether two sandboxes share a host",
        "compared with the host's", "it is the host's", "LLLLHHH",
        words("text", "/proc/sys/kernel/random/boot_id"), same_as_host("text", "boot_id")),
    row("command_line", "The kernel's command line", "reads how the host is set up",
        "compared with the host's", "it is the host's", "LLLLHHH",
        words("text", "/proc/cmdline"), same_as_host("text", "cmdline")),
    row("hostname", "The host's name", "learns where it is", "compared with the host's",
        "it is the host's", "LHHHHHH", words("machine"), same_as_host("node", "node")),
    row("memory", "Size of the host's memory", "sizes an attack on its neighbours",
        "compared with sysinfo of the host", "it is the host's", "LLLLHHH", words("machine"), ram),
    row("uptime", "When the host was booted", "knows how long it was not patched; joins sandboxes",
        "boot moment compared", "within one second of the host's", "LLLLHHH", words("machine"), uptime),
    row("cpu_model", "The processor's model", "chooses the side channel that fits",
        "vendor, family, model and stepping of the first processor compared", "they are the host's",
        "LLLLLLL", words("text", "/proc/cpuinfo"), same_as_host("text", "cpuinfo", processor)),
    row("load", "How busy the host is", "sees when neighbours work",
        "idle time read by the host before and after", "what was read lies between", "LLLLHHH",
        words("text", "/proc/uptime"), idle_time),
    row("modules", "Loaded modules of the host's kernel", "finds attackable code",
        "compared with the host's list", "most of them are seen", "LLLLHHH",
        words("list", "/sys/module"), names_of_host("modules")),
    row("symbols", "Addresses of the host's kernel", "defeats the randomised layout",
        "address of _stext compared with the host's", "it is the host's", "L???HHH",
        words("symbol", "_stext"), same_as_host("address", "stext")),
    row("kernel_log", "The host's kernel log", "reads addresses, devices, neighbours",
        "a token written to the host's log", "the token was read", "L?HHHHH",
        words("log", "{log_mark}"), shows_token("log", "text")),
    row("pci", "The host's PCI devices", "learns the hardware", "names compared",
        "most of them are seen", "LLLLHHH", words("list", "/sys/bus/pci/devices"),
        names_of_host("pci")),
    row("disks", "The host's disks", "learns what there is to reach", "names compared",
        "most of them are seen", "LLLL?HH", words("list", "/sys/block"), names_of_host("disks")),
    row("processes", "Processes of the host", "sees what runs beside it, and with which arguments",
        "a canary process with a token in its arguments", "it was seen", "LHHHHHH",
        words("processes", "{process_mark}", "{environ_mark}"), other_processes),
    row("environ_of_others", "Environment of a host process", "reads credentials of others",
        "a token in the canary process's environment", "the token was read", "LHHHHHH",
        words("processes", "{process_mark}", "{environ_mark}"), shows_token("environ", "environ")),
    row("environ", "Environment of the caller", "reads credentials of who started it",
        "a token in the environment of the backend", "the token was read", "LLHHHHH",
        words("variable", "{variable}"), shows_token("variable", "text")),
    row("files", "Files of the host", "reads what it likes", "a canary file found by name",
        "its token was read", "LHHHHHH", words("walk", "{file_name}"), shows_token("file", "text")),
    row("mounts", "Paths of the host in the mount table", "learns the host's layout",
        "a token in the folder's name", "the token is in mountinfo", "LLLL?HH",
        words("text", "/proc/self/mountinfo"), mounts),
    row("descriptors", "Open files inherited from the caller", "uses what was left open",
        "a token in a file that the backend inherits open", "the file is open in the sandbox",
        "LLHHHHH", words("descriptors"), shows_token("descriptor", "links")),
    row("random", "Random numbers of a fresh sandbox", "guesses keys of others",
        "32 bytes compared with those of every other run", "the same came twice", "HHHHHHH",
        words("random"), random_numbers, control=False),
    row("faults", "Faults of the processor, as the kernel lists them", "chooses the side channel",
        "counted", "no verdict", "MMMMMMM",
        words("list", "/sys/devices/system/cpu/vulnerabilities"), vulnerabilities, control=False),
)
