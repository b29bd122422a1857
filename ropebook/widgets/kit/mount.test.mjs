import assert from "node:assert/strict";
import test from "node:test";

import { html } from "./dom.js";
import { fakeModel, fakePage, node } from "./fake_page.mjs";
import { mount } from "./mount.js";

const WORDS = { en: { title: "Doubling", said: "twice" }, de: { title: "Verdopplung", said: "zweimal" } };

function mounted({ lang = "en" } = {}) {
  const page = fakePage({ lang });
  const [model, el, seen] = [fakeModel({ m: 3 }), node(), []];
  const render = mount({
    words: WORDS,
    traits: ["m"],
    build: ({ words, lesson }) => ({
      node: html("div", {}, lesson),
      measure: (narrow) => ({ narrow, order: seen.push("measure") }),
      derive: ({ m }) => ({ double: 2 * m }),
      draw: (state, room) => seen.push({ ...state, narrow: room.narrow }),
      lesson: ({ double }) => (double ? `${words.said}: ${double}` : ["nothing"]),
      silent: ({ m }) => m === 9,
      stop: () => seen.push("stopped"),
    }),
  });
  const unmount = render({ model, el });
  return { page, model, el, seen, unmount, root: el.children[0] };
}

test("a widget measures, derives, draws and says, at once and after each change", () => {
  const { page, model, seen, root } = mounted();
  assert.deepEqual(seen, ["measure", { m: 3, double: 6, narrow: false }]);
  assert.equal(root.children[0].textContent, "twice: 6");
  model.set("m", 4);
  model.set("m", 5);
  assert.equal(seen.length, 2);
  page.wait(0.1);
  assert.deepEqual(seen.slice(2), ["measure", { m: 5, double: 10, narrow: false }]);
  assert.equal(root.children[0].textContent, "twice: 10");
});

test("its words are those of the page's language, or English", () => {
  assert.equal(mounted({ lang: "de-CH" }).root.attributes["aria-label"], "Verdopplung");
  assert.equal(mounted({ lang: "fr" }).root.attributes["aria-label"], "Doubling");
});

test("the sentence is written only when it changes", () => {
  const { page, model, root } = mounted();
  const sentence = root.find("class", "rope-lesson").children[0];
  const before = sentence.writes;
  model.set("m", 3);
  page.wait(0.1);
  assert.equal(sentence.writes, before);
});

test("a sentence comes back after nodes that stood in its place", () => {
  const { page, model, root } = mounted();
  const show = (m) => {
    model.set("m", m);
    page.wait(0.1);
    return root.find("class", "rope-lesson").children[0].textContent;
  };
  assert.deepEqual([show(3), show(0), show(3)], ["twice: 6", "nothing", "twice: 6"]);
});

test("a widget that is linked has its address before it is drawn, and lets go of it", () => {
  const [model, el, seen] = [fakeModel({ m: 3 }), node(), []];
  fakePage();
  const render = mount({
    words: WORDS,
    traits: ["m"],
    linked: ({ model: given, set, state, redraw }) => {
      assert.deepEqual([given, state(), typeof redraw], [model, { m: 3 }, "function"]);
      return { start: (root) => seen.push(root) && set({ m: 5 }), stop: () => seen.push("let go"), name: "turner" };
    },
    build: ({ address }) => ({ node: html("div"), draw: ({ m }) => seen.push([m, address.name]) }),
  });
  render({ model, el })();
  assert.deepEqual(seen, [el.children[0], [5, "turner"], "let go"]);
});

test("a widget that is taken down leaves nothing behind", () => {
  const { page, model, seen, unmount } = mounted();
  model.set("m", 4);
  unmount();
  page.wait(1);
  assert.deepEqual([seen.length, seen.at(-1), model.listeners(), page.observers], [3, "stopped", 0, 0]);
});

test("the sentence is spoken after a change, unless something else is", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { page, model, root } = mounted();
  const spoken = root.find("role", "status");
  for (const [m, said] of [
    [9, ""],
    [4, "twice: 8"],
    [9, "twice: 8"],
  ]) {
    model.set("m", m);
    page.wait(0.1);
    context.mock.timers.tick(1000);
    assert.equal(spoken.textContent, said);
  }
});
