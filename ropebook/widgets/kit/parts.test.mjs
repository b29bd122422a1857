import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "./fake_page.mjs";
import { makeParts } from "./parts.js";

function parts() {
  fakePage();
  const calls = [];
  const { tools, update } = makeParts({
    set: (changes) => calls.push(["set", typeof changes === "function" ? changes({ m: 3 }) : changes]),
    visit: (changes) => calls.push(["visit", typeof changes === "function" ? changes({ m: 3 }) : changes]),
    play: (name) => calls.push(["play", name]),
    playing: (name) => name === "walk",
    reset: () => calls.push(["reset"]),
  });
  return { calls, update, ...tools };
}

test("sliders are those of their traits, or of what they are told", () => {
  const { calls, update, sliders } = parts();
  const [m, first] = sliders({
    m: { label: "m", tone: "q", min: 0, max: 9, format: String },
    first: {
      ...{ label: ({ m: at }) => `first of ${at}`, tone: "k", min: 0, max: 9, format: String },
      value: ({ list }) => list[0],
      limit: ({ list }) => list.length,
      onInput: (value) => calls.push(["own", value]),
    },
  });
  update({ m: 3, list: [2, 5, 6, 7] });
  const [inputM, inputFirst] = [m, first].map((node) => node.find("type", "range"));
  assert.deepEqual([inputM.value, inputFirst.value, inputFirst.max], [3, 2, 4]);
  assert.match(first.textContent, /first of 3/);
  inputM.value = "7";
  inputM.fire("input");
  inputFirst.fire("input");
  assert.deepEqual(calls, [
    ["set", { m: 7 }],
    ["own", 2],
  ]);
});

test("a button visits, plays, resets, or does as told, and is pressed where that can be seen", () => {
  const { calls, update, buttons } = parts();
  const nodes = buttons({
    there: { label: "there", visit: { m: 3, q: [1, 0] } },
    next: { label: "next", visit: ({ m }) => ({ m: m + 1 }) },
    walk: { label: "walk", play: () => ({}) },
    reset: { label: "reset", reset: true },
    own: { label: ({ m }) => `own ${m}`, onClick: () => calls.push(["own"]) },
  });
  update({ m: 3, q: [1, 1e-12] });
  assert.deepEqual(
    nodes.map((node) => node.getAttribute("aria-pressed")),
    ["true", "false", "true", null, null],
  );
  assert.equal(nodes[4].textContent, "own 3");
  for (const node of nodes) node.fire("click");
  assert.deepEqual(calls, [["visit", { m: 3, q: [1, 0] }], ["visit", { m: 4 }], ["play", "walk"], ["reset"], ["own"]]);
});

test("toggles and choosers set their trait", () => {
  const { calls, update, toggles, chooser } = parts();
  const [toggle] = toggles({ keep: { label: "keep" } });
  const node = chooser("way", {
    label: "way",
    options: [
      ["a", "A"],
      ["b", "B"],
    ],
  });
  update({ keep: true, way: "b" });
  const input = toggle.find("type", "checkbox");
  assert.equal(input.checked, true);
  assert.equal(node.children[1].attributes["aria-checked"], "true");
  input.checked = false;
  input.fire("change");
  node.children[0].fire("click");
  assert.deepEqual(calls, [
    ["set", { keep: false }],
    ["set", { way: "a" }],
  ]);
});

test("a number that is not found yet shows that it is sought, whatever its format", () => {
  const { update, show } = parts();
  const sought = show("found", ({ found }) => found, { format: (value) => value.toFixed(1) });
  update({ found: null });
  assert.deepEqual([sought.textContent, sought.dataset], ["…", {}]);
  update({ found: 2 });
  assert.equal(sought.textContent, "2.0");
});

test("a number is shown in its format, or in words of its own", () => {
  const { update, show } = parts();
  const plain = show("score", ({ score }) => score, { tone: "score" });
  const share = show("count", ({ score }) => [score, `${score} of 3`]);
  update({ score: 1.5 });
  assert.deepEqual([plain.textContent, share.textContent, share.dataset.value], ["1.50", "1.5 of 3", 1.5]);
  assert.match(plain.attributes.class, /rope-tone-score/);
});

test("numbers stand behind their names, and take the state's of their own name", () => {
  const { update, readouts, text } = parts();
  const [plain, named] = readouts({
    score: { label: "score", tone: "score", more: [" at ", text(({ m }) => `m = ${m}`)] },
    half: { label: ({ m }) => `half of ${m}`, value: ({ m }) => m / 2, format: String },
  });
  update({ score: 1.5, m: 3 });
  assert.equal(plain.textContent, "score1.50 at m = 3");
  assert.equal(named.textContent, "half of 31.5");
  update({ score: 1.5, m: 4 });
  assert.equal(named.textContent, "half of 42");
});

test("a point is two numbers, and reports each", () => {
  const { update, readouts } = parts();
  const [tip] = readouts({ tip: { label: "tip", point: ({ at }) => at, tone: "q" } });
  update({ at: [1, -2] });
  assert.equal(tip.textContent, "tip(1.00, −2.00)");
  assert.equal(tip.find("data-report", "tip_y").dataset.value, -2);
});
