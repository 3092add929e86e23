# SPDX-License-Identifier: Apache-2.0
"""From .deb files to the finished file tree.

mmdebstrap unpacks (its variant `extract`, in which nothing is installed: no dpkg database, no
maintainer script, no chroot). The few things that maintainer scripts would have done and a task
needs are statements of the recipe. What could differ between two builds is then set to one value.
"""

import fnmatch
import os
import shutil
import stat
from pathlib import Path

from .report import BuildError

# One date for every file, so that the day of the build leaves no trace (2024-01-01 UTC).
EPOCH = 1704067200

# Where the guest mounts something; empty in the image.
MOUNT_POINTS = ["proc", "sys", "dev", "run", "tmp", "task"]

# What unpacking itself leaves behind.
LEFT_BY_UNPACKING = ["etc/apt", "etc/fstab", "etc/hostname", "etc/resolv.conf", "var/cache/apt",
                     "var/lib/apt", "var/lib/dpkg"]

# Debian's merged /usr: links in place of these folders, made before anything is unpacked.
MERGED_USR = ["bin", "sbin", "lib", "lib64"]


def make(plan, debs, work, report):
    """Returns the tree's folder and what was pruned: a list of dictionaries for the manifest."""
    root = work / "root"
    report.step(f"unpacking {len(debs)} packages")
    unpack(debs, work, root, report)
    clear_leftovers(root)
    set_modes(root)

    report.step("finishing the tree", detail=True)
    for folder in plan.overlays:
        lay_over(folder, root)
    for path, target in plan.links:
        make_link(root, path, target)
    python = make_python(root, work)
    for hook in plan.hooks:
        report.run([hook, root], env=hook_environment(python))

    pruned = prune(plan, root)
    compile_python(root, work, python, report)
    # Last among the writers, and with the image's own tool: its version is part of the file.
    if (root / "sbin/ldconfig").exists():
        report.run([root / "sbin/ldconfig", "-r", root])
        shutil.rmtree(root / "var/cache/ldconfig", ignore_errors=True)
    set_modes(root)
    return root, pruned


def unpack(debs, work, root, report):
    repository = work / "repository"
    repository.mkdir()
    with open(repository / "Packages", "w", encoding="utf-8") as index:
        for deb in debs:
            os.symlink(deb.path, repository / deb.path.name)
            # No dependencies: the set is complete, what it leaves out shall not be missed.
            index.write(f"Package: {deb.name}\nVersion: {deb.version}\n"
                        f"Architecture: {deb.arch}\nFilename: ./{deb.path.name}\n"
                        f"Size: {deb.path.stat().st_size}\nSHA256: {deb.sha256}\n\n")
    setup = work / "setup"
    setup.write_text(
        "#!/bin/sh\nset -eu\n"
        f"for name in {' '.join(MERGED_USR)}; do\n"
        '    mkdir -p "$1/usr/$name"\n    ln -s "usr/$name" "$1/$name"\ndone\n', encoding="utf-8")
    setup.chmod(0o755)
    # In this mode mmdebstrap changes no root; the variant makes sure that it runs nothing either.
    uri = str(repository).replace("%", "%25").replace(" ", "%20")
    report.run(
        ["mmdebstrap", "--mode=chrootless", "--variant=extract", "--format=directory",
         "--skip=check/empty", "--aptopt=APT::Sandbox::User \"root\"",
         f"--setup-hook={setup}", f"--include={','.join(deb.name for deb in debs)}",
         "", root, f"deb [trusted=yes] copy:{uri} ./"],
        env={**os.environ, "TMPDIR": str(work)})


def clear_leftovers(root):
    for name in LEFT_BY_UNPACKING:
        remove(root / name)
    for name in MOUNT_POINTS:
        remove(root / name)
        (root / name).mkdir()


def lay_over(folder, root):
    for source in sorted(folder.rglob("*")):
        target = root / source.relative_to(folder)
        if source.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        # Never through a link: an absolute one would lead out of the tree.
        remove(target)
        shutil.copy2(source, target, follow_symlinks=False)


def make_link(root, path, target):
    link = Path(f"{root}{path}")
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_dir() and not link.is_symlink() and not os.listdir(link):
        link.rmdir()
    if os.path.lexists(link):
        raise BuildError(f"link {path}: a package already brings this path")
    os.symlink(target, link)
    found = os.path.normpath(f"{root}{target}" if target.startswith("/") else link.parent / target)
    below = os.path.relpath(found, root).split("/")[0]
    if below not in MOUNT_POINTS and not os.path.lexists(found):
        raise BuildError(f"link {path}: there is no {target} in the image")


def prune(plan, root):
    """Removes what the recipe lists, and says for each line what it took away.

    A folder that is empty afterwards goes too: Python would take it for an empty package.
    """
    pruned = [{"pattern": pattern, "reason": reason, "entries": 0, "bytes": 0}
              for pattern, reason in plan.prune]
    emptied = set()
    for folder, subfolders, files in os.walk(root, topdown=False):
        for name in files + subfolders:
            path = os.path.join(folder, name)
            shown = path[len(str(root)):]
            entry = match(shown, plan.keep, pruned)
            if os.path.isdir(path) and not os.path.islink(path):
                if (entry or path in emptied) and not os.listdir(path):
                    os.rmdir(path)
                    emptied.add(folder)
                    if entry:
                        entry["entries"] += 1
            elif entry:
                entry["entries"] += 1
                entry["bytes"] += os.lstat(path).st_size
                os.unlink(path)
                emptied.add(folder)
    return pruned


def match(shown, keep, pruned):
    """The first line of the prune list that means this path, unless a `keep` line does."""
    if any(fnmatch.fnmatchcase(shown, pattern) for pattern, _ in keep):
        return None
    return next((entry for entry in pruned if fnmatch.fnmatchcase(shown, entry["pattern"])), None)


def make_python(root, work):
    """A program that starts the tree's own Python where it lies, or None if it has none.

    The tree's dynamic loader is told where the tree's libraries are; so no chroot and no right to
    make one is needed. Nothing of the caller's environment gets through.
    """
    # The file itself: the well-known name is a link, absolute, to this machine's loader.
    loaders = sorted(root.glob("usr/lib/*-linux-gnu/ld-linux*"))
    pythons = sorted((root / "usr/bin").glob("python3.[0-9]*[0-9]"))
    if not loaders or not pythons:
        return None
    libraries = [path for pattern in ("usr/lib/*-linux-gnu", "usr/lib")
                 for path in sorted(root.glob(pattern))]
    program = work / "python"
    program.write_text(
        "#!/bin/sh\n"
        f"exec env -i LC_ALL=C.UTF-8 TZ=UTC PATH=/nonexistent HOME=/nonexistent \\\n"
        f"    PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 PYTHONHOME='{root}/usr' \\\n"
        f"    '{loaders[0]}' --library-path '{':'.join(map(str, libraries))}' \\\n"
        f"    '{pythons[-1]}' -s \"$@\"\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def hook_environment(python):
    return {**os.environ, "TREE_PYTHON": str(python or "")}


def compile_python(root, work, python, report):
    """Byte code for all modules: the guest's root is read-only, it cannot keep its own."""
    if python is None:
        return
    for cache in list(root.rglob("__pycache__")):
        shutil.rmtree(cache)
    report.step("compiling Python modules")
    script = Path(__file__).with_name("compile_tree.py")
    for folder in sorted((root / "usr/lib").glob("python3*")):
        report.run([python, script, root, folder, str(EPOCH), str(os.cpu_count() or 1)])


def set_modes(root):
    """Plain modes only: no set-id bits, nothing unreadable, nothing writable for others."""
    for folder, subfolders, files in os.walk(root):
        for name in subfolders + files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                continue
            if stat.S_ISDIR(mode):
                os.chmod(path, 0o755)
            elif stat.S_ISREG(mode):
                os.chmod(path, 0o755 if mode & 0o100 else 0o644)
            else:
                raise BuildError(f"{path} is neither file, folder nor link")
    os.chmod(root, 0o755)


def remove(path):
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
