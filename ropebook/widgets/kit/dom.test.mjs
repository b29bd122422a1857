import assert from "node:assert/strict";
import test from "node:test";

import * as dom from "./dom.js";
import { fakePage, node } from "./fake_page.mjs";

test("only what changes is written", () => {
  const given = node();
  dom.setAttributes(given, { x: 1, y: "2" });
  dom.setAttributes(given, { x: 1, y: 2 });
  assert.equal(given.writes, 2);
  dom.setText(given, "a");
  dom.setText(given, "a");
  assert.equal(given.writes, 3);
  dom.setText(given, "a", { x: 1, y: 3 });
  assert.deepEqual([given.writes, given.getAttribute("y")], [4, "3"]);
});

test("a text has its attributes from the beginning", () => {
  fakePage();
  const { attributes, textContent } = dom.svgText(dom.svg("g"), "rope-tick", "end", "8", { y: 5 });
  assert.deepEqual([attributes, textContent], [{ class: "rope-tick", "text-anchor": "end", y: "5" }, "8"]);
});

test("a legend has a sample and the word of each mark, in their order", () => {
  fakePage();
  const drawing = (tag) => (sample) => dom.svg(tag, {}, sample);
  const marks = { dots: drawing("circle"), lines: drawing("path") };
  const { children, attributes } = dom.legendOf({ lines: "a line", dots: "a dot" }, [34, 18], marks, "rope-mine");
  assert.equal(attributes.class, "rope-legend rope-mine");
  assert.deepEqual(
    children.map(({ children: [sample, word] }) => [sample.attributes.viewBox, sample.children[0].tag, word]),
    [
      ["0 0 34 18", "circle", "a dot"],
      ["0 0 34 18", "path", "a line"],
    ],
  );
});

test("what is drawn when it changes is drawn once for equal arguments", () => {
  const drawn = [];
  const draw = dom.whenChanged((...given) => drawn.push(given));
  assert.deepEqual([draw({ width: 1 }, [2]), draw({ width: 1 }, [2]), draw({ width: 1 }, [3])], [1, 1, 2]);
  assert.deepEqual(drawn, [
    [{ width: 1 }, [2]],
    [{ width: 1 }, [3]],
  ]);
});

test("what is computed when it changes is given again for equal arguments", () => {
  let times = 0;
  const double = dom.whenChanged((x) => {
    times += 1;
    return [2 * x];
  });
  const first = double(1);
  assert.equal(double(1), first);
  assert.deepEqual([double(2), times], [[4], 2]);
});

test("a picture takes the width of its box between two bounds, and the upper where there is none", () => {
  assert.deepEqual(
    [0, 100, 300, 900].map((clientWidth) => dom.widthOf({ clientWidth }, 200, 400)),
    [400, 200, 300, 400],
  );
});

test("a box holds what it is given", () => {
  fakePage();
  const box = dom.div("rope-row", dom.div("inner"), "text");
  assert.deepEqual([box.tag, box.attributes.class, box.children[0].attributes.class], ["div", "rope-row", "inner"]);
  assert.equal(box.textContent, "text");
});

test("a picture has its size in its view box and its style", () => {
  const picture = node("svg");
  dom.resize(picture, 300, 200);
  assert.equal(picture.getAttribute("viewBox"), "0 0 300 200");
  assert.match(picture.getAttribute("style"), /width: 300px; height: 200px/);
});

test("a screen reader hears a text once it has stood still, and not the first", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  fakePage();
  const parent = node();
  const { say, stop } = dom.announcer(parent);
  const heard = () => parent.children[0].textContent;
  say("first");
  context.mock.timers.tick(2000);
  assert.equal(heard(), "");
  say("on the way");
  context.mock.timers.tick(300);
  say("there");
  context.mock.timers.tick(699);
  assert.equal(heard(), "");
  context.mock.timers.tick(1);
  assert.equal(heard(), "there");
  say("gone");
  stop();
  context.mock.timers.tick(2000);
  assert.equal(heard(), "there");
});

test("texts come and go with the list that is drawn", () => {
  fakePage();
  const parent = dom.svg("g");
  const draw = dom.svgTexts(parent, "rope-tick", "end");
  const said = () => parent.children.map((node) => [node.textContent, node.attributes.x]);
  draw([
    ["0", { x: 1 }],
    ["8", { x: 5 }],
  ]);
  assert.deepEqual(said(), [
    ["0", "1"],
    ["8", "5"],
  ]);
  const [first] = parent.children;
  const before = first.writes;
  draw([["0", { x: 1 }]]);
  assert.equal(first.writes, before);
  assert.deepEqual(said()[1][0], "");
});
