import assert from "node:assert/strict";
import test from "node:test";

import { fakeModel, fakePage } from "./fake_page.mjs";
import { makeStage } from "./stage.js";

function staged({ calm = false, ...options } = {}) {
  const page = fakePage({ calm });
  const model = fakeModel({ m: 3, way: "near" });
  const stage = makeStage({ model, traits: ["m", "way"], redraw() {}, ...options });
  const { reset, visit, own } = stage;
  return { page, model, reset, visit, own, ...stage.tools };
}
const walk = ({ m }) => ({ still: { m: m + 8 }, seconds: 1, at: (seconds) => ({ m: m + 4.4 * Math.min(seconds, 1) }) });

test("an animation shows values between those of the model, and leaves whole ones behind", () => {
  const { page, model, state, play, playing } = staged();
  play("walk", walk);
  page.wait(0.6);
  assert.ok(playing("walk") && playing() && !playing("other"));
  assert.ok(Math.abs(state().m - 5.2) < 1e-9);
  assert.deepEqual([model.traits.m, state().way], [3, "near"]);
  page.wait(1);
  assert.deepEqual([model.traits.m, state().m, playing()], [7, 7, false]);
});

test("a second press stops it where it stands; so does a change, which sees where that is", () => {
  const { page, model, play, playing, set, state } = staged();
  play("walk", walk);
  page.wait(0.6);
  play("walk", walk);
  assert.deepEqual([model.traits.m, playing()], [5, false]);
  play("walk", walk);
  page.wait(0.6);
  set(({ m }) => ({ m: m + 10 }));
  assert.equal(model.traits.m, 17);
  assert.equal(state().m, 17);
});

test("another animation begins where the last one was stopped", () => {
  const { page, state, play, playing } = staged();
  play("walk", walk);
  page.wait(0.6);
  play("other", ({ m }) => ({ still: {}, over: ({ m: now }) => now >= m + 2, at: (seconds) => ({ m: m + seconds }) }));
  page.wait(0.1);
  assert.deepEqual([state().m, playing("other")], [5, true]);
  page.wait(5);
  assert.deepEqual([state().m, playing()], [7, false]);
});

test("who wants no motion is at the end at once", () => {
  const { page, model, play, playing } = staged({ calm: true });
  play("walk", walk);
  assert.deepEqual([model.traits.m, playing(), page.waiting.size], [11, false, 0]);
});

test("a commit leaves the animation running, and a reset goes back to the first state", () => {
  const { page, model, play, commit, playing, reset } = staged();
  play("walk", walk);
  page.wait(0.3);
  commit({ way: "far" });
  assert.ok(playing("walk"));
  reset();
  assert.deepEqual(model.traits, { m: 3, way: "near" });
  assert.ok(!playing());
});

test("a widget may settle in its own way, or not at all", () => {
  const { page, model, play } = staged({ settle: () => null });
  play("walk", walk);
  page.wait(2);
  assert.equal(model.traits.m, 3);
});

test("it knows the reader's own moves from what a button, a motion or a reset brings", () => {
  const { page, set, visit, commit, play, reset, own } = staged();
  const after = (act) => {
    act();
    return own();
  };
  assert.equal(own(), false);
  assert.deepEqual([() => set({ m: 4 }), () => visit({ m: 5 })].map(after), [true, false]);
  assert.deepEqual([() => commit({ m: 6 }), reset, () => set({ m: 4 })].map(after), [true, false, true]);
  play("walk", walk);
  page.wait(2);
  assert.equal(own(), false);
});
