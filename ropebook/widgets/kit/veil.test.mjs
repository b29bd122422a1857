import assert from "node:assert/strict";
import test from "node:test";

import { blocksAfter, veil } from "./veil.js";

// What a block needs to be told from others: its tag, its text, whether a widget stands in it.
function tree(tag, { text = "", widget = false, article = false } = {}, ...children) {
  const node = { localName: tag, textContent: text, children, parentElement: null, nextElementSibling: null };
  node.matches = (selector) => (article ? selector === ".bd-article" : selector.split(", ").includes(tag));
  node.querySelector = (selector) => (widget && selector.includes("rope-widget-host") ? {} : null);
  children.forEach((child, i) => {
    child.parentElement = node;
    child.nextElementSibling = children[i + 1] ?? null;
  });
  return node;
}

function page() {
  const bet = tree("div", { text: "bet", widget: true });
  const first = tree("p", { text: "first" });
  const below = tree("section", {}, tree("h2", { text: "below" }), tree("p", { text: "second" }));
  const fold = tree("details", { text: "fold" });
  const chapter = [bet, tree("div", { text: "picture", widget: true }), tree("div"), first, fold, below];
  const next = tree("section", {}, tree("h2", { text: "next" }), tree("p", { text: "third" }));
  tree("article", { article: true }, tree("section", {}, ...chapter), next);
  return bet;
}

const texts = (count) => blocksAfter(page(), count).map((block) => block.textContent);

test("the next blocks of the text: no heading, no widget, no fold, nothing empty", () => {
  assert.deepEqual(texts(1), ["first"]);
  assert.deepEqual(texts(2), ["first", "second"]);
  assert.deepEqual(texts(9), ["first", "second", "third"]);
});

test("where no page is built around it, nothing is veiled", () => {
  const lift = veil({ closest: () => null }, 2, {});
  assert.equal(lift(), undefined);
});
