#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/bench at its smallest size: it runs through, and its keys are the documented ones. (The section
# in virtual time is the first of them once more, on a slower machine.)

@test "a tiny benchmark writes every documented key and a page" {
    rm -rf build/bench-tiny
    tools/bench/bench --size tiny --out build/bench-tiny output load
    keys=$(jq -r 'keys[]' build/bench-tiny/bench.json | sort)
    documented=$(sed -nE '/^## Keys/,$ s/^\| `([a-z0-9_]+)` \|.*/\1/p' tools/bench/README.md | sort)
    echo "$keys"
    [[ $keys == "$documented" ]]
    [[ $(jq -r '.schema, .size, .load_runs, .load_failures' build/bench-tiny/bench.json | xargs) == "vmrun.bench/1 tiny 2 0" ]]
    jq -e '.supervisor_peak_rss_kib > 0 and .supervisor_peak_rss_kib < 16384' build/bench-tiny/bench.json
    grep -q '^| `load_failures` <= 0 | 0 | yes |$' build/bench-tiny/bench.md
}
