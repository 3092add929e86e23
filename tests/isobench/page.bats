#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The result page in a real browser, with nothing but itself.

@test "isobench: a browser draws every cell of the page" {
    command -v chromium >/dev/null || skip "chromium is not installed"
    local page=$BATS_TEST_TMPDIR/page.html cells
    cells=$(python3 -B tests/isobench/sample_page.py "$page")
    local browser=(timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$BATS_TEST_TMPDIR/b")
    "${browser[@]}" --dump-dom "file://$page" >"$BATS_TEST_TMPDIR/dom" 2>"$BATS_TEST_TMPDIR/log"
    [ "$(grep -o '<g class="cell ' "$BATS_TEST_TMPDIR/dom" | wc -l)" -eq "$cells" ]
    "${browser[@]}" --window-size=1100,2400 --screenshot="$BATS_TEST_TMPDIR/page.png" "file://$page" \
        2>>"$BATS_TEST_TMPDIR/log"
    file "$BATS_TEST_TMPDIR/page.png" | grep -q 'PNG image data, 1100 x 2400'
    # An empty page of this size is below 20 kB.
    [ "$(stat -c %s "$BATS_TEST_TMPDIR/page.png")" -gt 60000 ]
}
