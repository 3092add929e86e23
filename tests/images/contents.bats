#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is in the dependency images, and whether its programs work the way a task finds them.

load helpers

setup_file() {
    need_images
    extract "$IMAGES/base.erofs" "$BATS_FILE_TMPDIR/base"
    extract "$IMAGES/data.erofs" "$BATS_FILE_TMPDIR/data"
}

teardown_file() {
    chmod -R u+w "$BATS_FILE_TMPDIR"
}

setup() {
    base=$BATS_FILE_TMPDIR/base
    data=$BATS_FILE_TMPDIR/data
}

nothing() { # what find printed must be empty; what it printed is the message
    [[ -z $output ]] || {
        echo "$output" | head -20 >&2
        return 1
    }
}

@test "data is at most 200 MB, base at most 80 MB" {
    (($(stat -c %s "$IMAGES/data.erofs") <= 200 * 1000 * 1000))
    (($(stat -c %s "$IMAGES/base.erofs") <= 80 * 1000 * 1000))
}

@test "the manifest names the image's size, digest, packages and what was left out" {
    local name
    for name in base data; do
        [ "$(manifest $name .image.sha256)" = "$(sha256_of "$IMAGES/$name.erofs")" ]
        [ "$(manifest $name .image.size_bytes)" = "$(stat -c %s "$IMAGES/$name.erofs")" ]
        (cd "$IMAGES" && sha256sum --check --quiet "$name.sha256")
        [ "$(manifest $name '.packages|all(.sha256|test("^[0-9a-f]{64}$"))')" = true ]
        [ "$(manifest $name '[(.left_out+.pruned)[]|select((.reason|length)<5)]|length')" = 0 ]
    done
    [ "$(manifest data '.packages[]|select(.name=="python3-numpy").name')" = python3-numpy ]
    [ "$(manifest data '.left_out[]|select(.package=="python3-scipy").package')" = python3-scipy ]
}

@test "every prune line of the recipes removes something" {
    for name in base data; do
        run manifest $name '.pruned[]|select(.entries==0).pattern'
        nothing
    done
}

@test "only plain files, folders and links; no set-id bits; nothing others can write" {
    run find "$base" "$data" ! -type f ! -type d ! -type l
    nothing
    run find "$base" "$data" ! -type l -perm /7022
    nothing
}

@test "everyone can read everything" {
    run find "$base" "$data" -type f ! -perm -0444
    nothing
    run find "$base" "$data" -type d ! -perm -0555
    nothing
}

@test "everything belongs to root" {
    ((EUID == 0)) || skip "only root can extract owners"
    run find "$base" "$data" ! \( -uid 0 -gid 0 \)
    nothing
}

@test "every file has the date of the manifest" {
    local date
    date=$(manifest data .date_of_files)
    run find "$data" ! -type l ! -newermt "@$((date - 1))" -o ! -type l -newermt "@$date"
    nothing
}

@test "the mount points are there and empty" {
    local point
    for point in $(manifest data '.mount_points[]'); do
        [[ -d $base$point && -d $data$point ]]
        run find "$base$point" "$data$point" -mindepth 1
        nothing
    done
    [ "$(manifest data '.mount_points|sort|join(" ")')" = "/dev /proc /run /sys /task /tmp" ]
}

@test "links lead to something in the image" {
    local link target place
    while IFS= read -r link; do
        target=$(readlink "$link")
        case $target in
            /*) place=$data$target ;;
            *) place=${link%/*}/$target ;;
        esac
        [[ -e $place || -L $place || $target == ../proc/* || $target == /run/lock ]] || {
            echo "$link -> $target" >&2
            return 1
        }
    done < <(find "$data" -type l)
}

@test "no trace of a machine: identity, package manager, logs, manuals, locales, init" {
    local path
    for path in etc/machine-id var/lib/dbus/machine-id var/lib/dpkg var/lib/apt var/cache/apt \
        etc/apt var/log etc/shadow usr/share/man usr/share/locale usr/sbin/init \
        var/cache/ldconfig usr/bin/perl usr/bin/dpkg; do
        [[ ! -e $data/$path && ! -L $data/$path ]] || {
            echo "/$path is there" >&2
            return 1
        }
    done
    [ "$(ls "$data/usr/lib/locale")" = C.utf8 ]
    run find "$data/usr/share/doc" -type f ! -name copyright
    nothing
}

@test "/etc: the users, the host's names, no name server, UTC" {
    grep -qx 'root:\*:0:0:root:/root:/bin/sh' "$base/etc/passwd"
    grep -qx 'task:\*:1000:1000:task:/task:/bin/sh' "$base/etc/passwd"
    grep -qx 'task:\*:1000:' "$base/etc/group"
    grep -q '^127.0.0.1.*localhost' "$base/etc/hosts"
    [ "$(cat "$base/etc/hostname")" = vmrun ]
    [[ -f $base/etc/resolv.conf && ! -s $base/etc/resolv.conf ]]
    [ "$(readlink "$base/etc/localtime")" = /usr/share/zoneinfo/Etc/UTC ]
    [[ -s $base/etc/ld.so.cache && -s $base/etc/ssl/certs/ca-certificates.crt ]]
}

@test "every program and library finds its libraries inside the image" {
    local loader file lines
    loader=$(echo "$data"/usr/lib/*-linux-gnu/ld-linux*)
    while IFS= read -r file; do
        lines=$("$loader" --inhibit-cache --library-path "${loader%/*}" --list "$file" 2>/dev/null |
            grep -F ' => ' | grep -vF " => $data/") || continue
        echo "$file: $lines" >&2
        return 1
    done < <(find "$data/usr/bin" "$data/usr/lib" -type f \( -name '*.so*' -o -perm -0100 \))
}

@test "the shell and the small tools work" {
    need_tree_runs "$base"
    run in_tree "$base" sh -c 'printf "b\na\n" | sort | sed s/a/c/ | awk "{print NR, \$1}" | grep 1
        id -un; date +%Z; which python; cat "$(find /etc -name hosts)" | head -1
        bash -c "echo \$((6*7))"'
    [ "$status" = 0 ]
    [ "$output" = $'1 c\ntask\nUTC\n/usr/bin/python\n127.0.0.1 localhost vmrun\n42' ]
}

@test "Python's standard library imports, silently" {
    need_tree_runs "$base"
    run in_tree "$base" python3 -W error -c '
import asyncio, bz2, collections, concurrent.futures, csv, ctypes, curses, datetime, decimal, email
import hashlib, http.client, json, logging, lzma, math, mimetypes, multiprocessing, pathlib, pickle
import random, re, readline, sched, select, socket, sqlite3, ssl, statistics, subprocess, tarfile
import tempfile, threading, unittest, urllib.request, uuid, xml.etree.ElementTree, zipfile, zlib
import zoneinfo
assert sqlite3.connect(":memory:").execute("select 6*7").fetchone() == (42,)
assert len(ssl.create_default_context().get_ca_certs()) > 50
assert zoneinfo.ZoneInfo("Europe/Berlin")
assert ctypes.CDLL(None).getpid() > 0
assert socket.getservbyname("https") == 443
print("fine")'
    [ "$output" = fine ]
}

@test "Python takes byte code from the image and compiles nothing at start" {
    need_tree_runs "$data"
    run in_tree "$data" python3 -v -c 'import csv, asyncio, matplotlib.pyplot'
    [ "$status" = 0 ]
    grep -q 'pyplot.cpython-311.pyc matches' <<<"$output"
    run grep -E "code object from '[^']*[.]py'|could not create|wrote '" <<<"$output"
    nothing
}

@test "NumPy: linear algebra, Fourier transform, random numbers" {
    need_tree_runs "$data"
    run in_tree "$data" python3 -W error -c '
import numpy as np, numpy.linalg, numpy.fft, numpy.random, numpy.ma, numpy.polynomial
a = np.random.default_rng(1).random((200, 200)) + np.eye(200)
assert np.allclose(np.linalg.solve(a, a @ np.ones(200)), 1)
assert np.allclose(np.linalg.inv(a) @ a, np.eye(200))
u, s, v = np.linalg.svd(a)
assert np.allclose(u @ np.diag(s) @ v, a)
assert np.allclose(np.linalg.eigvalsh(a + a.T).sum(), np.trace(a + a.T))
assert np.allclose(np.fft.ifft(np.fft.fft(a)).real, a)
print("fine")'
    [ "$output" = fine ]
}

# Draws a chart with text, mathematics and a legend; the format is the argument.
chart='
import sys
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(8, 6), dpi=100)
axes.plot([1, 2, 3], [3, 1, 2], label="µ, € and ä")
axes.set_title(r"$\alpha^2 + \frac{1}{x}$ Title")
axes.legend()
figure.savefig(sys.stdout.buffer, format=sys.argv[1])
'

@test "matplotlib draws a PNG of the asked size, with nothing on stderr" {
    need_tree_runs "$data"
    in_tree "$data" python3 -c "$chart" png >"$BATS_TEST_TMPDIR/chart.png" \
        2>"$BATS_TEST_TMPDIR/stderr"
    [ ! -s "$BATS_TEST_TMPDIR/stderr" ]
    file "$BATS_TEST_TMPDIR/chart.png" | grep -q 'PNG image data, 800 x 600'
    # Ink where the title is: a font was found and used.
    in_tree "$data" python3 -c '
import io, sys, base64
import matplotlib.image, numpy
png = base64.b64decode(sys.argv[1])
pixels = matplotlib.image.imread(io.BytesIO(png), format="png")[:70, 300:500, 0]
assert pixels.shape == (70, 200) and pixels.min() < 0.2, pixels.min()
' "$(base64 -w0 "$BATS_TEST_TMPDIR/chart.png")"
}

@test "matplotlib draws PDF, SVG and JPEG" {
    need_tree_runs "$data"
    local format
    for format in pdf svg jpg; do
        in_tree "$data" python3 -c "$chart" $format >"$BATS_TEST_TMPDIR/chart.$format" \
            2>"$BATS_TEST_TMPDIR/stderr"
        [ ! -s "$BATS_TEST_TMPDIR/stderr" ]
    done
    file "$BATS_TEST_TMPDIR/chart.pdf" | grep -q 'PDF document'
    file "$BATS_TEST_TMPDIR/chart.svg" | grep -q 'SVG'
    file "$BATS_TEST_TMPDIR/chart.jpg" | grep -q 'JPEG'
}

finds_ready_fonts() { # NAME=VALUE
    run in_tree "$data" env "$1" python3 -c '
import logging
logging.basicConfig(level=logging.DEBUG, format="%(message)s")
import matplotlib.font_manager as fonts
print("found", fonts.findfont("DejaVu Sans"))'
    [ "$status" = 0 ]
    echo "$output" | grep -qx 'found /usr/share/matplotlib/mpl-data/fonts/ttf/DejaVuSans.ttf'
    run grep -E 'generated new fontManager|font search path' <<<"$output"
    nothing
}

@test "matplotlib uses the image's font list, with any home" {
    need_tree_runs "$data"
    local environment
    for environment in A=1 HOME=/task HOME=/nonexistent; do
        finds_ready_fonts $environment
    done
}

@test "matplotlib still uses a folder that the user has made" {
    ((EUID == 0)) || skip "only root can give the tree a home folder with a file"
    need_tree_runs "$data"
    mkdir -p "$data/home/own/.config/matplotlib"
    echo 'figure.dpi: 55' >"$data/home/own/.config/matplotlib/matplotlibrc"
    chown -R 1000:1000 "$data/home/own"
    run in_tree "$data" env HOME=/home/own \
        python3 -c 'import matplotlib as m; print(m.rcParams["figure.dpi"])'
    [ "$output" = 55.0 ]
    finds_ready_fonts MPLCONFIGDIR=/home/own
    [ -z "$(find "$data/home/own" -name 'fontlist*')" ]
}
