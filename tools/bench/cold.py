# SPDX-License-Identifier: Apache-2.0
"""What cold_virtual and cold_wall share: a cold start, alone and as a whole run, beside QEMU's.

`bare` is vmrun-monitor alone (bare.c), `qemu` QEMU's microvm with all that can be left out left out;
both boot the same vmlinux with the same arguments, memory and initramfs, whose init ends the machine at
once. `whole` is a complete vmrun of `true`. In turn, from the caller's fork to the end; medians.
"""
import json
import subprocess
import time

from run import TREE, VMRUN, Folder, median, observed, ratio, say, timed

# An option of tools/lab: what vmrun knows of digests outlives the emulated machine.
CACHE = f" -e XDG_CACHE_HOME={TREE}/build/bench-bin/cache"
TOOLS = TREE + "/build/bench-bin"
KERNEL = TREE + "/build/kernel/vmlinux"
INITRAMFS = TOOLS + "/initramfs.cpio"
MEMORY_MIB = 96
COMMAND_LINE = ("panic=-1 nomodule swiotlb=noforce cryptomgr.notests random.trust_cpu=on "
                "random.trust_bootloader=on rcupdate.rcu_expedited=1 noreplace-smp reboot=t,force quiet loglevel=0 "
                "8250.nr_uarts=0")
BARE = [TOOLS + "/bare", TREE + "/build/bin", KERNEL, INITRAMFS, str(MEMORY_MIB), COMMAND_LINE]
QEMU = ["qemu-system-x86_64", "-M", "microvm,x-option-roms=off,pit=off,pic=off,rtc=off,isa-serial=off,"
        "acpi=off,auto-kernel-cmdline=off", "-accel", "kvm", "-cpu", "host", "-m", str(MEMORY_MIB),
        "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-bios", "qboot.rom", "-kernel", KERNEL, "-initrd", INITRAMFS, "-append", COMMAND_LINE]
# A machine that has ended leaves work to the kernel (namespaces, RCU), which the next would wait for.
SETTLE_S = 0.5
# In result.json, in order; vm_teardown is the last part of stop.
STAGES = ("prepare", "launch", "boot", "setup", "run", "export", "stop", "teardown")
MOMENTS = {
    "t0": "from the exec of vmrun to the first instruction of the guest",
    "t1": "from there to the agent's HELLO",
    "task_start": "from there to the start of the task",
    "task_exit": "from there to the end of the task",
    "sealed": "from there to the last byte of the export",
    "t3": "from there until all is reaped, result.json is written and vmrun has ended",
}


def keys(kind):
    suffix = "" if kind == "virtual" else "_wall"
    return {
        f"bare_{kind}_ms": ("ms", "vmrun-monitor alone: boot and end of a guest"),
        f"qemu_{kind}_ms": ("ms", "QEMU microvm: the same kernel, the same init"),
        f"whole_{kind}_ms": ("ms", "a complete vmrun of `true`"),
        f"bare_over_qemu_{kind}": ("", "bare_ over qemu_, medians"),
        f"whole_over_qemu_{kind}": ("", "whole_ over qemu_, medians"),
        f"bare_guest_{kind}_ms": ("ms", "of bare: from the first KVM_RUN to the end of the guest"),
        f"bare_gone_{kind}_ms": ("ms", "of bare: from its last record to its end, the kernel's "
                                       "teardown of the VM"),
        **{f"whole_{stage}_{kind}_ms": ("ms", f"of whole: {stage} in result.json")
           for stage in (*STAGES, "vm_teardown")},
        f"whole_outside_{kind}_ms": ("ms", "of whole: what result.json does not see: before main(), "
                                           "the writing of the result, the end"),
        **{f"{moment}_{kind}_ms": ("ms", f"of whole: {what}") for moment, what in MOMENTS.items()},
        f"t3_own_{kind}_ms": ("ms", "t3 without the kernel's teardown of the VM (vm_teardown)"),
        f"t3_over_t2{suffix}": ("", f"t3_own over the whole, {kind}: at most 0.05"),
        f"supervisor_cpu_{kind}_ms": ("ms", "of whole: CPU time of vmrun itself"),
        f"monitor_cpu_{kind}_ms": ("ms", "of whole: CPU time of the monitor, the guest's included"),
    }


def moments_of(seen, result):
    """The stages of one run. What lies outside of result.json (the start of the program before main(),
    the writing of the result, the end) is counted where it mostly is: at the end."""
    times = result["time"]
    moments = {"t0": times["prepare_ms"] + times["launch_ms"], "t1": times["boot_ms"],
               "task_start": times["setup_ms"], "task_exit": times["run_ms"],
               "sealed": times["export_ms"]}
    moments["t3"] = seen.wall_ms - sum(moments.values())
    moments["t3_own"] = moments["t3"] - times["vm_teardown_ms"]
    moments["supervisor_cpu"] = seen.own_cpu_ms
    moments["monitor_cpu"] = result["host_measured"]["monitor_cpu_ms"]
    return moments


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


def whole(folder, task, turn):
    time.sleep(SETTLE_S)
    seen = observed([VMRUN, "-q", "--config", task, "--output", f"{folder.path}/{turn}"])
    result = folder.result(str(turn))
    stages = {f"whole_{stage}": result["time"][f"{stage}_ms"] for stage in (*STAGES, "vm_teardown")}
    moments = moments_of(seen, result)
    return {"whole": seen.wall_ms, "whole_outside": seen.wall_ms - result["time"]["total_ms"],
            **stages, **moments,
            "t3_over_t2": moments["t3_own"] / seen.wall_ms}


def measure(kind, rounds):
    turns = []
    with Folder() as folder:
        task = folder.task("true", "true")
        for turn in range(rounds + 1):
            one = {"bare": one_ms(BARE), "qemu": one_ms(QEMU), **whole(folder, task, turn)}
            bare = bare_stages()
            one |= {"bare_guest": bare["guest_ns"] / 1e6, "bare_gone": bare["stop_ns"] / 1e6}
            say(f"{kind} {turn}: " + ", ".join(f"{name} {one[name]:.1f}"
                                               for name in ("bare", "qemu", "whole")))
            turns.append(one)
    # The first turn warms up: files were not in the page cache yet, digests not known.
    middle = {name: median([one[name] for one in turns[1:]]) for name in turns[0]}
    figures = {f"t3_over_t2{'' if kind == 'virtual' else '_wall'}": middle.pop("t3_over_t2")}
    figures |= {f"{name}_{kind}_ms": value for name, value in middle.items()}
    for name in ("bare", "whole"):
        figures[f"{name}_over_qemu_{kind}"] = ratio(middle[name], middle["qemu"])
    return figures
