# SPDX-License-Identifier: Apache-2.0
"""The table of what is tried."""
from rows import channels, closed, containment, cost, hygiene, network, reach, visibility

ROWS = tuple(row for module in (visibility, reach, channels, containment, network, hygiene, closed, cost)
             for row in module.ROWS)
BY_ID = {row.id: row for row in ROWS}
