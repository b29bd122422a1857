// What can be grabbed: with a pointer, or focused and moved with the arrow keys.
import { OWN_KEYS } from "./controls.js";
import { setAttributes, svg } from "./dom.js";
import { clamp, degrees, shorten } from "./math.js";

// `start(event)` gives what a press takes hold of, `move(event, grip)` moves it, `end(grip)` lets go.
function grabbable(node, { start, move, end }) {
  let grip = null;
  // Chromium does not heed touch-action inside a picture, and would scroll the page instead.
  node.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grip = start(event);
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => grip !== null && move(event, grip));
  for (const type of ["pointerup", "pointercancel"]) {
    node.addEventListener(type, () => {
      if (grip === null) return;
      const held = grip;
      grip = null;
      end?.(held);
    });
  }
}

// Where a key leads on a line from `from` to `to`; null: nowhere.
export function alongKey(key, current, { from, to, step = 1 }) {
  const lead = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step };
  if (key === "Home") return from;
  if (key === "End") return to;
  return key in lead ? clamp(current + lead[key], from, to) : null;
}

// Anything that moves along one line. `range()` gives { from, to, step, current } at each press and
// key; `toValue(event)` says where on the line a pointer is. `onMove(value)` hears of a drag,
// `onKey(value)` of a key, `onGrab(current)` and `onDrop()` of the beginning and the end of a drag.
export function dragAlong(node, { range, toValue, onMove, onKey = onMove, onGrab, onDrop }) {
  grabbable(node, {
    start(event) {
      const { current } = range();
      onGrab?.(current);
      return current - toValue(event);
    },
    move(event, grip) {
      const { from, to } = range();
      onMove(clamp(toValue(event) + grip, from, to));
    },
    end: () => onDrop?.(),
  });
  node.addEventListener("keydown", (event) => {
    const { current, ...ends } = range();
    const next = alongKey(event.key, current, ends);
    if (next === null) return;
    event.preventDefault();
    if (next !== current) onKey(next);
  });
}

// The tip of a vector: drag it, or focus it and use the arrow keys (shift: larger steps).
// `onStep(vector, direction, size)` may say where a key leads instead; null leaves it as it is.
export function vectorHandle(parent, { name, label, description, maxLength, toPoint, onMove, onStep }) {
  const node = svg(
    "g",
    {
      class: `rope-handle rope-${name}`,
      tabindex: 0,
      role: "slider",
      "aria-label": label,
      "aria-roledescription": description,
      "aria-valuemin": -180,
      "aria-valuemax": 180,
      "data-control": name,
      ...OWN_KEYS,
    },
    parent,
  );
  svg("circle", { class: "rope-handle-reach", r: 22 }, node);
  svg("circle", { class: "rope-handle-ring", r: 12 }, node);
  svg("circle", { class: "rope-handle-dot", r: 6.5 }, node);
  let current = [0, 0];
  // Kept at once and not when it is drawn: two keys may arrive within one frame.
  const move = (vector) => onMove((current = shorten(vector, maxLength)));
  const fromPointer = (event) => {
    const box = parent.getBoundingClientRect();
    return toPoint(event.clientX - box.left, event.clientY - box.top);
  };
  grabbable(node, {
    start(event) {
      const at = fromPointer(event);
      return [current[0] - at[0], current[1] - at[1]];
    },
    move(event, grip) {
      const at = fromPointer(event);
      move([at[0] + grip[0], at[1] + grip[1]]);
    },
  });
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  node.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const size = event.shiftKey ? 0.5 : 0.1;
    // Rounded, or ten steps of 0.1 would not come back to where they began.
    const plain = [0, 1].map((i) => Number((current[i] + step[i] * size).toFixed(9)));
    move(onStep?.(current, step, size) ?? plain);
  });
  return (x, y, vector, valueText) => {
    current = vector;
    setAttributes(node, {
      transform: `translate(${x} ${y})`,
      "aria-valuenow": Math.round(degrees(Math.atan2(vector[1], vector[0]))),
      "aria-valuetext": valueText,
    });
  };
}
