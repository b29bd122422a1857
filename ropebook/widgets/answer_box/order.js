// Items that the reader puts in order: by buttons, by arrow keys, or by dragging them.
import { askButton, rich } from "../kit/ask.js";
import { html, setAttributes } from "../kit/dom.js";
import { fill } from "../kit/text.js";

// Whether a list holds each of 0 ... count - 1 once.
export function isOrder(value, count) {
  if (!Array.isArray(value) || value.length !== count) return false;
  return [...value].sort((a, b) => a - b).every((item, i) => item === i);
}

// Moves a row one place and says whether there was one. Its neighbor is taken out and put in again,
// not the row itself: what has the focus, or a finger on it, keeps it.
function moveBy(row, step) {
  const neighbor = step < 0 ? row.previousElementSibling : row.nextElementSibling;
  if (!neighbor) return false;
  if (step < 0) row.after(neighbor);
  else row.before(neighbor);
  return true;
}

// A finger or a pointer on the grip takes the row along: past the middle of a neighbor, they swap.
function dragBy(grip, row, move, drop) {
  let held = false;
  grip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    held = true;
    grip.setPointerCapture(event.pointerId);
  });
  const middle = (node) => {
    const { top, height } = node.getBoundingClientRect();
    return top + height / 2;
  };
  grip.addEventListener("pointermove", ({ clientY }) => {
    if (!held) return;
    while (row.nextElementSibling && clientY > middle(row.nextElementSibling)) move(1);
    while (row.previousElementSibling && clientY < middle(row.previousElementSibling)) move(-1);
  });
  for (const type of ["pointerup", "pointercancel"]) {
    grip.addEventListener(type, () => {
      if (held) drop();
      held = false;
    });
  }
}

export function orderField({ items, ids, words, announce }) {
  const list = html("div", { class: "rope-order", role: "list", "aria-labelledby": ids.question });
  const rows = items.map((item) => {
    const row = html("div", { class: "rope-order-row", role: "listitem" });
    const text = rich("span", { class: "rope-order-text" }, item);
    const grip = html("span", { class: "rope-order-grip", "aria-hidden": "true" });
    const tell = () => {
      const place = [...list.children].indexOf(row) + 1;
      announce(fill(words.moved, { item: text.textContent, place, count: items.length }));
    };
    const move = (step) => {
      if (moveBy(row, step)) markEnds();
    };
    const step = (by) => {
      move(by);
      tell();
    };
    const arrow = (label, sign, by) =>
      askButton(sign, () => step(by), { "aria-label": fill(label, { item: text.textContent }) });
    const buttons = [arrow(words.up, "↑", -1), arrow(words.down, "↓", 1)];
    row.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (by) event.preventDefault();
      if (by) step(by);
    });
    dragBy(grip, row, move, tell);
    row.append(grip, text, ...buttons);
    return { row, buttons };
  });
  const nodes = rows.map(({ row }) => row);
  list.append(...nodes);
  function markEnds() {
    const ends = [list.firstElementChild, list.lastElementChild];
    for (const { row, buttons } of rows) {
      buttons.forEach((node, i) => setAttributes(node, { "aria-disabled": row === ends[i] }));
    }
  }
  markEnds();
  return {
    nodes: [list],
    inputs: [],
    read: () => [...list.children].map((row) => nodes.indexOf(row)),
    write(order) {
      const now = [...list.children];
      if (order.some((item, i) => nodes[item] !== now[i])) list.append(...order.map((item) => nodes[item]));
      markEnds();
    },
    fits: (value) => isOrder(value, items.length),
  };
}
