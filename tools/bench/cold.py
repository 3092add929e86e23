# SPDX-License-Identifier: Apache-2.0
"""What cold_virtual and cold_wall share: a cold start, alone and as a whole run, beside QEMU's.

`bare` is vmrun-monitor alone (bare.c), `qemu` QEMU's microvm with all that can be left out left out;
both boot the same vmlinux with the same arguments, memory and initramfs, whose init ends the machine at
once. `whole` is a complete vmrun of `true`. In turn, from the caller's fork to the end; medians.
"""
import json
import subprocess
import time

from run import TREE, VMRUN, Folder, median, ratio, say, timed

# An option of tools/lab: what vmrun knows of digests outlives the emulated machine.
CACHE = f" -e XDG_CACHE_HOME={TREE}/build/bench-bin/cache"
TOOLS = TREE + "/build/bench-bin"
KERNEL = TREE + "/build/kernel/vmlinux"
INITRAMFS = TOOLS + "/initramfs.cpio"
MEMORY_MIB = 96
COMMAND_LINE = ("panic=-1 nomodule swiotlb=noforce cryptomgr.notests random.trust_cpu=on "
                "random.trust_bootloader=on rcupdate.rcu_expedited=1 reboot=t quiet loglevel=0 "
                "8250.nr_uarts=0")
BARE = [TOOLS + "/bare", TREE + "/build/bin", KERNEL, INITRAMFS, str(MEMORY_MIB), COMMAND_LINE]
QEMU = ["qemu-system-x86_64", "-M", "microvm,x-option-roms=off,pit=off,pic=off,rtc=off,isa-serial=off,"
        "acpi=off,auto-kernel-cmdline=off", "-accel", "kvm", "-cpu", "host", "-m", str(MEMORY_MIB),
        "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-bios", "qboot.rom", "-kernel", KERNEL, "-initrd", INITRAMFS, "-append", COMMAND_LINE]
# A machine that has ended leaves work to the kernel (namespaces, RCU), which the next would wait for.
SETTLE_S = 0.5
STAGES = ("prepare", "launch", "boot", "setup", "run", "export", "stop", "teardown")


def keys(kind):
    return {
        f"bare_{kind}_ms": ("ms", "vmrun-monitor alone: boot and end of a guest"),
        f"qemu_{kind}_ms": ("ms", "QEMU microvm: the same kernel, the same init"),
        f"whole_{kind}_ms": ("ms", "a complete vmrun of `true`"),
        f"bare_over_qemu_{kind}": ("", "bare_ over qemu_, medians"),
        f"whole_over_qemu_{kind}": ("", "whole_ over qemu_, medians"),
        f"bare_guest_{kind}_ms": ("ms", "of bare: from the first KVM_RUN to the end of the guest"),
        f"bare_gone_{kind}_ms": ("ms", "of bare: from its last record to its end, the kernel's "
                                       "teardown of the VM"),
        **{f"whole_{stage}_{kind}_ms": ("ms", f"of whole: {stage} in result.json") for stage in STAGES},
    }


def one_ms(command):
    time.sleep(SETTLE_S)
    wall, _, status = timed(command)
    if status != 0:
        raise RuntimeError(f"{command[0]} exited with {status}")
    return wall * 1000


def bare_stages():
    time.sleep(SETTLE_S)
    shown = subprocess.run(BARE, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    return json.loads(shown)


def measure(kind, rounds):
    times = {"bare": [], "qemu": [], "whole": []}
    stages = {stage: [] for stage in STAGES}
    guest, gone = [], []
    with Folder() as folder:
        task = folder.task("true", "true")
        for turn in range(rounds + 1):
            one = {"bare": one_ms(BARE), "qemu": one_ms(QEMU),
                   "whole": one_ms([VMRUN, "-q", "--config", task, "--output",
                                    f"{folder.path}/{turn}"])}
            bare = bare_stages()
            say(f"{kind} {turn}: " + ", ".join(f"{name} {ms:.1f}" for name, ms in one.items()))
            if turn == 0:
                continue  # files are not in the page cache yet, digests not known
            for name, ms in one.items():
                times[name].append(ms)
            result = folder.result(str(turn))["time"]
            for stage, values in stages.items():
                values.append(result[f"{stage}_ms"])
            guest.append(bare["guest_ns"] / 1e6)
            gone.append(bare["stop_ns"] / 1e6)
    figures = {f"{name}_{kind}_ms": median(values) for name, values in times.items()}
    for name in ("bare", "whole"):
        figures[f"{name}_over_qemu_{kind}"] = ratio(
            figures[f"{name}_{kind}_ms"], figures[f"qemu_{kind}_ms"])
    figures[f"bare_guest_{kind}_ms"] = median(guest)
    figures[f"bare_gone_{kind}_ms"] = median(gone)
    figures.update({f"whole_{stage}_{kind}_ms": median(values) for stage, values in stages.items()})
    return figures
