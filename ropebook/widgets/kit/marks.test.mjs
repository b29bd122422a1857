import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fakeStorage, node } from "./fake_page.mjs";
import { mark, marks, recall } from "./marks.js";

const KEY = "rope-book:marks";

test("a mark is kept under one key, tells the page, and leaves the others", () => {
  fakePage();
  const kept = fakeStorage({ kept: { [KEY]: '{"old":2}' } });
  const [page, inner, heard] = [node(), node(), []];
  page.append(inner);
  page.addEventListener("rope-mark", ({ detail, bubbles }) => heard.push([detail, bubbles]));
  mark(inner, "turn by hand", ["1", "3"]);
  assert.deepEqual(JSON.parse(kept[KEY]), { old: 2, "turn by hand": ["1", "3"] });
  assert.deepEqual(heard, [[{ name: "turn by hand", value: ["1", "3"] }, true]]);
  assert.deepEqual([recall("turn by hand"), recall("old"), recall("new")], [["1", "3"], 2, undefined]);
});

test("where storage is refused, every copy of the module has the same memory", async () => {
  fakePage();
  fakeStorage({ refused: true });
  const copy = await import("./marks.js?copy");
  mark(node(), "a bet", 0);
  assert.notEqual(copy.mark, mark);
  assert.deepEqual([copy.recall("a bet"), copy.marks()], [0, { "a bet": 0 }]);
});

test("what another hand wrote there counts as nothing, and is written over", () => {
  fakePage();
  for (const text of ["{", "[1]", "null", '"text"', "7"]) {
    const kept = fakeStorage({ kept: { [KEY]: text } });
    assert.deepEqual([marks(), recall("toString")], [{}, undefined], text);
    mark(node(), "a", 1);
    assert.equal(kept[KEY], '{"a":1}');
  }
});
