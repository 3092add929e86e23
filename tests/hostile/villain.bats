#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest that uses every device wrongly, from inside: each case has the answer of the specification,
# the device serves a correct request afterwards, and the host sees nothing of it.

load hostile.bash

@test "registers: status, features, queues, sizes of access, resets" {
    villain mmio
    cases 90
}

@test "queues: chains, buffers, indices, rings over each other" {
    villain queue
    cases 58
}

@test "queues: buffers at and across the hole in RAM" {
    villain hole --set machine.memory=3200M
    cases 10
}

@test "disks: sectors, shapes of requests, types, ranges, the read-only one" {
    villain blk
    cases 68
}

@test "vsock: addresses, operations, lengths, storms, 10,000 connections" {
    villain vsock
    cases 56
}

@test "ports and addresses of every size, strings, a storm of HLT" {
    villain cpu
    cases 20
}
