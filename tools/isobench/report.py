# SPDX-License-Identifier: Apache-2.0
"""The result as Markdown, and as one page of HTML that needs nothing else."""
import html

from rows.base import BACKENDS, FAMILIES, OUTCOMES

# A letter, a fill and a pattern each: the page is read in black and white, too.
LOOK = {
    "held": ("H", "#ffffff", ""), "lost": ("L", "#4a4a4a", ""), "flaky": ("F", "#ffffff", "stripes"),
    "measured": ("·", "#f0f0f0", ""), "not_run": ("–", "#ffffff", "dots"),
}
EDGE = {"held": "#1a7f37", "lost": "#cf222e", "flaky": "#9a6700", "measured": "#57606a",
        "not_run": "#8c959f"}
MEANING = {"held": "it kept this from the program", "lost": "the program got this",
           "flaky": "repeats differ", "measured": "a number, no verdict",
           "not_run": "not tried, or nothing shown: see the evidence"}
LEFT, TOP, WIDTH, HEIGHT = 360, 60, 96, 20
# No script and nothing from elsewhere, whatever a sandbox has said that is shown here.
RULE = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"


def users(document):
    found = {cell["user"] for row in document["rows"] for cell in row["cells"]}
    return [user for user in ("root", "user") if user in found]


def backends(document):
    return [name for name in BACKENDS if any(one["name"] == name for one in document["backends"])]


def find(row, backend, user):
    return next((cell for cell in row["cells"] if cell["backend"] == backend and cell["user"] == user),
                None)


def number(cell):
    return f"{cell['value']:.4g} {cell['unit']}".strip() if cell["value"] is not None else "-"


def short(value):
    """As many digits as a cell has room for."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size:
            return f"{value / size:.0f}{letter}"
    return f"{value:.4g}"


def unexpected(cell):
    return cell["expected"] in ("held", "lost") and cell["outcome"] in ("held", "lost") and \
        cell["outcome"] != cell["expected"]


def titled(row):
    """With the unit of what was measured."""
    unit = next((cell["unit"] for cell in row["cells"] if cell["outcome"] == "measured"), "")
    return f"{row['title']} ({unit})" if unit else row["title"]


def shown(cell):
    if cell is None:
        return ""
    return number(cell) if cell["outcome"] == "measured" else cell["outcome"].replace("_", " ")


def head(document):
    """Lines of plain text on what this is."""
    yield (f"Profile {document['profile']}, {document['repeats']} repeats, on the {document['where']}: "
           f"kernel {document['host']['release']}, {document['host']['cpus']} processors, "
           f"{document['host']['ram_bytes'] >> 20} MiB. {document['seconds']} s.")
    control = document["control"]
    yield (f"Negative control: the plain process lost {control['lost']} of {control['of']} rows of "
           f"visibility and containment"
           + (f"; not {', '.join(control['not_lost'])}" if control["not_lost"] else "") + ".")
    for one in document["backends"]:
        yield f"{one['name']}: " + (f"not run: {one['not_run']}" if one["not_run"] else
                                    one["version"] or "-")


def markdown(document):
    lines = ["# Isolation, measured", ""]
    lines += [f"- {line}" for line in head(document)]
    lines += ["", "There is no score: rows do not weigh the same. Each cell is what the host observed; "
              "`isobench.json` has the evidence, the hypothesis and each repeat.", ""]
    for user in users(document):
        for family, title in FAMILIES.items():
            rows = [row for row in document["rows"] if row["family"] == family and
                    any(cell["user"] == user for cell in row["cells"])]
            if not rows:
                continue
            names = backends(document)
            lines += [f"## {title} ({family}), as {user}", "",
                      "| row | for an attacker | " + " | ".join(names) + " |",
                      "| --- | --- |" + " --- |" * len(names)]
            for row in rows:
                marks = []
                for name in names:
                    cell = find(row, name, user)
                    marks.append(shown(cell) + (" (!)" if cell and unexpected(cell) else ""))
                lines.append(f"| {row['title']} | {row['attacker']} | " + " | ".join(marks) + " |")
            lines.append("")
    lines.append("(!): other than the hypothesis said.")
    return "\n".join(lines) + "\n"


def text(x, y, words, **more):
    attributes = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return f'<text x="{x}" y="{y}"{attributes}>{html.escape(str(words))}</text>'


def box_svg(x, y, width, outcome, label):
    _, fill, pattern = LOOK[outcome]
    place = f'x="{x + 1.5}" y="{y + 1.5}" width="{width - 3}" height="{HEIGHT - 3}"'
    parts = [f'<rect {place} fill="{fill}" stroke="{EDGE[outcome]}" stroke-width="2"/>']
    if pattern:
        parts.append(f'<rect {place} fill="url(#{pattern})"/>')
    parts.append(text(x + width / 2, y + HEIGHT - 6, label, text_anchor="middle", font_size=11,
                      fill="#ffffff" if outcome == "lost" else "#111111"))
    return "".join(parts)


def cell_svg(x, y, width, row, cell):
    label = short(cell["value"]) if cell["outcome"] == "measured" else \
        LOOK[cell["outcome"]][0] + ("!" if unexpected(cell) else "")
    tip = (f"{row['title']}: {cell['backend']} as {cell['user']}\n{cell['outcome']} (hypothesis: "
           f"{cell['expected']}, {len(cell['repeats'])} repeats)\n{cell['evidence']}\n"
           f"For an attacker: {row['attacker']}\nLost when: {row['lost_when']}")
    return (f'<g class="cell {cell["outcome"]}"><title>{html.escape(tip)}</title>'
            + box_svg(x, y, width, cell["outcome"], label) + "</g>")


def matrix(document):
    names, people = backends(document), users(document)
    out, y = [], TOP
    for family, title in FAMILIES.items():
        rows = [row for row in document["rows"] if row["family"] == family]
        if not rows:
            continue
        out.append(text(6, y + 16, title, font_weight="bold", font_size=13))
        y += HEIGHT + 4
        for row in rows:
            out.append(text(14, y + HEIGHT - 6, titled(row), font_size=11, **{"class": "row"}))
            for column, name in enumerate(names):
                present = [find(row, name, user) for user in people]
                present = [cell for cell in present if cell]
                for part, cell in enumerate(present):
                    width = WIDTH / len(present)
                    out.append(cell_svg(LEFT + column * WIDTH + part * width, y, width, row, cell))
            y += HEIGHT
        y += 10
    width = LEFT + WIDTH * len(names) + 10
    top = [text(LEFT + (column + 0.5) * WIDTH, TOP - 22, name, text_anchor="middle", font_size=12,
                font_weight="bold") for column, name in enumerate(names)]
    if len(people) > 1:
        top += [text(LEFT + (column + 0.5) * WIDTH, TOP - 8, "root | user", text_anchor="middle",
                     font_size=9) for column in range(len(names))]
    return (f'<svg class="matrix" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" '
            f'height="{y}" role="img" aria-label="families by backends" font-family="sans-serif">'
            '<defs><pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="2" height="6" fill="#ccc"/></pattern>'
            '<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse">'
            '<circle cx="1.5" cy="1.5" r="1" fill="#bbb"/></pattern></defs>'
            + "".join(top + out) + "</svg>")


def evidence_table(document):
    yield ("<table><tr><th>row</th><th>backend</th><th>as</th><th>hypothesis</th><th>outcome</th>"
           "<th>evidence</th></tr>")
    for row in document["rows"]:
        for cell in row["cells"]:
            values = (row["id"], cell["backend"], cell["user"], cell["expected"],
                      shown(cell), cell["evidence"])
            yield "<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in values) + "</tr>"
    yield "</table>"


def legend():
    for name in OUTCOMES:
        letter = "12" if name == "measured" else LOOK[name][0]
        yield (f'<li><svg class="key" width="48" height="{HEIGHT}">{box_svg(0, 0, 48, name, letter)}'
               f"</svg> {name.replace('_', ' ')}: {MEANING[name]}</li>")
    yield "<li><b>!</b> beside a letter: other than the hypothesis said</li>"


def page(document):
    about = "".join(f"<li>{html.escape(line)}</li>" for line in head(document))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{RULE}'
        "<title>Isolation, measured</title>"
        "<style>body{font:14px/1.4 sans-serif;margin:2em;color:#111;background:#fff}"
        "table{border-collapse:collapse;font-size:12px}td,th{border:1px solid #ccc;padding:2px 6px;"
        "text-align:left;vertical-align:top;overflow-wrap:anywhere}.matrix{max-width:100%;height:auto}"
        ".legend{list-style:none;padding:0}.key{vertical-align:middle}</style></head><body>"
        f"<h1>Isolation, measured</h1><ul>{about}</ul><p>One program of harmless probes, run unchanged "
        "under each backend; each cell is what the host observed. There is no score: rows do not weigh "
        "the same. Point at a cell for its evidence, or read the table below.</p>"
        f'<ul class="legend">{"".join(legend())}</ul>{matrix(document)}<h2>Evidence</h2>'
        + "".join(evidence_table(document)) + "</body></html>\n")
