#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The page and the drawing of the benchmark out of figures that are made up, and its documentation: on the
# host, nothing is measured.

setup() {
    D=$BATS_TEST_TMPDIR
    mkdir -p "$D/parts"
}

# part SECTION FILTER: figures of SECTION, all null but what the jq filter makes of them.
part() {
    python3 -B -c 'import sys; sys.path.insert(0, "tools/bench")
import json, measure; print(json.dumps(dict.fromkeys(measure.SECTIONS[sys.argv[1]].KEYS)))' "$1" |
        jq "$2" >"$D/parts/$1.json"
}

report() {
    python3 -B tools/bench/report.py --size tiny --where lab "$D"
}

@test "every key is in the README with its unit and its meaning, and no other is" {
    diff <(sed -n '/^| `output_ratio_wall`/,/^$/p' tools/bench/README.md | sed '/^$/d') \
        <(python3 -B tools/bench/measure.py --keys)
}

@test "bench.json has every documented key, whatever was measured" {
    part counts '.syscalls_before_run = 60'
    report
    diff <(jq -r 'keys[]' "$D/bench.json" | sort) \
        <({ echo schema && echo size && echo where &&
            python3 -B tools/bench/measure.py --keys | grep -o '^| `[^`]*' | tr -d '|` '; } | sort)
}

@test "the page says what was reached, what was not, and what was not measured" {
    part counts '.syscalls_before_run = 60 | .monitor_rss_kib = 3073 | .idle_monitor_wakeups = 0'
    part blocks '.blk_read_ratio_qemu = 1 | .blk_write_ratio_qemu = 0.899'
    part crowd '.cpu_per_task_32_over_1 = 1.31'
    report
    grep -qF '| `syscalls_before_run` <= 60 | 60 | yes |' "$D/bench.md"
    grep -qF '| `monitor_rss_kib` <= 3072 | 3073 | **no** |' "$D/bench.md"
    grep -qF '| `idle_monitor_wakeups` <= 0 | 0 | yes |' "$D/bench.md"
    grep -qF '| `blk_read_ratio_qemu` >= 1 | 1 | yes |' "$D/bench.md"
    grep -qF '| `blk_write_ratio_qemu` >= 0.9 | 0.899 | **no** |' "$D/bench.md"
    grep -qF '| `bare_over_qemu_virtual` <= 0.3 | not measured | not measured |' "$D/bench.md"
    grep '^Not reached: ' "$D/bench.md" | grep -o '`[a-z_0-9]*`' | tr -d '`' | sort >"$D/missed"
    diff "$D/missed" <(printf '%s\n' blk_write_ratio_qemu cpu_per_task_32_over_1 monitor_rss_kib)
    grep -q '^## What was tried for a faster cold start' "$D/bench.md"
}

@test "a peer that cannot run is shown with its reason, tables of exits by their largest" {
    part peers '.peer_true_crun_ms = "not_run: crun is not installed" | .peer_true_vmrun_ms = 12.5'
    part counts '.run_exits_userspace = {io: 4, mmio: 312}'
    report
    grep -qF '| `peer_true_crun_ms` | not_run: crun is not installed |' "$D/bench.md"
    grep -qF '| `peer_true_vmrun_ms` | 12.5 |' "$D/bench.md"
    grep -qF '| `run_exits_userspace` | mmio 312, io 4 |' "$D/bench.md"
}

@test "the stages are drawn one behind the other, and as long as they took" {
    part cold_virtual 'map_values(1) | .whole_boot_virtual_ms = 40 | .whole_stop_virtual_ms = 30
        | .whole_vm_teardown_virtual_ms = 29'
    report
    python3 - "$D/stages.svg" <<'END'
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
bars = [(float(r.get("x")), float(r.get("width"))) for r in root.iter("{http://www.w3.org/2000/svg}rect")
        if r.get("x")]
stages = bars[:10]  # behind them the three whole ones
assert len(bars) == 13, bars
assert all(abs(x + width - after) < 0.3 for (x, width), (after, _) in zip(stages, stages[1:])), bars
assert abs(stages[2][1] / stages[7][1] - 40 / 29) < 0.01, bars
fills = {r.get("fill") for r in root.iter("{http://www.w3.org/2000/svg}rect")}
assert all(fill[1:3] == fill[3:5] == fill[5:7] for fill in fills), fills
END
    grep -qF '![stages of a run](stages.svg)' "$D/bench.md"
}

@test "without a cold start nothing is drawn" {
    part counts .
    report
    [ ! -e "$D/stages.svg" ]
    run grep -c stages.svg "$D/bench.md"
    [ "$output" -eq 0 ]
}

@test "what strace and the tracepoints say is counted as it should be" {
    python3 -B - <<'END'
import sys
sys.path.insert(0, "tools/bench")
import counts
import exits
seen = exits.counted([
    " x-1 [000] d.... 1.0: kvm_exit: vcpu 0 reason npf rip 0xffffffff81000000 info1 0x1",
    " x-1 [000] ..... 1.0: kvm_mmio: mmio unsatisfied-read len 4 gpa 0xd0000070 val 0x0",
    " x-1 [000] ..... 1.0: kvm_userspace_exit: reason KVM_EXIT_MMIO (6)",
    " x-1 [000] ..... 1.0: kvm_mmio: mmio read len 4 gpa 0xd0000070 val 0x1",
    " x-1 [000] ..... 1.0: kvm_mmio: mmio write len 4 gpa 0xd0000070 val 0x1",
    " x-1 [000] ..... 1.0: kvm_fast_mmio: fast mmio at gpa 0xd0001050",
    " x-1 [000] ..... 1.0: kvm_pio: pio_write at 0x21 size 1 count 1 val 0xff",
    " x-1 [000] ..... 1.0: kvm_userspace_exit: reason restart (4)"])
assert seen == {"hardware": {"npf": 1}, "userspace": {"mmio": 1, "interrupted": 1},
                "address": {"mmio 0xd0000070": 2, "mmio 0xd0001050": 1, "port 0x21": 1}}, seen
read = counts.bytes_read([
    '7 pread64(5, "x", 8, 0) = 8', '9 execveat(3, "vmrun-monitor", ...) = 0',
    '9 pread64(5, "x", 64, 0) = 64', '9 pread64(5,  <unfinished ...>', '8 read(5, "x", 9) = 9',
    '9 <... pread64 resumed>"x", 100, 0) = 100', '9 pread64(6, "x", 30, 0) = 30', '9 read(7, "", 9) = 9',
    '9 pread64(5, "x", 9, 0) = -1 EINTR (Interrupted)'])
assert read == {"kernel_bytes_read": 164, "initramfs_bytes_read": 30}, read
END
}
