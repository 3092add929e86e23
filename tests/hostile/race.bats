#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# lab: --cpus 2
# A guest that changes what a device is reading. Two processors: one for the guest, one for the device.

load hostile.bash

@test "descriptors, rings and headers that change while the device reads them" {
    villain race
    grep '^# ' "$console"
    cases 10
    # In each case the device has seen both values: 100 requests, and at any time either may be there.
    [[ $(grep -cE '^# [1-9][0-9]* answered, ' "$console") == 10 ]]
    [[ $(grep -cE '^# .*, ([1-9][0-9]* refused|[0-9]+ refused, [1-9][0-9]* broken)' "$console") == 10 ]]
}
