import assert from "node:assert/strict";
import test from "node:test";

import { hashOf, numberIn, oneOf, readHash, stateAddress } from "./address.js";

const rules = { method: oneOf(["plain", "wide"]), factor: numberIn([1, 64]), dim: numberIn([8, 256], 2) };
const state = { method: "wide", factor: 2.5, dim: 64 };

test("a state goes into an address and comes back", () => {
  assert.equal(hashOf("turner", state), "#turner?method=wide&factor=2.5&dim=64");
  assert.deepEqual(readHash(hashOf("turner", state), "turner", rules), state);
  assert.deepEqual(readHash(hashOf("turner.2", state), "turner.2", rules), state);
});

test("an address may name some traits, and those stand for themselves", () => {
  assert.deepEqual(readHash("#turner?factor=4", "turner", rules), { factor: 4 });
});

test("another's address, a heading's and none at all ask nothing", () => {
  for (const hash of [
    "",
    "#",
    "#turner",
    "#turner-by-turner",
    "#other?factor=4",
    "#turner.2?factor=4",
    "#a-heading?",
  ]) {
    assert.equal(readHash(hash, "turner", rules), null, hash);
  }
});

test("what breaks a rule, or is no trait, cannot be shown, and nothing of it is", () => {
  const broken = ["factor=0.5", "factor=65", "factor=", "factor=NaN", "factor=Infinity", "factor=four", "factor=%20"];
  for (const asked of [...broken, "dim=9", "dim=8.5", "method=narrow", "method=", "speed=1", "constructor=1"]) {
    assert.equal(readHash(`#turner?method=wide&${asked}`, "turner", rules), undefined, asked);
  }
});

test("an empty text is no number, not even where 0 is one", () => {
  const share = numberIn([0, 1]);
  assert.deepEqual([share("0"), share(""), share(" ")], [0, undefined, undefined]);
});

// A page with an address, and two widgets of a name in it.
function onPage(hash) {
  const heard = { hashchange: [], load: [] };
  const done = [];
  const roots = ["first", "second"].map((name) => ({ dataset: {}, scrollIntoView: () => done.push(name) }));
  globalThis.location = { hash };
  globalThis.history = { state: "kept", replaceState: (kept, _, to) => done.push(kept) && (location.hash = to) };
  globalThis.document = { querySelectorAll: () => roots.filter(({ dataset }) => dataset.address === "turner") };
  globalThis.window = {
    addEventListener: (type, call) => heard[type].push(call),
    removeEventListener: (type, call) => (heard[type] = heard[type].filter((other) => other !== call)),
  };
  const widgets = roots.map((root) => {
    const now = { ...state, method: "plain" };
    const tools = { set: (changes) => Object.assign(now, changes), state: () => now, redraw: () => done.push("drawn") };
    const address = stateAddress({ name: "turner", rules, ...tools });
    address.start(root);
    return { now, address };
  });
  return { widgets, heard, done, tell: (type) => heard[type].forEach((call) => call()) };
}

test("a widget takes its state from the address, comes into sight, and once more when all has loaded", () => {
  const { widgets, heard, done, tell } = onPage("#turner.2?method=wide&factor=8");
  assert.deepEqual(widgets[1].now, { ...state, factor: 8 });
  assert.deepEqual(widgets[0].now, { ...state, method: "plain" });
  assert.deepEqual(
    done.filter((one) => one !== "drawn"),
    ["second"],
  );
  tell("load");
  assert.deepEqual(
    done.filter((one) => one !== "drawn"),
    ["second", "second"],
  );
  for (const { address } of widgets) address.stop();
  assert.deepEqual([heard.hashchange, heard.load], [[], []]);
});

test("a link of the page's own is heard by its widget alone", () => {
  const { widgets, tell } = onPage("#a-heading");
  location.hash = "#turner?factor=3";
  tell("hashchange");
  assert.deepEqual(
    widgets.map(({ now }) => now.factor),
    [3, 2.5],
  );
});

test("the address is written when asked for, in place of the last one, and says whose state it is", () => {
  const { widgets, done } = onPage("#a-heading");
  const [first, second] = widgets;
  assert.equal(second.address.stands(second.now), false);
  second.address.write();
  assert.equal(location.hash, "#turner.2?method=plain&factor=2.5&dim=64");
  assert.ok(done.includes("kept"));
  assert.deepEqual([first.address.stands(first.now), second.address.stands(second.now)], [false, true]);
  assert.equal(second.address.stands({ ...second.now, factor: 3 }), false);
});

test("an address that cannot be shown changes nothing, and is known until it is replaced", () => {
  const { widgets } = onPage("#turner?factor=1000");
  assert.deepEqual(
    widgets.map(({ address }) => address.broken()),
    [true, false],
  );
  assert.equal(widgets[0].now.factor, 2.5);
  widgets[0].address.write();
  assert.equal(widgets[0].address.broken(), false);
});
