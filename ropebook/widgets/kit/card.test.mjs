import assert from "node:assert/strict";
import test from "node:test";

import { makeCard } from "./card.js";
import { fakePage, node } from "./fake_page.mjs";

// A frame with a lesson, and a box in which a picture stands beside another; as a page has it.
function widget(found) {
  fakePage();
  const [root, frame, lesson, box, picture, other] = Array.from({ length: 6 }, () => node());
  root.append(frame);
  frame.append(lesson, box);
  box.append(picture, other);
  for (const each of [frame, lesson, box, picture, other]) each.parentElement = each.parent;
  root.querySelector = (name) => (name === found ? picture : null);
  return { root, lesson, box, picture, other, frame };
}

for (const found of ["[data-card]", ".rope-picture", "svg[role='img']"]) {
  test(`a card keeps what ${found} finds and leaves away the rest`, () => {
    const { root, frame, lesson, box, picture, other } = widget(found);
    makeCard(root, { says: "It turns.", title: "Turning", to: "turning.html" });
    assert.deepEqual(
      [frame, box, picture].map((each) => each.hidden),
      [false, false, false],
    );
    assert.deepEqual(
      [lesson, other].map((each) => each.hidden),
      [true, true],
    );
    assert.equal(root.textContent, "It turns. Turning");
    assert.ok(root.find("href", "turning.html"));
  });
}
