import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, node } from "./fake_page.mjs";
import { label, layer, path } from "./layer.js";

fakePage();

test("a layer holds what it was told last, in its order", () => {
  const picture = node("svg");
  const draw = layer(picture);
  draw([path("a", "M0 0", { opacity: 0.5 }), label("b", 1, 2, "here", "end")]);
  draw([path("a", "M1 1", { opacity: 1 }), label("b", 3, 4, "there", "end")]);
  const [line, text] = picture.children[0].children;
  assert.deepEqual(line.attributes, { class: "a", d: "M1 1", opacity: "1" });
  assert.deepEqual(text.attributes, { class: "b", x: "3", y: "4", "text-anchor": "end" });
  assert.equal(text.textContent, "there");
});

test("a layer writes only what differs, and keeps its nodes", () => {
  const picture = node("svg");
  const draw = layer(picture);
  draw([path("a", "M0 0"), label("b", 1, 2, "here")]);
  const nodes = picture.all();
  const writes = () => nodes.map((part) => part.writes ?? 0).reduce((a, b) => a + b);
  const before = writes();
  draw([path("a", "M0 0"), label("b", 1, 2, "here")]);
  assert.equal(writes(), before);
  draw([path("a", "M0 0"), label("b", 1, 5, "here")]);
  assert.equal(writes(), before + 1);
  assert.deepEqual(picture.all(), nodes);
});

test("other shapes take the place of those before, and none of these is left", () => {
  const picture = node("svg");
  const [draw, other] = [layer(picture), layer(picture)];
  other([path("top", "M9 9")]);
  draw([path("a", "M0 0"), label("b", 1, 2, "here"), path("c", "M2 2")]);
  draw([label("d", 1, 2, "only")]);
  const [below, above] = picture.children.map((group) => group.children);
  assert.deepEqual([below.length, below[0].tag, below[0].attributes.class], [1, "text", "d"]);
  assert.equal(above[0].attributes.class, "top");
  draw([]);
  assert.equal(picture.children[0].children.length, 0);
});
