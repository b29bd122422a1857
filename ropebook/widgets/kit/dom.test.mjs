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
});

test("what is drawn when it changes is drawn once for equal arguments", () => {
  const drawn = [];
  const draw = dom.whenChanged((...given) => drawn.push(given));
  draw({ width: 1 }, [2]);
  draw({ width: 1 }, [2]);
  draw({ width: 1 }, [3]);
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
