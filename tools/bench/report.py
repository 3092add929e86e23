#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py --size SIZE --where host|lab DIR: DIR/parts/*.json become DIR/bench.json and DIR/bench.md."""
import argparse
import json
import os
import sys

from measure import SECTIONS

# What has to be reached: (key, at least or at most, bound). The page says what was and what was not.
TARGETS = (
    ("output_ratio_wall", ">=", 0.3),
    ("output_ratio_cpu", ">=", 0.3),
    ("output_ratio_cpu_less_digest", ">=", 0.3),
    ("output_virtual_ratio_wall", ">=", 0.3),
    ("output_virtual_ratio_cpu", ">=", 0.3),
    ("output_virtual_ratio_cpu_less_digest", ">=", 0.3),
    ("supervisor_peak_rss_kib", "<=", 16384),
    ("load_failures", "<=", 0),
    ("export_small_ratio", "<=", 2),
    ("export_large_ratio", "<=", 2),
    ("jail_ratio_root", "<=", 1),
    ("jail_ratio_user", "<=", 1),
    ("bare_over_qemu_virtual", "<=", 0.3),
    ("bare_over_qemu_wall", "<=", 0.5),
    ("whole_over_qemu_virtual", "<=", 0.75),
    ("whole_over_qemu_wall", "<=", 0.85),
    ("syscalls_before_run", "<=", 60),
    ("monitor_rss_kib", "<=", 3072),
    ("monitor_bytes_stripped", "<=", 409600),
)


def shown(value):
    if value is None:
        return "not measured"
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def reached(figures, key, sense, bound):
    value = figures.get(key)
    if value is None:
        return "not measured"
    return "yes" if (value >= bound if sense == ">=" else value <= bound) else "**no**"


def page(figures, options):
    yield "# Benchmark\n"
    yield f"Made by `make bench` (size {options.size}, on the {options.where}). How each figure is"
    yield "taken: `tools/bench/README.md`. Compare within one run only.\n"
    yield "| has to be | measured | reached |\n| --- | --- | --- |"
    for key, sense, bound in TARGETS:
        yield (f"| `{key}` {sense} {bound} | {shown(figures.get(key))} "
               f"| {reached(figures, key, sense, bound)} |")
    for name, section in SECTIONS.items():
        yield f"\n## {name}\n\n{section.__doc__}\n\n| key | value | unit | what |\n| --- | --- | --- | --- |"
        for key, (unit, what) in section.KEYS.items():
            yield f"| `{key}` | {shown(figures[key])} | {unit} | {what} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", required=True)
    parser.add_argument("--where", required=True)
    parser.add_argument("dir")
    options = parser.parse_args()
    figures = {}
    for name, section in SECTIONS.items():
        figures.update(dict.fromkeys(section.KEYS))  # every key, whatever was measured
        path = f"{options.dir}/parts/{name}.json"
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                figures.update(json.load(file))
    whole = {"schema": "vmrun.bench/1", "size": options.size, "where": options.where, **figures}
    with open(f"{options.dir}/bench.json", "w", encoding="ascii") as file:
        json.dump(whole, file, indent=2)
        file.write("\n")
    with open(f"{options.dir}/bench.md", "w", encoding="utf-8") as file:
        file.write("\n".join(page(figures, options)) + "\n")
    print(f"bench: {options.dir}/bench.md, {options.dir}/bench.json", file=sys.stderr)


if __name__ == "__main__":
    main()
