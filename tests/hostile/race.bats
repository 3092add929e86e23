#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# lab: --cpus 2
# A guest that changes what a device is reading. Two processors: one for the guest, one for the device.

load hostile.bash

@test "descriptors, rings and headers that change while the device reads them" {
    villain race
    grep '^# ' "$console"
    cases 10
    # Both values were seen, or this was no race.
    grep -qE '^# [1-9][0-9]* answered, [0-9]+ refused, [1-9][0-9]* broken' "$console"
}
