#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What comes out of a guest, what does not, and where it goes: each time with the whole manifest.

load e2e.bash
load artifacts/artifacts.bash

@test "one of everything: links, pipes, devices, modes, names, holes, archives, depth" {
    python_task odd.py 'collect = out, nothing, also-not' 'max_depth = 12' 'optional = also-not'
    run_task
    expect ok 0
    [[ $(result '.limits_hit | join(" ")') == artifacts ]]
    expect_manifest <tests/e2e/artifacts/odd.expected
    check_files
    # What the task made and nobody would call portable is said to be so, and nothing is lost.
    [[ $(result '[.artifacts.list[] | select(.kind == "file")] | length') == 76 ]]
    [[ $(result .artifacts.unlisted) == 0 ]]
}

@test "types: what the content is decides, not the name; what is two things is none" {
    python_task typed.py 'collect = t' 'types = png, jpeg, pdf, csv, json, text'
    run_task
    expect ok 0
    expect_manifest <tests/e2e/artifacts/typed.expected
    check_files
}

@test "types: one that was not declared does not come, and refuse means all" {
    python_task typed.py 'collect = t/good*' 'types = png, json'
    run_task
    expect ok 0
    expect_manifest <<'END'
d t 0755
f t/good.PNG2 0644 67 png
f t/good.json 0644 24007 json
f t/good.png 0644 67 png
- t/good.csv type_mismatch csv
- t/good.jpeg type_mismatch jpeg
- t/good.jpg type_mismatch jpeg
- t/good.pdf type_mismatch pdf
- t/good.txt type_mismatch text
partial 3 24141 0
END
    check_files
    rm -r "$T/out"
    run_task --set artifacts.on_violation=refuse
    expect artifacts_failed 125
    expect_manifest <<'END'
- t/good.csv type_mismatch csv
- t/good.jpeg type_mismatch jpeg
- t/good.jpg type_mismatch jpeg
- t/good.pdf type_mismatch pdf
- t/good.txt type_mismatch text
refused 0 0 0 "t/good.csv": type_mismatch; on_violation is refuse
END
    [[ $(ls -A "$T/out/artifacts" | wc -l) == 0 ]]
}

@test "caps: inside, at and past each of them" {
    python_task caps.py 'collect = size' 'max_file = 1000B' 'max_total = 100K'
    run_task
    expect ok 0
    expect_manifest <<'END'
d size 0755
f size/1000 0644 1000 text
f size/999 0644 999 text
- size/1001 file_too_big
- size/holes file_too_big
partial 2 1999 0
END
    check_files
    rm -r "$T/out"
    run_task --set artifacts.collect=total --set artifacts.max_total=5000B
    expect ok 0
    expect_manifest <<'END'
d total 0755
f total/0 0644 1000 text
f total/1 0644 1000 text
f total/2 0644 1000 text
f total/3 0644 1000 text
f total/4 0644 1000 text
- total/5 total_too_big
partial 5 5000 0
END
    check_files
    rm -r "$T/out"
    run_task --set artifacts.collect=depth --set artifacts.max_depth=4
    expect ok 0
    expect_manifest <<'END'
d depth 0755
d depth/2 0755
d depth/2/3 0755
d depth/2/3/4 0755
f depth/2/3/file4 0644 0 text
- depth/2/3/4/5 too_deep
- depth/2/3/4/file5 too_deep
partial 1 0 0
END
    check_files
    rm -r "$T/out"
    run_task --set artifacts.collect=count --set artifacts.max_files=5
    expect ok 0
    # As many are listed as left out as may come out; the others are counted.
    expect_manifest <<'END'
d count 0755
d count/00 0755
f count/00/x 0644 0 text
d count/01 0755
f count/01/x 0644 0 text
- count/02 too_many_files
- count/03 too_many_files
- count/04 too_many_files
- count/05 too_many_files
- count/06 too_many_files
partial 2 0 33
END
    check_files
}

@test "patterns, required, optional" {
    task "sh -c 'mkdir a b .c; touch a/1.png a/2.png a/3.txt b/1.png .c/1.png x.log; ln -s a link'" \
        '[limits]' 'boot = 60s' '[artifacts]' 'collect = */?.png, x.*, no*, maybe' 'optional = maybe' \
        'required = a/*.png, x.log'
    run_task
    expect ok 0
    expect_manifest <<'END'
d a 0755
f a/1.png 0644 0 text
f a/2.png 0644 0 text
d b 0755
f b/1.png 0644 0 text
f x.log 0644 0 text
- link symlink
- maybe missing
- no* missing
partial 4 0 0
END
    check_files
    rm -r "$T/out"
    run_task --set 'artifacts.collect=b, maybe' --set artifacts.required=b --set artifacts.on_violation=refuse
    expect ok 0
    expect_manifest <<'END'
d b 0755
f b/1.png 0644 0 text
- maybe missing
complete 1 0 0
END
    rm -r "$T/out"
    run_task --set 'artifacts.collect=b, maybe' --set 'artifacts.required=b/*.txt'
    expect artifacts_failed 125
    [[ $(result .reason) == *'b/*.txt'* ]]
}

@test "a bundle: one archive, the same each time, with the same rules" {
    python_task typed.py 'collect = t/good*, t/more.png' 'types = png, json, text' 'bundle = tar.gz'
    run_task
    expect ok 0
    [[ $(ls -A "$T/out" | tr '\n' ' ') == "artifacts.tar.gz manifest.json result.json stderr stdout " ]]
    expect_manifest <<'END'
d t 0755
f t/good.PNG2 0644 67 png
f t/good.json 0644 24007 json
f t/good.png 0644 67 png
f t/good.txt 0644 6 text
- t/good.csv type_mismatch csv
- t/good.jpeg type_mismatch jpeg
- t/good.jpg type_mismatch jpeg
- t/good.pdf type_mismatch pdf
- t/more.png type_mismatch data
partial 4 24147 0
END
    diff -u - <(TZ=UTC LC_ALL=C tar --numeric-owner -tvzf "$T/out/artifacts.tar.gz" | tr -s ' ') <<'END'
drwxr-xr-x 0/0 0 1970-01-01 00:00 t/
-rw-r--r-- 0/0 67 1970-01-01 00:00 t/good.PNG2
-rw-r--r-- 0/0 24007 1970-01-01 00:00 t/good.json
-rw-r--r-- 0/0 67 1970-01-01 00:00 t/good.png
-rw-r--r-- 0/0 6 1970-01-01 00:00 t/good.txt
END
    mkdir "$T/unpacked"
    tar -xzf "$T/out/artifacts.tar.gz" -C "$T/unpacked"
    (cd "$T/unpacked" && jq -r '.entries[] | select(.kind == "file") | .sha256 + "  " + .exported' \
        "$T/out/manifest.json" | sha256sum --quiet -c)
    digest=$(result .artifacts.bundle.sha256)
    [[ $(sha256sum <"$T/out/artifacts.tar.gz") == "$digest  -" ]]
    rm -r "$T/out"
    run_task
    [[ $(result .artifacts.bundle.sha256) == "$digest" ]]
    rm -r "$T/out"
    run_task --set artifacts.on_violation=refuse
    expect artifacts_failed 125
    [[ $(ls -A "$T/out" | tr '\n' ' ') == "manifest.json result.json stderr stdout " ]]
}

@test "a thousand random files, there and back" {
    mkdir "$T/in"
    python3 - "$T/in" <<'END'
import os, random, sys
random.seed(7)
for number in range(1000):
    folder = os.path.join(sys.argv[1], "%02d" % (number % 20))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "%d" % number), "wb") as file:
        file.write(random.randbytes(random.choice((0, 1, 511, 4096, 10000, 70000))))
END
    task 'true' '[limits]' 'boot = 60s' '[input]' "in = $T/in" '[artifacts]' 'collect = in' 'max_files = 1021'
    run_task
    expect ok 0
    [[ $(result .artifacts.status) == complete && $(result .artifacts.files) == 1000 ]]
    diff -r "$T/in" "$T/out/artifacts/in"
    check_files
    [[ $(jq '.entries | length' "$T/out/manifest.json") == 1021 ]]
    # The result lists a thousand and says how many more there are.
    [[ $(result '.artifacts.list | length') == 1000 && $(result .artifacts.unlisted) == 21 ]]
}
