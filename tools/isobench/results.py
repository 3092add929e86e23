# SPDX-License-Identifier: Apache-2.0
"""What was measured, as one document: doc/isobench.schema.json."""
import statistics

from limits import ATTEMPT, LIMITS
from rows import BY_ID, ROWS

SCHEMA = "vmrun.isobench/1"
# Of these a plain process must lose nearly all, or the probes are broken.
CONTROL_FAMILIES, CONTROL_SHARE = ("visibility", "containment"), 0.9
UNPROVEN = "nothing is shown: no plain process, as root, lost this row here"


def merge(repeats):
    """One cell out of the verdicts of its repeats: all the same, or flaky."""
    outcomes = [verdict.outcome for verdict in repeats]
    values = [verdict.value for verdict in repeats if verdict.value is not None]
    cell = {"outcome": outcomes[0], "evidence": repeats[0].evidence,
            "value": statistics.median(values) if values else None,
            "unit": next((verdict.unit for verdict in repeats if verdict.unit), ""),
            "repeats": [{"outcome": verdict.outcome, "evidence": verdict.evidence,
                         "value": verdict.value} for verdict in repeats]}
    if len(set(outcomes)) > 1:
        counts = ", ".join(f"{outcomes.count(one)} {one}" for one in sorted(set(outcomes)))
        cell.update(outcome="flaky", evidence=f"of {len(outcomes)} repeats {counts}: "
                    + "; ".join(sorted({verdict.evidence for verdict in repeats})))
    elif cell["outcome"] == "measured" and len(values) > 1:
        cell["evidence"] += f" (median of {len(values)}; {min(values):.4g} to {max(values):.4g})"
    return cell


def control_of(cells):
    """What the negative control says of the probes: {row: outcome of none as root}."""
    return {row_id: cell["outcome"] for (row_id, backend, user), cell in cells.items()
            if backend == "none" and user == "root" and BY_ID[row_id].control}


def distrust(cells):
    """A held cell shows nothing where the plain process did not lose."""
    control = control_of(cells)
    for (row_id, backend, _), cell in cells.items():
        if backend != "none" and cell["outcome"] == "held" and BY_ID[row_id].control and \
                control.get(row_id) not in ("lost", "flaky"):
            cell.update(outcome="not_run", evidence=f"{UNPROVEN}; seen: {cell['evidence']}")


def control_report(cells):
    """Did the plain process lose nearly all that it has to?"""
    decided = {row_id: outcome for row_id, outcome in control_of(cells).items()
               if BY_ID[row_id].family in CONTROL_FAMILIES and outcome != "not_run"}
    kept = sorted(row_id for row_id, outcome in decided.items() if outcome != "lost")
    good = bool(decided) and len(decided) - len(kept) >= CONTROL_SHARE * len(decided)
    return {"good": good, "lost": len(decided) - len(kept), "of": len(decided), "not_lost": kept}


def document(verdicts, backends, about):
    """verdicts: {(row id, backend, user): [Verdict...]}; backends: [{name, version, not_run}]."""
    cells = {key: merge(repeats) for key, repeats in verdicts.items()}
    control = control_report(cells)
    distrust(cells)
    rows = []
    for row in ROWS:
        of_row = [{"backend": backend, "user": user, "expected": row.expected(backend), **cell}
                  for (row_id, backend, user), cell in cells.items() if row_id == row.id]
        if of_row:
            rows.append({"id": row.id, "family": row.family, "title": row.title,
                         "attacker": row.attacker, "observed_on_host": row.observed,
                         "lost_when": row.lost, "cells": of_row})
    return {"schema": SCHEMA, **about, "limits": LIMITS, "attempts": ATTEMPT, "backends": backends,
            "control": control, "rows": rows}
