import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, node } from "./fake_page.mjs";
import { disc, label, layer, letter, path, turn, vector } from "./layer.js";

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

test("of more or fewer shapes, those stay that are of the same form", () => {
  const picture = node("svg");
  const draw = layer(picture);
  const dials = (count) => Array.from({ length: count }, (_, i) => disc("dial", [i, 0], 3));
  draw([path("line", "M0 0"), ...dials(3)]);
  const nodes = [...picture.children[0].children];
  draw([path("line", "M0 0"), ...dials(5)]);
  assert.deepEqual(picture.children[0].children.slice(0, 4), nodes);
  draw([path("line", "M0 0"), ...dials(2)]);
  assert.deepEqual(picture.children[0].children, nodes.slice(0, 3));
  // A path of other attributes is another path: nothing of the first is left on it.
  draw([path("line", "M0 0", { opacity: 0.5 }), ...dials(1)]);
  draw([path("line", "M0 0")]);
  assert.deepEqual(picture.children[0].children[0].attributes, { class: "line", d: "M0 0" });
});

test("a shape may hold shapes, which are kept and made anew as its own", () => {
  const picture = node("svg");
  const draw = layer(picture);
  draw([["g", { opacity: 1 }, [path("a", "M0 0"), disc("b", [1, 2], 3)]]]);
  const [group] = picture.children[0].children;
  const [line, circle] = group.children;
  assert.deepEqual([group.attributes.opacity, circle.attributes.cy], ["1", "2"]);
  draw([["g", { opacity: 0.5 }, [path("a", "M1 1"), disc("b", [1, 4], 3)]]]);
  assert.deepEqual([group.children[0], line.attributes.d, circle.attributes.cy], [line, "M1 1", "4"]);
  draw([["g", { opacity: 0.5 }, [label("c", 0, 0, "only")]]]);
  assert.deepEqual([picture.children[0].children[0], group.children.length], [group, 1]);
});

test("an arrow has a shaft and a head, a letter its index, and a turn without points nothing", () => {
  const [, { class: name }, [shaft, head]] = vector("rope-q", [0, 0], [20, 0]);
  assert.deepEqual(
    [name, shaft[1].d, head[1].d.startsWith("M20.00 0.00")],
    ["rope-arrow rope-q", "M0.00 0.00L11.00 0.00", true],
  );
  assert.deepEqual(
    letter("q", [1, 2], "q", "3")[2].map(([, , text]) => text),
    ["q", "3"],
  );
  assert.deepEqual(
    turn("rope-q", []).map(([, { d }]) => d),
    ["", ""],
  );
  assert.ok(
    turn("rope-q", [
      [0, 0],
      [9, 0],
      [9, 9],
    ]).every(([, { d }]) => d.length),
  );
});
