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
LEFT, TOP, WIDTH, HEIGHT = 330, 60, 92, 20


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
                    unexpected = cell and cell["expected"] in ("held", "lost") and \
                        cell["outcome"] in ("held", "lost") and cell["outcome"] != cell["expected"]
                    marks.append(shown(cell) + (" (!)" if unexpected else ""))
                lines.append(f"| {row['title']} | {row['attacker']} | " + " | ".join(marks) + " |")
            lines.append("")
    lines.append("(!): other than the hypothesis said.")
    return "\n".join(lines) + "\n"


def text(x, y, words, **more):
    attributes = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return f'<text x="{x}" y="{y}"{attributes}>{html.escape(str(words))}</text>'


def cell_svg(x, y, width, row, cell):
    letter, fill, pattern = LOOK[cell["outcome"]]
    label = number(cell) if cell["outcome"] == "measured" else letter
    tip = (f"{row['title']}: {cell['backend']} as {cell['user']}\n{cell['outcome']} (hypothesis: "
           f"{cell['expected']}, {len(cell['repeats'])} repeats)\n{cell['evidence']}\n"
           f"For an attacker: {row['attacker']}\nLost when: {row['lost_when']}")
    ink = "#ffffff" if cell["outcome"] == "lost" else "#111111"
    parts = [f'<g class="cell {cell["outcome"]}"><title>{html.escape(tip)}</title>',
             f'<rect x="{x + 1.5}" y="{y + 1.5}" width="{width - 3}" height="{HEIGHT - 3}" '
             f'fill="{fill}" stroke="{EDGE[cell["outcome"]]}" stroke-width="2"/>']
    if pattern:
        parts.append(f'<rect x="{x + 1.5}" y="{y + 1.5}" width="{width - 3}" height="{HEIGHT - 3}" '
                     f'fill="url(#{pattern})"/>')
    parts.append(text(x + width / 2, y + HEIGHT - 6, label[:14], text_anchor="middle", fill=ink,
                      font_size=9 if cell["outcome"] == "measured" else 11))
    return "".join([*parts, "</g>"])


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
            out.append(text(14, y + HEIGHT - 6, row["title"][:52], font_size=11))
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
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" '
            f'height="{y}" role="img" aria-label="families by backends" font-family="sans-serif">'
            '<defs><pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="2" height="6" fill="#999"/></pattern>'
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


def page(document):
    legend = "".join(f"<li><b>{LOOK[name][0]}</b> {name.replace('_', ' ')}: {MEANING[name]}</li>"
                     for name in OUTCOMES)
    about = "".join(f"<li>{html.escape(line)}</li>" for line in head(document))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Isolation, measured</title>'
        "<style>body{font:14px/1.4 sans-serif;margin:2em;color:#111;background:#fff}"
        "table{border-collapse:collapse;font-size:12px}td,th{border:1px solid #ccc;padding:2px 6px;"
        "text-align:left;vertical-align:top}svg{max-width:100%;height:auto}</style></head><body>"
        f"<h1>Isolation, measured</h1><ul>{about}</ul><p>One program of harmless probes, run unchanged "
        "under each backend; each cell is what the host observed. There is no score: rows do not weigh "
        "the same. Point at a cell for its evidence, or read the table below.</p>"
        f"<ul>{legend}</ul>{matrix(document)}<h2>Evidence</h2>"
        + "".join(evidence_table(document)) + "</body></html>\n")
