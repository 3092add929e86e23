#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The README's commands and the examples, as a newcomer would run them; guests run on this host or in
# the lab, as `make` decides.

setup_file() {
    WHERE=$(tools/where)
    export WHERE
}

@test "make demo draws the chart" {
    make demo
    [[ $(file -b build/demo/artifacts/chart.png) == "PNG image data, 960 x 540,"* ]]
    [[ $(jq -r .status build/demo/result.json) == ok ]]
    [[ $(cat build/demo/stdout) == "4383 rows, 3 stations: chart.png" ]]
    [[ ! -s build/demo/stderr ]]
}

@test "the hello example runs as the README says" {
    line=$(grep -m1 -E '^    build/bin/vmrun --config .*hello' README.md)
    rm -rf build/hello
    if [[ $WHERE == host ]]; then
        run $line --output build/hello
    else
        run tools/lab --timeout 120 -- $line --output build/hello --set machine.workdir=/tmp --set machine.workdir_tmpfs=yes
    fi
    [ "$status" -eq 0 ]
    [[ $output == *"hello from a machine of its own"* ]]
    [[ $(cat build/hello/stdout) == "hello from a machine of its own" ]]
}

# Where no guest can run, vmrun must get as far as that: file, image and inputs were accepted.
@test "the task of README.md works as it is pasted" {
    rm -rf build/readme
    mkdir -p build/readme/a/b
    cp tools/examples/csv-chart/{chart.py,weather.csv} build/readme/a/b/
    sed -n '/^```ini$/,/^```$/{/^```/!p}' README.md >build/readme/a/b/task.ini
    sed -i 's|\.\./\.\./\.\./build/images|../../../images|' build/readme/a/b/task.ini
    run build/bin/vmrun --config build/readme/a/b/task.ini --output build/readme/out
    echo "$output"
    if [[ $WHERE == host ]]; then
        [ "$status" -eq 0 ]
        [[ -s build/readme/out/artifacts/chart.png ]]
    else
        [ "$status" -eq 125 ]
        [[ ${#lines[@]} == 1 && $output == "vmrun: "*@(KVM|/dev/kvm)* && ! -e build/readme/out ]]
    fi
}

@test "vmrun --help and --version work, and doctor says PASS or FAIL with a remedy" {
    build/bin/vmrun --help | grep -q -- '--config'
    build/bin/vmrun --version | grep -q '^vmrun '
    run build/bin/vmrun doctor
    [[ $output == *PASS* || $output == *FAIL* ]]
    if [[ $WHERE == host ]]; then [ "$status" -eq 0 ]; else [ "$status" -eq 1 ]; fi
}

@test "every make target and path that the README names exists" {
    for target in $(grep -oE 'make [a-z-]+' README.md | cut -d' ' -f2 | sort -u); do
        make -n "$target" >/dev/null
    done
    for path in $(grep -oE '`(vmm|tests|rootfs|tools)/[^ `]*`' README.md | tr -d '`'); do
        [ -e "$path" ] || { echo "$path is missing"; false; }
    done
}
