#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sample_page.py OUT: the page of a made-up result with every outcome in it; prints how many cells."""
import os
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TREE + "/tools/isobench")

# pylint: disable=wrong-import-position
import report
import results
from rows import ROWS
from rows.base import BACKENDS, held, lost, measured, not_run


def main():
    kinds = ([held("kept")], [lost("taken")], [measured(-12345.6, "per GiB", "evidence <b>&amp;</b>" + 300 * "x")], [not_run("no reason")],
             [held("kept"), lost("taken")])
    verdicts = {(row.id, backend, user): kinds[(i + 2 * j + k) % len(kinds)]
                for i, row in enumerate(ROWS) for j, backend in enumerate(BACKENDS)
                for k, user in enumerate(("root", "user"))}
    about = {"profile": "full", "repeats": 1, "where": "lab", "seconds": 0,
             "host": {"release": "0", "version": "0", "cpus": 1, "ram_bytes": 1 << 30}}
    document = results.document(verdicts, [{"name": name, "version": "0", "not_run": None}
                                           for name in BACKENDS], about)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(report.page(document))
    print(len(verdicts))


if __name__ == "__main__":
    main()
