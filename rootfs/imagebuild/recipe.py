# SPDX-License-Identifier: Apache-2.0
"""Reads a recipe: a folder with a file `recipe`, and maybe `files/` and hooks.

The statements are described in rootfs/README.md. A recipe that says `from OTHER` is appended to the
other one, so that the plan holds everything in order.
"""

import hashlib
import os
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

from .report import BuildError

# What @triplet@ in a recipe stands for: the name of the folder of this architecture's libraries.
TRIPLET = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"


@dataclass
class Plan:
    name: str
    chain: list = field(default_factory=list)      # names of the recipes, the first one first
    packages: list = field(default_factory=list)
    left_out: dict = field(default_factory=dict)   # package -> reason
    prune: list = field(default_factory=list)      # (pattern, reason)
    keep: list = field(default_factory=list)       # (pattern, reason), stronger than prune
    links: list = field(default_factory=list)      # (path, target)
    overlays: list = field(default_factory=list)   # folders copied over the tree
    hooks: list = field(default_factory=list)      # programs run on the tree
    folders: list = field(default_factory=list)
    digest: str = ""


def load(recipe, rootfs):
    folder = Path(recipe) if "/" in recipe else rootfs / "recipes" / recipe
    plan = Plan(name=folder.resolve().name)
    read_recipe(plan, folder.resolve(), rootfs)
    plan.digest = digest_of_files(
        [path for folder in plan.folders for path in sorted(folder.rglob("*"))])
    if not plan.packages:
        raise BuildError(f"{folder / 'recipe'}: no `package` line, nothing to build")
    return plan


def read_recipe(plan, folder, rootfs):
    path = folder / "recipe"
    if not path.is_file():
        known = " ".join(sorted(p.parent.name for p in rootfs.glob("recipes/*/recipe")))
        raise BuildError(f"no recipe {path}; there are: {known}; "
                         f"a recipe of your own is named by its folder, with a slash")
    if folder in plan.folders:
        raise BuildError(f"{path}: `from` goes in a circle")
    plan.folders.append(folder)
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        words = line.replace("@triplet@", TRIPLET).split()
        if words and not words[0].startswith("#"):
            read_statement(plan, folder, rootfs, f"{path}:{number}", words)
    plan.chain.append(folder.name)
    if (folder / "files").is_dir():
        plan.overlays.append(folder / "files")


def read_statement(plan, folder, rootfs, where, words):
    keyword, arguments = words[0], words[1:]
    reason = " ".join(arguments[1:])
    if keyword == "from" and len(arguments) == 1:
        base = arguments[0]
        read_recipe(plan, (folder / base).resolve() if "/" in base
                    else rootfs / "recipes" / base, rootfs)
    elif keyword == "package" and arguments:
        plan.packages += arguments
    elif keyword == "leave-out" and reason:
        plan.left_out[arguments[0]] = reason
    elif keyword in ("prune", "keep") and reason and arguments[0].startswith("/"):
        (plan.prune if keyword == "prune" else plan.keep).append((arguments[0], reason))
    elif keyword == "link" and len(arguments) == 2 and arguments[0].startswith("/"):
        plan.links.append((arguments[0], arguments[1]))
    elif keyword == "hook" and len(arguments) == 1:
        hook = folder / arguments[0]
        if not os.access(hook, os.X_OK):
            raise BuildError(f"{where}: {hook} is not an executable file")
        plan.hooks.append(hook)
    else:
        raise BuildError(
            f"{where}: cannot read `{' '.join(words)}`; expected one of: from RECIPE | "
            f"package NAME... | leave-out PACKAGE REASON | prune /PATTERN REASON | "
            f"keep /PATTERN REASON | link /PATH TARGET | hook PROGRAM")


def digest_of_files(paths):
    """One digest for names and contents: what decides whether an image is up to date."""
    total = hashlib.sha256()
    for path in paths:
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{path.name} {content}\n".encode())
    return total.hexdigest()
