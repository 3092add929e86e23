# SPDX-License-Identifier: Apache-2.0
# For the tests of artifacts: tasks in Python, and manifests as lines that can be compared.

# python_task FILE LINE...: a task that runs FILE of this folder, with `boot` for busy machines.
python_task() {
    local script=$1
    shift
    task "python3 -I -S $script" '[limits]' 'boot = 60s' 'wall = 300s' '[input]' \
        "$script = $PWD/tests/e2e/artifacts/$script" '[artifacts]' "$@"
}

# manifest_lines: everything in $T/out/manifest.json but digests, one line each. Very long names are cut.
# Entries that came out: kind, path, exported path if it differs, mode, size, type, "odd" if not portable.
manifest_lines() {
    jq -r '
        def name: .path // ("base64:" + .path_base64);
        def line: map(select(. != null and . != "") | tostring) | join(" ");
        (.entries[] | [.kind[0:1], name, (if .exported == name then null else "=> " + .exported end),
            .claimed_mode, .size, .type, (if .portable then null else "odd" end)] | line),
        (.skipped[] | ["-", name, .reason, .type] | line),
        ([.status, .files, .bytes, .unlisted, .reason] | line)' "$T/out/manifest.json" |
        sed -E -e 's/l{250}/l{250}/g' -e 's/n{255}/n{255}/g'
}

# expect_manifest: stdin is what manifest_lines has to be.
expect_manifest() {
    manifest_lines >"$T/manifest.lines"
    diff -u - "$T/manifest.lines"
}

# check_files: artifacts/ holds exactly what the manifest says, with those digests, modes and kinds.
check_files() {
    python3 - "$T/out" <<'END'
import hashlib, json, os, stat, sys
out = sys.argv[1]
top = os.path.join(out, "artifacts")
manifest = json.load(open(os.path.join(out, "manifest.json")))
wanted = {entry["exported"]: entry for entry in manifest["entries"]}
found = set()
for folder, dirs, files in os.walk(top):
    for name in dirs + files:
        path = os.path.join(folder, name)
        below = os.path.relpath(path, top)
        entry, status = wanted[below], os.lstat(path)
        found.add(below)
        if entry["kind"] == "directory":
            assert stat.S_ISDIR(status.st_mode) and status.st_mode & 0o7777 == 0o755, below
            continue
        assert stat.S_ISREG(status.st_mode) and status.st_nlink == 1, below
        mode = 0o755 if int(entry["claimed_mode"], 8) & 0o111 else 0o644
        assert status.st_mode & 0o7777 == mode and status.st_size == entry["size"], below
        assert not os.listxattr(path), below
        digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
        assert digest == entry["sha256"], below
assert found == set(wanted), found ^ set(wanted)
assert manifest["files"] == sum(entry["kind"] == "file" for entry in wanted.values())
END
}
