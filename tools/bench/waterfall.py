# SPDX-License-Identifier: Apache-2.0
"""The stages of a whole run as an SVG, one bar below the other, and what bare and QEMU take as a whole.
Greys and words only, so that it can be printed; each bar says its figure."""
import html

# (key of bench.json without whole_ and _KIND_ms, what it says, grey of the bar)
STAGES = (
    ("prepare", "prepare: task file, disks, inputs", "#ffffff"),
    ("launch", "launch: processes, jails, machine", "#d8d8d8"),
    ("boot", "boot: the guest's kernel, agent says HELLO", "#888888"),
    ("setup", "set-up: disks mounted, task's cage made", "#d8d8d8"),
    ("run", "task: from its start to its exit", "#222222"),
    ("export", "export: artifacts on their disk", "#d8d8d8"),
    ("stop_own", "stop: vCPUs stand still", "#ffffff"),
    ("vm_teardown", "the kernel takes the VM apart", "#888888"),
    ("teardown", "logs closed, artifacts checked", "#d8d8d8"),
    ("outside", "result.json; start and end of vmrun", "#ffffff"),
)
# Behind which stage a moment of the README is.
MOMENTS = {"launch": "T0", "boot": "T1", "run": "task exit", "export": "sealed", "outside": "T2, T3"}
WIDTH, LABEL, BAR, ROW = 900, 300, 500, 22


def stages_of(figures, kind):
    """[(what, grey, start, length, moment)], ms; empty when the section was not measured."""
    value = {name: figures.get(f"whole_{name}_{kind}_ms") for name, _, _ in STAGES}
    stop = figures.get(f"whole_stop_{kind}_ms")
    if stop is None:
        return []
    value["stop_own"] = stop - value["vm_teardown"]
    rows, at = [], 0.0
    for name, what, grey in STAGES:
        rows.append((what, grey, at, value[name], MOMENTS.get(name)))
        at += value[name]
    return rows


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def bar(y, row, scale):
    what, grey, start, length, moment = row
    x, width = LABEL + start * scale, max(length * scale, 1)
    yield text(LABEL - 8, y + 15, what, "end")
    yield (f'<rect x="{x:.1f}" y="{y + 3:.1f}" width="{width:.1f}" height="{ROW - 6}" fill="{grey}" '
           'stroke="#000000"/>')
    yield text(x + width + 5, y + 15, f"{length:.1f}" + (f"  | {moment}" if moment else ""))


def panel(figures, kind, title, top):
    """SVG lines, and where the panel ends."""
    rows = stages_of(figures, kind)
    if not rows:
        return [], top
    whole = [(what, grey, 0, figures[f"{name}_{kind}_ms"], None) for name, what, grey in (
        ("whole", "vmrun of true, as a whole", "#888888"),
        ("qemu", "QEMU: boot and exit only", "#d8d8d8"),
        ("bare", "vmrun-monitor: boot and exit only", "#888888"))]
    scale = BAR / max(start + length for _, _, start, length, _ in rows + whole)
    lines = [text(10, top + 16, title)]
    for number, row in enumerate(rows + whole):
        lines += bar(top + 24 + number * ROW + (8 if number >= len(rows) else 0), row, scale)
    bottom = top + 24 + (len(rows) + len(whole)) * ROW + 8
    lines.append(f'<line x1="{LABEL}" y1="{top + 24}" x2="{LABEL}" y2="{bottom}" stroke="#000000"/>')
    return lines, bottom + 16


def svg(figures):
    """None when no cold start was measured."""
    lines, bottom = [], 8
    for kind, title in (("virtual", "Instruction-counted time, ms (medians)"),
                        ("wall", "Time by the clock, ms (medians)")):
        more, bottom = panel(figures, kind, title, bottom)
        lines += more
    if not lines:
        return None
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom}" '
            f'viewBox="0 0 {WIDTH} {bottom}" font-family="sans-serif" font-size="12">')
    return "\n".join([head, f'<rect width="{WIDTH}" height="{bottom}" fill="#ffffff"/>', *lines,
                      "</svg>"]) + "\n"
