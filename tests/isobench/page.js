// SPDX-License-Identifier: Apache-2.0
// What a browser made of the result page: appended to it by page.bats, read from the DOM that it dumps.
// First in <head>: errors are counted from the start.
const errors = [];
addEventListener("error", (event) => errors.push(event.message || event.target.tagName), true);
// Whatever the page asks for, and every script but this one, is forbidden: each try is an event.
const forbidden = [];
addEventListener("securitypolicyviolation", (event) => forbidden.push(event.blockedURI));
addEventListener("load", () => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const box = (node) => node.getBoundingClientRect();
  const inside = (small, big) => small.left >= big.left - 0.5 && small.right <= big.right + 0.5 &&
    small.top >= big.top - 0.5 && small.bottom <= big.bottom + 0.5;
  const svg = document.querySelector("svg.matrix");
  const cells = all("svg.matrix g.cell");
  const left = Math.min(...cells.map((cell) => box(cell).left));
  const facts = {
    cells: cells.length,
    tooltips: cells.filter((cell) => /: .+ as (root|user)\n.+\n.+\nFor an attacker: .+\nLost when: ./
      .test(cell.querySelector(":scope > title").textContent)).length,
    table_rows: all("table tr").length,
    // Labels that are cut off or run into what stands beside them.
    too_wide: cells.filter((cell) => !inside(box(cell.querySelector("text")), box(cell.querySelector("rect"))))
      .map((cell) => cell.querySelector("text").textContent),
    titles_in_cells: all("svg.matrix > text.row").filter((text) => box(text).right > left)
      .map((text) => text.textContent),
    outside: all("svg.matrix text, svg.matrix rect").filter((node) => !node.closest("defs") && !inside(box(node), box(svg)))
      .length,
    sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    forbidden,
    errors,
  };
  const shown = document.createElement("pre");
  shown.id = "facts";
  shown.textContent = JSON.stringify(facts);
  document.body.append(shown);
});
