#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The isolation benchmark without a sandbox: what decides, and the result page in a real browser, Debian's
# chromium, which tools/isobench/deps installs.

@test "isobench: what decides a row, the report and the comparison" {
    python3 -B -W ignore -m unittest discover -s tests/isobench -p '*_test.py'
}

setup() {
    page=$BATS_TEST_TMPDIR/page.html
    cells=$(python3 -B tests/isobench/sample_page.py "$page")
}

browser() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-background-networking \
        --user-data-dir="$BATS_TEST_TMPDIR/browser" --window-size=1300,3000 "$@" 2>"$BATS_TEST_TMPDIR/log"
}

# facts [MORE]: what tests/isobench/page.js saw of the page, with MORE at the end of its body. The page's own
# rule forbids every script; in the copy that is looked at it lets this one in.
facts() {
    python3 - "$page" "${1:-}" <<'END'
import sys
text = open(sys.argv[1], encoding="utf-8").read()
script = open("tests/isobench/page.js", encoding="utf-8").read()
rule = text.index("default-src 'none';")
text = text[:rule] + "script-src 'nonce-look'; " + text[rule:]
end = text.index(">", rule) + 1
text = text[:end] + f'<script nonce="look">{script}</script>' + text[end:]
with open(sys.argv[1] + ".looked.html", "w", encoding="utf-8") as file:
    file.write(text.replace("</body>", sys.argv[2] + "</body>"))
END
    browser --dump-dom "file://$page.looked.html" |
        sed -n 's|.*<pre id="facts">\(.*\)</pre>.*|\1|p' | sed 's/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g'
}

@test "isobench: a browser shows every cell with its evidence, whole, and asks for nothing else" {
    found=$(facts)
    cut -c1-2000 <<<"$found"
    jq -e --argjson cells "$cells" '.cells == $cells and .tooltips == $cells and .table_rows == $cells + 1 and
        .too_wide == [] and .titles_in_cells == [] and .outside == 0 and .sideways <= 0 and
        .forbidden == [] and .errors == []' <<<"$found"
}

@test "isobench: that test sees a request, a script and a label that is too wide" {
    found=$(facts '<img src="missing.png"><script>nothing.there()</script>
<style>svg g.cell text { font-size: 30px }</style>')
    cut -c1-2000 <<<"$found"
    jq -e '(.forbidden | length) == 2 and .errors == ["IMG"] and (.too_wide | length) > 100' <<<"$found"
}

@test "isobench: the page is drawn, and its own rule stops what should not be in it" {
    sed -i 's|</body>|<script>document.body.textContent = ""</script></body>|' "$page"
    browser --dump-dom "file://$page" >"$BATS_TEST_TMPDIR/dom"
    [ "$(grep -o '<g class="cell ' "$BATS_TEST_TMPDIR/dom" | wc -l)" -eq "$cells" ]
    browser --screenshot="$BATS_TEST_TMPDIR/page.png" "file://$page"
    file "$BATS_TEST_TMPDIR/page.png" | grep -q 'PNG image data, 1300 x 3000'
    # An empty page of this size is below 20 kB.
    [ "$(stat -c %s "$BATS_TEST_TMPDIR/page.png")" -gt 60000 ]
}
