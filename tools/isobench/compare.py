# SPDX-License-Identifier: Apache-2.0
"""What changed between two results: a regression test of isolation."""

WORSE = {("held", "lost"), ("held", "flaky"), ("flaky", "lost"), ("held", "not_run")}
NOTABLE = 0.25  # of a measured value


def cells(document):
    return {(row["id"], cell["backend"], cell["user"]): cell
            for row in document["rows"] for cell in row["cells"]}


def compare(before, after):
    """[(is it worse?, line)...], worse ones first."""
    old, new = cells(before), cells(after)
    lines = []
    for key in sorted(set(old) | set(new)):
        name = " ".join((key[0], key[1], "as", key[2]))
        if key not in new or key not in old:
            gone = key not in new
            lines.append((gone, f"{name}: {'not in the second' if gone else 'new'}"))
            continue
        one, two = old[key], new[key]
        if one["outcome"] != two["outcome"]:
            lines.append(((one["outcome"], two["outcome"]) in WORSE,
                          f"{name}: {one['outcome']} -> {two['outcome']}: {two['evidence']}"))
        elif one["outcome"] == "measured" and differs(one["value"], two["value"]):
            lines.append((False, f"{name}: {one['value']:.4g} -> {two['value']:.4g} {two['unit']}"))
    return sorted(lines, key=lambda line: not line[0])


def differs(one, two):
    return abs(one - two) > NOTABLE * max(abs(one), abs(two))
