#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py --size SIZE --where host|lab DIR: DIR/parts/*.json become DIR/bench.json, DIR/bench.md and
DIR/stages.svg."""
import argparse
import json
import os
import sys

import cold
import waterfall
from measure import SECTIONS

HERE = os.path.dirname(os.path.abspath(__file__))
NO = "**no**"
MOST_SHOWN = 12  # of a figure that is a table of its own: all are in bench.json

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
    ("t3_over_t2", "<=", 0.05),
    ("t3_over_t2_wall", "<=", 0.05),
    ("blk_read_ratio_qemu", ">=", 1),
    ("blk_write_ratio_qemu", ">=", 0.9),
    ("scratch_hole_left_mib", "<=", 8),
    ("cpu_per_task_32_over_1", "<=", 1.3),
    ("idle_monitor_wakeups", "<=", 0),
    ("monitor_rss_kib", "<=", 3072),
    ("monitor_bytes_stripped", "<=", 409600),
)


def shown(value):
    if value is None:
        return "not measured"
    if isinstance(value, dict):
        most = sorted(value.items(), key=lambda item: -item[1])
        text = ", ".join(f"{name} {count}" for name, count in most[:MOST_SHOWN])
        return text + (f", and {len(most) - MOST_SHOWN} more" if len(most) > MOST_SHOWN else "")
    return str(value) if isinstance(value, (int, str)) else f"{value:.4g}"


def reached(figures, key, sense, bound):
    value = figures.get(key)
    if value is None or isinstance(value, str):
        return "not measured"
    return "yes" if (value >= bound if sense == ">=" else value <= bound) else NO


def must_reach(figures):
    """The table, and for what was not reached where to read on."""
    yield "| has to be | measured | reached |\n| --- | --- | --- |"
    missed = []
    for key, sense, bound in TARGETS:
        verdict = reached(figures, key, sense, bound)
        if verdict == NO:
            missed.append(key)
        yield f"| `{key}` {sense} {bound} | {shown(figures.get(key))} | {verdict} |"
    if missed:
        yield ("\nNot reached: " + ", ".join(f"`{key}`" for key in missed) + ". What was tried, and what "
               "the remaining time is made of: [below](#what-was-tried-for-a-faster-cold-start).")


def stages(figures):
    """The waterfall and its table."""
    yield "\n## Stages of a whole run\n\n![stages of a run](stages.svg)\n"
    yield "Each from the one before it; the last two lines are the whole (T2), and T3 without what the"
    yield "kernel takes to free the VM. Medians, ms.\n"
    yield "| stage | virtual | wall | what |\n| --- | --- | --- | --- |"
    rows = [*cold.MOMENTS.items(), ("whole", "T2: from exec to the end of vmrun"),
            ("t3_own", "T3 without the kernel's teardown of the VM")]
    for name, what in rows:
        virtual, wall = (shown(figures[f"{name}_{kind}_ms"]) for kind in ("virtual", "wall"))
        yield f"| {name} | {virtual} | {wall} | {what} |"


def tried():
    """tried.md, one level of headings further down."""
    with open(HERE + "/tried.md", encoding="utf-8") as file:
        for line in file:
            yield ("#" if line.startswith("#") else "") + line.rstrip("\n")


def page(figures, options):
    yield "# Benchmark\n"
    yield f"Made by `make bench` (size {options.size}, on the {options.where}). How each figure is"
    yield "taken: `tools/bench/README.md`. Compare within one run only.\n"
    yield from must_reach(figures)
    if waterfall.svg(figures):
        yield from stages(figures)
    for name, section in SECTIONS.items():
        yield f"\n## {name}\n\n{section.__doc__}\n\n| key | value | unit | what |\n| --- | --- | --- | --- |"
        for key, (unit, what) in section.KEYS.items():
            yield f"| `{key}` | {shown(figures[key])} | {unit} | {what} |"
    yield ""
    yield from tried()


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
    drawing = waterfall.svg(figures)
    if drawing:
        with open(f"{options.dir}/stages.svg", "w", encoding="ascii") as file:
            file.write(drawing)
    print(f"bench: {options.dir}/bench.md, {options.dir}/bench.json", file=sys.stderr)


if __name__ == "__main__":
    main()
