#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a task writes, reads and hands over, where the pieces do not fit: characters across buffers,
# input that nobody reads, more output, input and artifacts than there is room for.

load e2e.bash

# events STREAM: joins the events of STREAM in $T/stdout into $T/decoded; $texts and $blobs count those
# that are text and those that are base64.
events() {
    local counts
    counts=$(python3 - "$T/stdout" "$1" "$T/decoded" <<'END'
import base64, json, sys
texts = blobs = 0
with open(sys.argv[3], "wb") as out:
    for line in open(sys.argv[1], "rb"):
        event = json.loads(line.decode())  # a line that is not UTF-8 ends here
        if event["event"] != "output" or event["stream"] != sys.argv[2]:
            continue
        if "text" in event:
            texts += 1
            out.write(event["text"].encode())  # half a surrogate pair ends here
        else:
            blobs += 1
            raw = base64.b64decode(event["b64"], validate=True)
            try:
                raw.decode()
                sys.exit("text came as base64")
            except UnicodeDecodeError:
                out.write(raw)
print(texts, blobs)
END
    )
    read -r texts blobs <<<"$counts"
}

@test "--events: no character is split, however it was written and wherever a buffer ends" {
    cat >"$T/write.py" <<'END'
import os, sys
text = ("a" + "\u00e9\u20ac\U0001f600" * 20000).encode()
step = int(sys.argv[1])
for at in range(0, len(text), step):
    os.write(1, text[at:at + step])
END
    # 4095 to 4097 cut a character at any place of a page; 65537 at the end of a pipe.
    for step in 4095 4097 65537; do
        task "python3 write.py $step" '[input]' "write.py = $T/write.py" '[limits]' 'stdout = 1M'
        rm -rf "$T/out"
        run_task --events -q
        expect ok 0
        events stdout
        ((texts > 0 && blobs == 0))
        [[ $(stat -c %s "$T/decoded") == 180001 ]]
        cmp "$T/decoded" "$T/out/stdout"
    done
}

@test "--events: one byte at a time is text all the same; what is no UTF-8 is base64, and only that" {
    cat >"$T/write.py" <<'END'
import os, time
for byte in "\u00e9\u20ac\U0001f600".encode():
    os.write(1, bytes([byte]))
    time.sleep(0.05)
os.write(1, b"\n")
time.sleep(0.5)
for bad in (b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"):
    os.write(2, bad)
    time.sleep(0.3)
    os.write(2, b"fine\n")
    time.sleep(0.3)
os.write(2, b"\xe2\x82")
END
    task 'python3 write.py' '[input]' "write.py = $T/write.py"
    run_task --events -q
    expect ok 0
    events stdout
    ((blobs == 0))
    [[ $(cat "$T/decoded") == é€😀 ]]
    events stderr
    cmp "$T/decoded" "$T/out/stderr"
    # Five that are never text, and one that could have become some; between them lines of text.
    ((blobs >= 6 && texts >= 5))
    [[ $(jq -r 'select(.stream == "stderr") | .text // empty' "$T/stdout" | sort -u | tr -d '\n') == fine ]]
}

@test "every byte that there is arrives, on both streams" {
    cat >"$T/write.py" <<'END'
import os
for value in range(256):
    os.write(1, bytes([value]) * 3)
    os.write(2, bytes([255 - value]) * 5)
END
    task 'python3 write.py' '[input]' "write.py = $T/write.py"
    run_task -q
    expect ok 0
    python3 - "$T" <<'END'
import sys
for name in (sys.argv[1] + "/", sys.argv[1] + "/out/"):
    assert open(name + "stdout", "rb").read() == b"".join(bytes([v]) * 3 for v in range(256))
    assert open(name + "stderr", "rb").read() == b"".join(bytes([255 - v]) * 5 for v in range(256))
END
}

@test "a background child that floods a stream does not hold up the end" {
    task "sh -c 'yes & sleep 0.3; exit 4'" '[limits]' 'stdout = 64K'
    run_task -q
    expect nonzero 4
    between 64000 "$(result .streams.stdout.total_bytes)" 10000000000
}

@test "a flood is counted to the last byte, and vmrun does not grow" {
    local bytes=$((32 << 20)) peak=0 now
    [[ ! ${VMRUN_LONG:-} ]] || bytes=$((1 << 30))
    task "head -c $bytes /dev/zero" '[limits]' 'stdout = 64K' 'wall = 900s'
    "$VMRUN" --config "$T/task.ini" -q >/dev/null 2>"$T/stderr" 3>&- &
    local pid=$!
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null) && [[ $now ]]; do
        peak=$now
        sleep 0.2
    done
    status=0
    wait "$pid" || status=$?
    expect ok 0
    [[ $(result .streams.stdout.total_bytes) == "$bytes" && $(result .streams.stdout.kept_bytes) == 65536 ]]
    echo "# $((bytes >> 20)) MiB, peak RSS of vmrun $peak KiB" >&3
    ((0 < peak && peak < 16384))
}

@test "input that the task does not read blocks nobody" {
    head -c 4000000 /dev/zero >"$T/in"
    task "sh -c 'head -c 10 | wc -c; exec 0<&-; sleep 0.3; echo done'" 'stdin = inherit'
    run_task <"$T/in"
    expect ok 0
    [[ $(tr -d ' ' <"$T/out/stdout") == $'10\ndone' ]]
    # An endless one neither, and it ends with the task.
    rm -rf "$T/out"
    run_task < <(yes)
    expect ok 0
}

@test "a file that is executable but no program is 126" {
    printf 'abc' >"$T/bad"
    chmod 755 "$T/bad"
    task './bad' '[input]' "bad = $T/bad"
    run_task
    expect start_failed 126
    [[ $(result .reason) == *"Exec format error"* ]]
}

@test "a task that ends by itself when it is told to has its exit code, and the limit" {
    task "sh -c 'trap \"echo bye; exit 7\" TERM; while :; do sleep 0.05; done'" '[limits]' 'wall = 1s'
    run_task -q
    expect limit 124
    [[ $(result .limit) == wall && $(result .exit_code) == 7 && $(cat "$T/out/stdout") == bye ]]
}

@test "inputs that the disk has no room for are named, and the task does not start" {
    head -c $((24 << 20)) /dev/urandom >"$T/large"
    task 'echo never' '[input]' "large = $T/large" '[limits]' 'disk = 16M'
    run_task
    [[ ! -s $T/out/stdout && $status == 125 ]]
    grep -q large "$T/stderr"
}

@test "artifacts past their size are left out, with a reason, and the others come" {
    task "sh -c 'mkdir o; for i in 1 2 3 4 5; do head -c 1000000 /dev/zero | tr \"\\\\0\" \$i >o/\$i; done; echo small >o/z'" \
        '[artifacts]' 'collect = o' 'max_total = 2500K'
    run_task
    result '.artifacts, .limits_hit, .reason'
    [[ $(cat "$T/out/artifacts/o/z") == small ]]
    for i in 1 2; do [[ $(tr -d "$i" <"$T/out/artifacts/o/$i" | wc -c) == 0 ]]; done
    for i in 3 4 5; do
        [[ ! -e $T/out/artifacts/o/$i ]]
        [[ $(result ".artifacts.skipped[] | select(.path == \"o/$i\") | .reason") != "" ]]
    done
}
