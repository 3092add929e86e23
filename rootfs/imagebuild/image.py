# SPDX-License-Identifier: Apache-2.0
"""From the tree to NAME.erofs, its digest and its manifest."""

import hashlib
import json
import re
import subprocess
import uuid

from . import packages
from .tree import EPOCH, MOUNT_POINTS

FORMAT_VERSION = 1
BLOCK_BYTES = 4096


def make(plan, debs, root, pruned, inputs, outdir, report):
    report.step("writing the image")
    temporary = outdir / f".{plan.name}.erofs.new"
    temporary.unlink(missing_ok=True)
    # No compression: reading is what costs in the guest, and the images are small without it.
    # No xattrs, whatever the building machine labels its files with.
    report.run(["mkfs.erofs", "--quiet", "-x", "-1", "-T", EPOCH, "--all-root",
                "-U", uuid.uuid5(uuid.NAMESPACE_DNS, f"{plan.name}.image.vmrun"),
                "-E", "force-inode-compact", temporary, root])
    digest = file_sha256(temporary)
    manifest = {
        "format": FORMAT_VERSION,
        "name": plan.name,
        "image": {
            "file": f"{plan.name}.erofs",
            "file_system": "erofs, uncompressed",
            "block_bytes": BLOCK_BYTES,
            "size_bytes": temporary.stat().st_size,
            "sha256": digest,
        },
        "architecture": architecture(),
        "release": f"Debian {packages.RELEASE}",
        "recipes": plan.chain,
        "date_of_files": EPOCH,
        "mount_points": [f"/{name}" for name in MOUNT_POINTS],
        "packages": [{"name": deb.name, "version": deb.version, "architecture": deb.arch,
                      "sha256": deb.sha256} for deb in debs],
        "left_out": [{"package": name, "reason": reason}
                     for name, reason in sorted(plan.left_out.items())],
        "pruned": pruned,
        "inputs": inputs,
        "tools": tool_versions(),
    }
    publish(outdir, plan.name, temporary, manifest)
    report.step(f"{plan.name}.erofs, {manifest['image']['size_bytes'] / 1e6:.1f} MB, "
                f"sha256 {digest}")


def publish(outdir, name, temporary, manifest):
    """The manifest goes last: it is what says that the image beside it is complete."""
    digest = manifest["image"]["sha256"]
    (outdir / f"{name}.json").unlink(missing_ok=True)
    temporary.rename(outdir / f"{name}.erofs")
    write(outdir / f"{name}.sha256", f"{digest}  {name}.erofs\n")
    write(outdir / f"{name}.json", json.dumps(manifest, indent=2) + "\n")


def write(path, text):
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.rename(path)


def is_up_to_date(outdir, name, inputs):
    try:
        manifest = json.loads((outdir / f"{name}.json").read_text(encoding="utf-8"))
        return (manifest["inputs"] == inputs and
                manifest["image"]["sha256"] == file_sha256(outdir / f"{name}.erofs"))
    except (OSError, ValueError, KeyError):
        return False


def file_sha256(path):
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def architecture():
    return subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()


def tool_versions():
    def first_line(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        return (done.stdout.splitlines() or [""])[0]
    erofs = first_line("mkfs.erofs", "--help")
    version = re.search(r"\d+\.\d+(\.\d+)?", first_line("dpkg-query", "-W", "erofs-utils"))
    return {"mkfs.erofs": version.group() if version else erofs,
            "mmdebstrap": first_line("mmdebstrap", "--version"),
            "apt": first_line("apt-get", "--version")}
