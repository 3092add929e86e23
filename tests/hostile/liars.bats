#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest that lies to the host in the agent's place: each lie has its verdict, which names the rule that
# was broken, in time and without growth. Half of each table is told, LIAR_SEED=N repeats which;
# VMRUN_LONG=1 tells all.

load hostile.bash

setup_file() {
    make_image
    export LIAR_SEED=${LIAR_SEED:-$RANDOM}
    echo "# LIAR_SEED=$LIAR_SEED" >&3
}

# What each lie must come to: name, status, exit code, and what the reason says. tests/guest/liar/ has
# the lies.
lies() {
    tests/hostile/tell "$T" "$VMRUN" "$VILLAIN" "$image" "$@"
}

@test "streams: packets against the rules end the run with the rule's name" {
    lies <<'END'
rw-before-response|guest_failed|125|data before the connection is open
rw-after-shutdown|guest_failed|125|data after SHUTDOWN
credit-overrun|guest_failed|125|more data than there was credit for
fwd-cnt|guest_failed|125|fwd_cnt counts bytes that were never sent
fwd-cnt-half|guest_failed|125|fwd_cnt counts bytes that were never sent
response|guest_failed|125|RESPONSE without a REQUEST
op-0|guest_failed|125|operation of a packet is unknown
op-8|guest_failed|125|operation of a packet is unknown
type-seqpacket|guest_failed|125|type of a packet is not STREAM
payload-of-shutdown|guest_failed|125|other than RW has a payload
payload-too-long|guest_failed|125|longer than 64 KiB
payload-past-buffers|guest_failed|125|longer than its buffers
control-reset|guest_failed|125|closed its control stream
control-shutdown|guest_failed|125|closed its control stream
device-reset|guest_failed|125|driver reset the device
queue-broken-later|guest_failed|125|broke a device.*vsock: TX queue: .*9999
disk-broken-later|guest_failed|125|broke a device.*disk 1: .*9999
END
}

@test "streams: odd, but allowed" {
    lies <<'END'
same-request|ok|0|
second-streams|ok|0|
output-reset|ok|0|
half-close|ok|0|
credit-storm|ok|0|
input-backwards|ok|0|
small-buffer|guest_failed|125|triple fault
END
}

@test "streams: what a guest wrote before it died arrives" {
    lies <<'END'
last-words|guest_failed|125|triple fault
END
    [[ $(result .streams.stdout.total_bytes) == $((7 * 65536 + 1000)) ]] || fail "some of it is missing"
}

@test "messages: headers" {
    lies <<'END'
type-0|guest_failed|125|message type 0 is not part of the protocol
type-8|guest_failed|125|message type 8 is not part of the protocol
type-65535|guest_failed|125|message type 65535 is not part of the protocol
header-zero|guest_failed|125|is not part of the protocol
length-513|guest_failed|125|says 513 bytes; at most 512
length-max|guest_failed|125|says 4294967295 bytes; at most 512
job-of-guest|guest_failed|125|only the host sends
cancel-of-guest|guest_failed|125|only the host sends
END
}

@test "messages: HELLO" {
    lies <<'END'
hello-early|guest_failed|125|HELLO came before the streams were open
hello-0|guest_failed|125|HELLO has a wrong length \(0 bytes\)
hello-95|guest_failed|125|HELLO has a wrong length \(95 bytes\)
hello-97|guest_failed|125|HELLO has a wrong length \(97 bytes\)
hello-magic|guest_failed|125|wrong magic number \(0x12345678\)
hello-version|guest_failed|125|version 2 of the protocol
hello-zero|guest_failed|125|HELLO has a wrong length
hello-release|guest_failed|125|HELLO has a wrong length \(96 bytes\) or padding
hello-twice|guest_failed|125|HELLO came twice
hello-claims|ok|0|
hello-in-bytes|ok|0|
END
}

@test "messages: out of order" {
    lies <<'END'
started-first|guest_failed|125|out of order
exited-first|guest_failed|125|out of order
exported-first|guest_failed|125|out of order
exported-before-exited|guest_failed|125|out of order
started-twice|guest_failed|125|out of order
started-after-exited|guest_failed|125|out of order
exited-twice|guest_failed|125|out of order
exported-before-output-ends|guest_failed|125|EXPORTED came before the end of the output
after-exported|ok|0|
END
}

@test "messages: STARTED, EXITED" {
    lies <<'END'
started-15|guest_failed|125|STARTED has a wrong length \(15 bytes\)
started-17|guest_failed|125|STARTED has a wrong length \(17 bytes\)
started-control|guest_failed|125|control that does not exist
started-claims|ok|0|
exited-how-0|guest_failed|125|how 0 with code 0
exited-how-6|guest_failed|125|how 6 with code 0
exited-code-256|guest_failed|125|how 1 with code 256
exited-signal-0|guest_failed|125|how 2 with code 0
exited-signal-65|guest_failed|125|how 2 with code 65
exited-limit|guest_failed|125|limit that does not exist
exited-zero|guest_failed|125|EXITED has a wrong length
exited-reserved|guest_failed|125|EXITED has a wrong length
exited-short|guest_failed|125|EXITED has a wrong length \(73 bytes\)
exited-long|guest_failed|125|EXITED has a wrong length \(75 bytes\)
exited-text-past-end|guest_failed|125|EXITED has a wrong length
exited-text-257|guest_failed|125|EXITED has a wrong length
exited-text-nul|guest_failed|125|EXITED has a wrong length
exited-claims|ok|0|
END
}

@test "messages: EXPORTED, FATAL" {
    lies <<'END'
exported-39|guest_failed|125|EXPORTED has a wrong length \(39 bytes\)
exported-41|guest_failed|125|EXPORTED has a wrong length \(41 bytes\)
exported-zero|guest_failed|125|EXPORTED has a wrong length
exported-error|guest_failed|125|error 4096, which is no errno
exported-claims|ok|0|
fatal-escapes|guest_failed|125|liar
fatal-short|guest_failed|125|FATAL has a wrong length
fatal-error|guest_failed|125|error 4096, which is no errno
fatal-text-513|guest_failed|125|says 516 bytes|FATAL has a wrong length
END
}

@test "silence and half a message end with a limit, output without end too, and nothing grows" {
    lies --set limits.wall=2s <<'END'
silent-running|limit|124|time limit
output-without-end|limit|124|time limit
END
    lies --set limits.boot=2s <<'END'
hello-half|limit|124|boot
queue-broken|limit|124|boot
END
}

@test "output of any bytes, past its limits, is cut and harmless" {
    lies <<'END'
output-wild|ok|0|
END
    [[ $(result '.limits_hit | join(" ")') == "stdout stderr" ]]
}

@test "a guest that takes no job, or is silent after it, is ended" {
    [[ ${VMRUN_LONG:-} ]] || skip "takes two minutes: tests/check --long"
    lies --set limits.boot=20s --set limits.wall=2s <<'END'
no-buffer|guest_failed|125|did not start the task in time
silent-working|guest_failed|125|did not start the task in time
silent-exited|guest_failed|125|did not finish in time
END
}

@test "every lie that the guest can tell is in a table here" {
    local missing
    missing=$(comm -3 <(sed -nE 's/^    \{"([a-z0-9-]+)", LIAR_.*/\1/p' tests/guest/liar/*.c | sort) \
        <(sed -nE 's/^([a-z0-9-]+)\|.*/\1/p' "$BATS_TEST_FILENAME" | sort))
    echo "$missing"
    [[ -z $missing ]]
}
