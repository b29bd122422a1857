import assert from "node:assert/strict";
import test from "node:test";

import * as controls from "./controls.js";
import { fakePage } from "./fake_page.mjs";

fakePage();

test("a slider shows its value in words, and translates both ways", () => {
  const heard = [];
  const part = controls.slider({
    ...{ name: "theta", label: "θ", tone: "angle", min: 0, max: 180, ...controls.IN_DEGREES },
    format: (theta) => `${theta.toFixed(2)} rad`,
    onInput: (theta) => heard.push(theta),
  });
  part.update(Math.PI / 2);
  assert.equal(part.input.value, 90);
  assert.equal(part.input.style["--filled"], "50.00%");
  assert.equal(part.input.getAttribute("aria-valuetext"), "1.57 rad");
  assert.equal(part.node.find("data-report", "theta").dataset.value, Math.PI / 2);
  part.input.value = "180";
  part.input.fire("input");
  assert.deepEqual(heard, [Math.PI]);
});

test("a slider keeps room for the longer of its ends", () => {
  const given = { name: "m", label: "m", tone: "position", min: -8, max: 7, onInput() {} };
  const part = controls.slider({ ...given, format: (m) => `${m} tokens` });
  assert.equal(part.node.find("data-report", "m").getAttribute("data-room"), "-8 tokens");
  const powers = controls.slider({ ...given, min: 1, max: 6, ...controls.IN_POWERS_OF_TEN });
  assert.equal(powers.node.find("data-report", "m").getAttribute("data-room"), "1000000");
});

test("a slider may have another end", () => {
  const part = controls.slider({ name: "n", label: "", tone: "q", min: 0, max: 10, format: String, onInput() {} });
  part.update(5, 20);
  assert.equal(part.input.max, 20);
  assert.equal(part.input.style["--filled"], "25.00%");
});

test("a slider that is not in use reports nothing", () => {
  const part = controls.slider({ name: "n", label: "", tone: "q", min: 0, max: 10, format: String, onInput() {} });
  part.update(5);
  part.update(null);
  assert.ok(part.node.classes.has("rope-off"));
  assert.deepEqual(part.node.find("data-report", "n").dataset, {});
  part.update(6);
  assert.ok(!part.node.classes.has("rope-off"));
});

test("powers go there and back", () => {
  for (const [unit, value] of [
    [controls.IN_POWERS_OF_TEN, 500000],
    [controls.IN_POWERS_OF_TWO, 8192],
  ]) {
    assert.equal(unit.fromInput(unit.toInput(value)), value);
  }
});

test("a button is pressed or cannot be", () => {
  const clicks = [];
  const pressable = controls.button({ name: "a", label: "A", onClick: () => clicks.push("a") });
  pressable.update(true);
  assert.equal(pressable.node.getAttribute("aria-pressed"), "true");
  pressable.node.fire("click");
  assert.deepEqual(clicks, ["a"]);
  const plain = controls.button({ name: "b", label: "B", pressable: false, onClick() {} });
  assert.equal(plain.node.getAttribute("aria-pressed"), null);
});

test("a report keeps the number behind its text", () => {
  const part = controls.report("score");
  part.update(0.123456, "0.12");
  assert.equal(part.node.dataset.value, 0.123456);
  assert.equal(part.node.textContent, "0.12");
});

test("a report without a number says that it is busy, and reports nothing", () => {
  const part = controls.report("score");
  part.update(1, "1");
  part.update(null, "…");
  assert.deepEqual([part.node.dataset, part.node.textContent, part.node.ariaBusy], [{}, "…", "true"]);
  part.update(2, "2");
  assert.deepEqual([part.node.dataset.value, part.node.ariaBusy], [2, null]);
});

test("a slider begins at 0 and shows its number as it is, unless told", () => {
  fakePage();
  const { node, input, update } = controls.slider({ name: "pair", label: "pair", tone: "angle", max: 8 });
  update(2);
  assert.deepEqual([input.getAttribute("min"), input.style["--filled"]], ["0", "25.00%"]);
  assert.equal(node.find("data-report", "pair").textContent, "2");
});

test("a fold is closed at first, named by its summary, and opened and closed by its widget", () => {
  fakePage();
  const inside = controls.button({ name: "link", label: "link" }).node;
  const { node, update } = controls.fold({ label: "more", nodes: [inside], className: "rope-own" });
  assert.equal(node.getAttribute("class"), "rope-more rope-own");
  assert.ok(!node.open);
  assert.equal(node.children[0].textContent, "more");
  assert.equal(node.find("data-control", "link"), inside);
  update(true);
  assert.equal(node.open, true);
});
