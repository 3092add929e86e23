#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures one section, on the machine that it runs on, and writes its figures as JSON.

    measure.py --size full|tiny --out FILE SECTION
    measure.py --list | --lab SECTION | --keys

A section is a module with KEYS, LAB (options of tools/lab) and measure(size) -> {key: value}. It gives
every key of KEYS and no other; a figure that cannot be had is None.
"""
import argparse
import json
import sys
import time

import blocks
import cold_virtual
import cold_wall
import counts
import crowd
import export
import jail
import load
import output
import output_virtual
import peers

SECTIONS = {"output": output, "output_virtual": output_virtual, "load": load, "export": export,
            "jail": jail,
            "cold_virtual": cold_virtual, "cold_wall": cold_wall, "counts": counts,
            "peers": peers,
            "crowd": crowd, "blocks": blocks}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--lab", choices=SECTIONS)
    parser.add_argument("--keys", action="store_true", help="the table in README.md")
    parser.add_argument("--size", choices=["full", "tiny"], default="full")
    parser.add_argument("--out")
    parser.add_argument("section", nargs="?", choices=SECTIONS)
    options = parser.parse_args()
    if options.list:
        print("\n".join(SECTIONS))
        return
    if options.keys:
        for section in SECTIONS.values():
            for key, (unit, what) in section.KEYS.items():
                print(f"| `{key}` | {unit} | {what} |")
        return
    if options.lab:
        print(SECTIONS[options.lab].LAB)
        return
    if not options.section or not options.out:
        parser.error("SECTION and --out are needed")
    section = SECTIONS[options.section]
    began = time.monotonic()
    figures = section.measure(options.size)
    if set(figures) != set(section.KEYS):
        sys.exit(f"bench: {options.section}: keys {sorted(set(figures) ^ set(section.KEYS))}")
    print(f"bench: {options.section}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    with open(options.out, "w", encoding="ascii") as file:
        json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
