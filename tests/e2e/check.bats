#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --check, --plan and errors as JSON: a task without a run. Needs no KVM.

load e2e.bash

# nothing_made: what was shown left nothing behind.
nothing_made() {
    [[ ! -e $T/out && -z $(ls -A "$T/disks") ]]
}

@test "--check names every value and where it comes from" {
    task 'echo hi' '[limits]' 'wall = 5s'
    run_task --check --set machine.vcpus=2 --set limits.wall=7s
    [[ $status == 0 && ! -s $T/stderr ]]
    grep -qx 'wall = 7s *(--set)' "$T/stdout"
    grep -qx 'vcpus = 2 *(--set)' "$T/stdout"
    grep -qx "memory = 256M *($T/task.ini:[0-9]*)" "$T/stdout"
    grep -qx 'processes = 256 *(default)' "$T/stdout"
    grep -qx 'memory = 208M *(default)' "$T/stdout"
    grep -qx 'cpu = 14s *(default)' "$T/stdout"
    grep -qx 'idle = 7s *(default)' "$T/stdout"
    grep -qx 'inodes = 32768 *(default)' "$T/stdout"
    [[ $(grep -c '^\[limits\]$' "$T/stdout") == 1 ]] # a section stays together
    grep -qx 'sha256: not set *(default)' "$T/stdout"
    grep -q '^host memory needed: [0-9]*M$' "$T/stdout"
    nothing_made
}

@test "--check --json is one object: settings, files, memory" {
    echo data >"$T/file"
    task 'cat "a b"' '[input]' "f = $T/file"
    run_task --check --json --set limits.wall=7s
    [[ $status == 0 ]]
    [[ $(jq -r .schema "$T/stdout") == vmrun.check/1 && $(jq .valid "$T/stdout") == true ]]
    [[ $(jq -c .argv "$T/stdout") == '["cat","a b"]' ]]
    [[ $(jq -r '.settings[] | select(.key == "wall") | .value + " " + .origin' "$T/stdout") == "7s set" ]]
    [[ $(jq -r '.settings[] | select(.key == "boot") | .origin' "$T/stdout") == default ]]
    [[ $(jq -r '.settings[] | select(.key == "name") | .origin' "$T/stdout") == file ]]
    [[ $(jq '.files[] | select(.role == "input") | .bytes' "$T/stdout") == 5 ]]
    # RAM of the guest, and the disks, which lie on a tmpfs in the lab.
    [[ $(jq '.host_memory_bytes > 256 * 1048576' "$T/stdout") == true ]]
    [[ $(jq 'has("plan")' "$T/stdout") == false ]]
    nothing_made
}

@test "--check finds a file that is missing" {
    task 'true' '[input]' "f = $T/none"
    run_task --check
    [[ $status == 125 ]] && grep -q "task.ini:[0-9]*: \[input\] f: .*none" "$T/stderr"
    run_task --check --exit-code=status
    [[ $status == 3 ]]
}

@test "--plan names devices, command line, processes and their fds" {
    task 'true'
    run_task --plan --json
    [[ $status == 0 ]]
    [[ $(jq -c '[.plan.devices[] | .role]' "$T/stdout") == '["image","scratch","export","vsock"]' ]]
    [[ $(jq -c '[.plan.devices[] | .readonly]' "$T/stdout") == '[true,false,false,false]' ]]
    [[ $(jq -r '.plan.kernel_cmdline' "$T/stdout") == *panic=-1* ]]
    [[ $(jq -r '.plan.processes[0].fds["4"]' "$T/stdout") == /dev/kvm ]]
    [[ $(jq -c '[.plan.processes[] | .name]' "$T/stdout") == '["vmrun-monitor","vmrun-scribe"]' ]]
    [[ $(jq '.plan.limits.wall_ms' "$T/stdout") == 60000 ]]
    run_task --plan
    grep -q 'image .*virtio-blk .*, read-only' "$T/stdout"
    nothing_made
}

@test "--plan: the jails, what they are built on here, and the limits of each process" {
    task 'true' '[artifacts]' 'collect = x' '[limits]' 'disk = 300M'
    run_task --plan --json
    [[ $status == 0 && $(jq '.plan.processes | length' "$T/stdout") == 3 ]]
    jq -c .plan.jail "$T/stdout"
    if [[ $(jq -r .plan.jail.problem "$T/stdout") == null ]]; then
        [[ $(jq -r .plan.jail.ground "$T/stdout") == $( ((EUID)) && echo user_namespace || echo root) ]]
        [[ $(jq .plan.jail.refused "$T/stdout") == false ]]
    else
        [[ $(jq -c '.plan.jail | [.ground, .refused]' "$T/stdout") == '["weaker",true]' ]]
    fi
    for i in 0 1 2; do
        jq -e --argjson i $i '.plan.processes[$i].controls | index("seccomp") and index("no_capabilities")' "$T/stdout"
    done
    [[ $(jq -c '[.plan.processes[].resource_limits | .core_bytes]' "$T/stdout") == '[0,0,0]' ]]
    [[ $(jq '.plan.processes[0].resource_limits.file_bytes' "$T/stdout") == $((300 << 20)) ]]
    [[ $(jq -c '[.plan.processes[].resource_limits.data_bytes]' "$T/stdout") == "[null,null,$((8 << 20))]" ]]
    run_task --plan
    [[ $(grep -c '^  jail .* seccomp' "$T/stdout") == 3 ]]
    grep -q '^jails: ' "$T/stdout"
    nothing_made
}

@test "--check: memory that kernel and initramfs do not fit into is refused, one byte less is not" {
    # The end of the kernel in RAM is where the last of its segments ends.
    end=$(python3 - build/kernel/vmlinux <<'END'
import struct, sys
elf = open(sys.argv[1], "rb").read()
table, count = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<H", elf, 56)[0]
segments = [struct.unpack_from("<IIQQQQQ", elf, table + 56 * i) for i in range(count)]
print(max(s[4] + s[6] for s in segments if s[0] == 1))
END
    )
    room=$(((64 << 20) - (end + 4095) / 4096 * 4096))
    task 'true' '[limits]' 'memory = 24M'
    sed -i -e "/^\[machine\]/a initramfs = $T/initramfs" -e 's/^memory = 256M/memory = 64M/' "$T/task.ini"
    truncate -s "$room" "$T/initramfs"
    run_task --check
    [[ $status == 0 ]]
    truncate -s $((room + 1)) "$T/initramfs"
    run_task --check --json
    [[ $status == 125 ]]
    jq -c '.errors[0] | [.section, .key, .line]' "$T/stdout"
    [[ $(jq -c '.errors[0] | [.section, .key, .line > 0]' "$T/stdout") == '["machine","memory",true]' ]]
    # With what it says, it fits.
    more=$(jq -r '.errors[0].message' "$T/stdout" | grep -oE 'to [0-9]+M' | cut -d ' ' -f 2)
    run_task --check --set "machine.memory=$more"
    [[ $status == 0 ]]
    nothing_made
}

@test "stdout that cannot be written is an error" {
    task 'true'
    status=0
    "$VMRUN" --config "$T/task.ini" --check >/dev/full 2>"$T/stderr" || status=$?
    [[ $status == 125 ]]
    grep -q stdout "$T/stderr"
}

@test "doctor on a host without KVM, or with it: its JSON says what its exit code says" {
    status=0
    "$VMRUN" doctor --json >"$T/stdout" 2>"$T/stderr" || status=$?
    keep_shown --json
    [[ ! -s $T/stderr && $(jq .works "$T/stdout") == $([[ $status == 0 ]] && echo true || echo false) ]]
    # A program of ours that is missing is a FAIL, with what to do.
    mkdir -p "$T/lonely/bin"
    cp "$VMRUN" "$T/lonely/bin/"
    status=0
    "$T/lonely/bin/vmrun" doctor --json >"$T/stdout" 2>"$T/stderr" || status=$?
    keep_shown --json
    [[ $status == 1 && $(jq .works "$T/stdout") == false ]]
    [[ $(jq -r '.checks[] | select(.subject == "vmrun-scribe") | .grade + ": " + .remedy' "$T/stdout") == \
        'FAIL: build it with make' ]]
}

@test "--events: a task file with errors is one event" {
    task 'true' 'hostnam = x'
    run_task --events
    [[ $status == 125 && $(wc -l <"$T/stdout") == 1 ]]
    [[ $(jq -c '[.event, .errors[0].key]' "$T/stdout") == '["error","hostnam"]' ]]
}

@test "--json: the errors of a task file as JSON on stdout, and for people on stderr" {
    task 'true' 'hostnam = x' '[limits]' 'wall = 5'
    run_task --json
    [[ $status == 125 ]]
    [[ $(jq -r .schema "$T/stdout") == vmrun.errors/1 && $(jq '.errors | length' "$T/stdout") == 2 ]]
    [[ $(jq -c '.errors[1] | [.line, .section, .key]' "$T/stdout") == '[6,"limits","wall"]' ]]
    grep -q 'hostnam' "$T/stderr"
    run_task --json --exit-code=status --no-such-option
    [[ $status == 64 && $(jq .vmrun_exit_code "$T/stdout") == 64 ]]
    nothing_made
}
