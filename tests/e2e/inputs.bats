#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a task finds below /task: files and directories as they are, archives unpacked in the guest.

load e2e.bash

# script TEXT [LINE...]: a task that runs TEXT with sh; [input] is the open section for the lines.
script() {
    printf '%s\n' "$1" >"$T/script.sh"
    shift
    task 'sh script.sh' '[input]' 'script.sh = script.sh' "$@"
}

# A machine that many share may be slow to boot guests; none of this is about that.
go() {
    run_task --set limits.boot=60s "$@"
}

# tree_of DIR: kind, mode, path, link target and content of all that is in DIR.
tree_of='cd "$1" && find . -mindepth 1 -printf "%y %m %P %l\n" | LC_ALL=C sort &&
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum'

# told TEXT...: no output was made, and the error has each TEXT.
told() {
    [[ $status == 125 && ! -e $T/out ]]
    for text in "$@"; do grep -qF -- "$text" "$T/stderr"; done
}

# unset_up TEXT: the guest refused to set the task up, and said TEXT.
unset_up() {
    expect start_failed 125
    [[ $(result .reason) == *"cannot unpack the input in: "*"$1"* ]] || { result .reason && return 1; }
}

@test "a directory comes with holes and odd names, belongs to the task, and has plain modes" {
    mkdir -p "$T/in/sub"
    printf 'hello\n' >"$T/in/file"
    printf x >"$T/in/$(printf 'n\tl\nx\377')"
    install -m 700 /dev/null "$T/in/run"
    chmod 400 "$T/in/file"
    chmod 700 "$T/in/sub"
    truncate -s 1G "$T/in/sparse"
    printf end | dd of="$T/in/sparse" bs=1 seek=1000000000 conv=notrunc status=none
    script 'cd data/in && stat -c "%a %u:%g %n" . file run sub && du -k sparse | cut -f1
        tail -c +1000000001 sparse | head -c 3 && echo && ls | tail -c +1 | od -c | head -1
        printf more >>file && cat file && stat -c %s sparse' 'data/in = in' '[limits]' 'disk = 64M'
    go -q
    expect ok 0
    diff "$T/stdout" - <<-'END'
	755 1000:1000 .
	644 1000:1000 file
	755 1000:1000 run
	755 1000:1000 sub
	4
	end
	0000000   f   i   l   e  \n   n  \t   l  \n   x 377  \n   r   u   n  \n
	hello
	more1073741824
	END
}

@test "500 files of random size and content arrive as they are" {
    python3 - "$T/in" <<-'END'
	import os, random, sys
	random.seed(4)
	for i in range(500):
	    folder = os.path.join(sys.argv[1], *[f"d{random.randrange(4)}" for _ in range(i % 4)])
	    os.makedirs(folder, exist_ok=True)
	    with open(f"{folder}/{i}", "wb") as file:
	        for _ in range(random.randrange(4)):
	            file.write(random.randbytes(random.choice([1, 511, 4096, 70000])))
	            file.seek(random.choice([0, 0, 4096, 100000]), 1)
	        file.truncate()
	END
    script "set -- in; $tree_of" 'in = in'
    go -q
    expect ok 0
    chmod -R u=rwX,go=rX "$T/in"
    sh -c "$tree_of" sh "$T/in" | diff - "$T/stdout"
    (($(wc -l <"$T/stdout") > 1000))
}

@test "links and other kinds are refused by name, and nothing is created" {
    mkdir "$T/in"
    ln -s /etc/passwd "$T/in/link"
    script true 'in = in'
    go
    told '[input] in = in: in/link: it is a symbolic link' follow_links
    rm "$T/in/link"
    mkfifo "$T/in/fifo"
    go
    told 'in/fifo: it is a FIFO; inputs must be regular files and directories'
    rm "$T/in/fifo"
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/in/s"
    go
    told 'in/s: it is a socket'
    rm "$T/in/s"
    for device in /dev/zero /dev/kmsg; do
        script true "dev = $device"
        go
        told "[input] dev: $device: it is a device"
    done
}

@test "links are followed on request, within the input directory only" {
    mkdir -p "$T/in/a" "$T/in/b"
    printf inner >"$T/in/b/f"
    ln -s ../b/f "$T/in/a/link"
    ln -s b "$T/in/dir"
    ln -s in "$T/outer"
    script 'cat in/a/link in/dir/f; find in -type l' 'in = outer' '[input_options]' 'follow_links = yes'
    go -q
    expect ok 0
    [[ $(cat "$T/stdout") == innerinner ]]
    rm -r "$T/out"
    ln -s ../../script.sh "$T/in/a/out"
    go
    told 'in/a/out: it is a symbolic link that leads out of the input directory'
    ln -sf .. "$T/in/a/out"
    go
    told 'in/a/out: it is a symbolic link to a directory that it lies in'
}

@test "the caps of inputs: what fits comes, one more byte or file is refused" {
    mkdir "$T/in"
    printf 12345 >"$T/in/a"
    script 'cat in/a' 'in = in' '[input_options]' "max_total = $(($(stat -c %s "$T/script.sh") + 9))B" \
        'max_files = 3'
    bytes=$((5 + $(stat -c %s "$T/script.sh")))
    go -q --set "input_options.max_total=${bytes}B"
    expect ok 0
    go --output "$T/out2" --set "input_options.max_total=$((bytes - 1))B"
    grep -F 'raise [input_options] max_total' "$T/stderr"
    go --output "$T/out2" --set input_options.max_files=2
    grep -F 'more than 2 files and directories; raise [input_options] max_files' "$T/stderr"
    [[ ! -e $T/out2 ]]
}

@test "a file that grows while it is read ends the run by its name" {
    mkdir "$T/in"
    head -c 64M /dev/urandom >"$T/in/big"
    script true 'in = in'
    (while printf x >>"$T/in/big"; do :; done) &
    writer=$!
    go
    kill "$writer"
    wait "$writer" || true
    told 'in/big: it changed while it was read'
}

# archive: $T/a.tar with every kind that can be unpacked.
archive() {
    mkdir -p "$T/a/d/empty"
    printf hello >"$T/a/d/file"
    install -m 750 /dev/null "$T/a/run"
    head -c 300000 /dev/urandom >"$T/a/data"
    printf long >"$T/a/$(printf 'n%.0s' {1..150})"
    ln "$T/a/d/file" "$T/a/hard"
    ln -s ../../etc/passwd "$T/a/symbolic"
    tar -C "$T/a" -cf "$T/a.tar" "$@" .
    chmod 755 "$T/a/run"
}

@test "a .tar and a .tar.gz become directories of the task's, as tar itself would make them" {
    for format in gnu pax ustar; do
        archive --format="$format" --exclude='nnn*'
        gzip -k "$T/a.tar"
        script "set -- tar; ($tree_of); set -- in/gz; ($tree_of); stat -c '%u:%g' tar tar/run tar/data; ls -l in" \
            'tar = a.tar' 'in/gz = a.tar.gz' '[input_options]' 'unpack = tar, in/gz'
        go -q
        expect ok 0
        rm -f "$T/a"/nnn*
        sh -c "$tree_of" sh "$T/a" >"$T/tree"
        cat "$T/tree" "$T/tree" - <<<$'1000:1000\n1000:1000\n1000:1000' >"$T/expected"
        diff "$T/expected" <(grep -v -e '^total' -e '^drwx.* gz$' "$T/stdout")
        rm -r "$T/out" "$T/a" "$T/a.tar" "$T/a.tar.gz"
    done
}

@test "long names of GNU tar and pax come through" {
    for format in gnu pax; do
        archive --format="$format"
        script 'cat tar/nnn*; ls tar | tail -n +4 | head -1 | tr -d "\n" | wc -c' 'tar = a.tar' \
            '[input_options]' 'unpack = tar'
        go -q
        expect ok 0
        [[ $(cat "$T/stdout") == "long150" ]]
        rm -r "$T/out" "$T/a" "$T/a.tar"
    done
}

# refuse_tar TEXT [--set ...]: the archive a.tar is refused with TEXT.
refuse_tar() {
    local text=$1
    shift
    script true 'in = a.tar' '[input_options]' 'unpack = in'
    rm -rf "$T/out"
    go "$@"
    unset_up "$text"
}

# make_tar PYTHON: a.tar of what PYTHON adds with add(name, data, type, link).
make_tar() {
    python3 - "$T/a.tar" <<-END
	import io, sys, tarfile
	from tarfile import CHRTYPE, LNKTYPE, REGTYPE, SYMTYPE, TarInfo, USTAR_FORMAT
	archive = tarfile.open(sys.argv[1], "w", format=USTAR_FORMAT)
	def add(name, data=b"", type=REGTYPE, link=""):
	    info = TarInfo(name)
	    info.size, info.type, info.linkname = len(data), type, link
	    archive.addfile(info, io.BytesIO(data))
	$1
	archive.close()
	END
}

@test "archives that lead out of their directory, or hold what is no file, are refused" {
    make_tar 'add("../f", b"x")'
    refuse_tar '../f: it leads upwards'
    make_tar 'add("/tmp/f", b"x")'
    refuse_tar '/tmp/f: it is an absolute path'
    make_tar 'add("out", type=SYMTYPE, link="/tmp"); add("out/f", b"x")'
    refuse_tar 'out/f: it lies below, or replaces, what is no directory'
    make_tar 'add("h", type=LNKTYPE, link="../../etc/passwd")'
    refuse_tar 'h: it is a link out of the archive'
    make_tar 'add("null", type=CHRTYPE)'
    refuse_tar 'null: it is a device or a FIFO'
    printf 'no archive at all' >"$T/a.tar"
    refuse_tar 'the archive is cut short'
}

@test "bombs end at the limits of bytes, files and depth" {
    python3 - "$T/a.tar" <<-'END'
	import io, sys, tarfile
	class Zeroes(io.RawIOBase):
	    def read(self, size): return bytes(size)
	with tarfile.open(sys.argv[1], "w:gz") as archive:
	    for i in range(8):
	        info = tarfile.TarInfo(f"bomb{i}")
	        info.size = 4 << 20
	        archive.addfile(info, Zeroes())
	END
    (($(stat -c %s "$T/a.tar") < 200000))
    refuse_tar 'bomb5: with it the archive unpacks to more than [input_options] max_total' \
        --set limits.disk=32M --set input_options.max_total=20M
    refuse_tar 'bomb1: with it' --set input_options.max_total=7M
    # A disk that is too small for what the limits allow is full.
    refuse_tar ': cannot make it: No space left on device' \
        --set limits.disk=16M --set input_options.max_total=1G
    make_tar '[add(f"f{i}") for i in range(1000)]'
    refuse_tar 'f999: the archive has more files and directories' --set input_options.max_files=999
    # The number of files that the task may have holds as well: the process is the task's user.
    refuse_tar 'f499: cannot make it: Quota exceeded' --set limits.inodes=500
    make_tar 'add("/".join("d" * 65), b"x")'
    refuse_tar "d/d/d/d"
}

@test "an archive is unpacked with the memory of the task, in a cgroup of its own" {
    head -c 24M /dev/urandom >"$T/data"
    tar -C "$T" -cf "$T/a.tar" data
    # A cgroup that is gone is counted as long as the kernel remembers pages of its files.
    script 'sha256sum <in/data; grep ^memory /proc/cgroups' 'in = a.tar' '[input_options]' 'unpack = in'
    go --set limits.memory=8M
    expect ok 0
    [[ $(head -n 1 "$T/stdout") == "$(sha256sum <"$T/data")" ]]
    with=$(awk 'NR == 2 {print $3}' "$T/stdout")
    rm -rf "$T/out"
    script 'sha256sum <in; grep ^memory /proc/cgroups' 'in = data'
    go --set limits.memory=8M
    expect ok 0
    echo "cgroups: $with with an archive, $(awk 'NR == 2 {print $3}' "$T/stdout") without"
    [[ $with == $(($(awk 'NR == 2 {print $3}' "$T/stdout") + 1)) ]]
}

@test "a damaged .tar.gz is refused, wherever the damage is" {
    archive
    gzip -c "$T/a.tar" >"$T/good.gz"
    size=$(stat -c %s "$T/good.gz")
    head -c $((size - 4)) "$T/good.gz" >"$T/a.tar"
    refuse_tar 'the gzip file is cut short'
    cp "$T/good.gz" "$T/a.tar"
    printf '\377\377\377\377' | dd of="$T/a.tar" bs=1 seek=$((size - 8)) conv=notrunc status=none
    refuse_tar 'the gzip file is damaged'
}

@test "what unpack names must be an input, and a file" {
    mkdir "$T/in"
    script true 'in = in' '[input_options]' 'unpack = in'
    go
    told 'it is a directory, and [input_options] unpack wants a .tar'
    go --set input_options.unpack=other
    told 'unpack: other is not the destination of a line of [input]'
}
