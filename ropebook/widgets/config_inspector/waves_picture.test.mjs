import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { MARKS, PLOT, wavesPicture } from "./waves_picture.js";
import { WORDS } from "./widget.js";

fakePage();
const words = WORDS.en;
const inverse = [1, 0.1, 0];
const told = { waves: inverse.map((f) => (2 * Math.PI) / f), slowed: [1, 5, Infinity] };
const seen = { spec: { maxSeqLen: 100, trained: 50 }, unscaled: [1, 0.5, 0.1], inverse, ...told, length: 100 };
const WIDTH = PLOT.left + PLOT.right + 300;

function drawn() {
  const picture = wavesPicture(words);
  const all = (name) => picture.node.all().filter((node) => node.attributes.class === name);
  const waves = () => picture.node.all().filter((node) => node.attributes["data-report"] === "wave");
  picture.draw(seen, 1, WIDTH);
  return { ...picture, all, waves, text: () => picture.node.textContent };
}

test("each pair has its mark, hollow where it completes no turn", () => {
  const { waves } = drawn();
  const told = waves().map(({ attributes: { class: name, cx } }) => [name, cx]);
  // Turns take 6.3 and 63 tokens, and one pair stands still; columns are 100 wide.
  assert.deepEqual(told, [
    ["rope-wave", String(PLOT.left + 50)],
    ["rope-wave", String(PLOT.left + 150)],
    ["rope-wave-never", String(PLOT.left + 250)],
  ]);
  assert.equal(waves()[2].attributes["data-value"], "0");
});

test("what was slowed shows where it was, and what stands still has no stem", () => {
  const { all } = drawn();
  const strokes = (name) => all(name)[0].attributes.d.match(/M/g).length;
  assert.deepEqual([strokes("rope-config-ghost"), strokes("rope-config-stem")], [2, 1]);
});

test("a text longer than the context, and another length of training, are named", () => {
  const { draw, text } = drawn();
  assert.match(text(), /context 100/);
  assert.match(text(), /trained 50/);
  draw({ ...seen, length: 400 }, 1, WIDTH);
  assert.match(text(), /text 400/);
});

test("another pair moves the marks of the chosen one and draws nothing else", () => {
  const { draw, all, waves } = drawn();
  const before = waves();
  draw(seen, 2, WIDTH);
  assert.deepEqual(waves(), before);
  assert.ok(waves().every((node, i) => node === before[i]));
  assert.equal(all("rope-wave-chosen")[0].attributes.x, String(PLOT.left + 243));
  assert.equal(all("rope-config-stretch-dot")[0].style.display, "none");
});

test("a text that cannot be read has no pairs, and the next that can is drawn again", () => {
  const { draw, clear, waves } = drawn();
  clear();
  assert.equal(waves().length, 0);
  draw(seen, 0, WIDTH);
  assert.equal(waves().length, 3);
});

test("every mark of the legend has its word", () => {
  assert.deepEqual(Object.keys(MARKS), Object.keys(words.legend));
});
