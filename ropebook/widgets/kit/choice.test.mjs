import assert from "node:assert/strict";
import test from "node:test";

import { choice, neighbor } from "./choice.js";
import { fakePage } from "./fake_page.mjs";

fakePage();

test("keys lead to neighbors, in rows too, and no further than the ends", () => {
  assert.equal(neighbor("ArrowRight", 1, 3), 2);
  assert.equal(neighbor("ArrowRight", 2, 3), null);
  assert.equal(neighbor("ArrowRight", 2, 3, { wraps: true }), 0);
  assert.equal(neighbor("ArrowUp", 0, 3, { wraps: true }), 2);
  assert.equal(neighbor("ArrowDown", 1, 8, { columns: 4 }), 5);
  assert.equal(neighbor("ArrowDown", 5, 8, { columns: 4 }), null);
  assert.equal(neighbor("Home", 5, 8), 0);
  assert.equal(neighbor("End", 5, 8), 7);
  assert.equal(neighbor("a", 5, 8), null);
  assert.equal(neighbor("a", 5, 8, { wraps: true }), null);
});

test("one radio is chosen and in the tab order; keys choose and move the focus at once", () => {
  const chosen = [];
  const options = ["x", "y", "z"].map((value) => [value, value.toUpperCase()]);
  const part = choice({ name: "way", label: "which", options, onChoose: (value) => chosen.push(value) });
  const radios = part.node.children;
  part.update("y");
  assert.deepEqual(
    radios.map((radio) => [radio.attributes["aria-checked"], radio.attributes.tabindex]),
    [
      ["false", "-1"],
      ["true", "0"],
      ["false", "-1"],
    ],
  );
  part.node.fire("keydown", { key: "ArrowRight" });
  part.node.fire("keydown", { key: "ArrowRight" });
  assert.deepEqual(chosen, ["z", "x"]);
  assert.equal(document.focused, radios[0]);
  radios[1].fire("click");
  assert.equal(chosen.at(-1), "y");
});
