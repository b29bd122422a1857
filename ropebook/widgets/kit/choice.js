// One of several: radios of which one is in the tab order, and arrow keys that lead to the others.
import { OWN_KEYS } from "./controls.js";
import { html, setAttributes } from "./dom.js";

// Where a key leads in a group of `count` radios that stand in rows of `columns`; null: nowhere.
export function neighbor(key, current, count, { columns = 1, wraps = false } = {}) {
  const along = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
  const next = key === "Home" ? 0 : key === "End" ? count - 1 : current + (along[key] ?? NaN);
  if (wraps && Number.isFinite(next)) return (next + count) % count;
  return next >= 0 && next < count ? next : null;
}

// Arrow keys, Home and End on a group of radios. `current()` and `count()` are asked at each key,
// as is `columns()`, for a group that stands in rows.
export function arrowKeys(group, { current, count, columns, wraps, pick }) {
  group.addEventListener("keydown", (event) => {
    const next = neighbor(event.key, current(), count(), { columns: columns?.(), wraps });
    // At an end the page must not scroll instead.
    if (next !== null || event.key.startsWith("Arrow")) event.preventDefault();
    if (next !== null) pick(next);
  });
}

export function markChosen(radios, index) {
  radios.forEach((node, i) => setAttributes(node, { "aria-checked": i === index, tabindex: i === index ? 0 : -1 }));
}

// `options` are [value, label] or [value, label, attributes of the button], where a label is a text
// or a list of nodes. What stands before them in the group is in `lead`.
export function choice({ name, label, options, className = "rope-row rope-row-first", lead = [], onChoose }) {
  const values = options.map(([value]) => value);
  const radios = options.map(([value, text, attributes = {}]) => {
    const fixed = { type: "button", class: "rope-button", role: "radio", ...OWN_KEYS };
    const node = html("button", { ...fixed, ...attributes }, ...[text].flat());
    node.addEventListener("click", () => onChoose(value));
    return node;
  });
  const attributes = { class: className, role: "radiogroup", "aria-label": label, "data-control": name };
  const node = html("div", attributes, ...lead, ...radios);
  let chosen = 0;
  arrowKeys(node, {
    wraps: true,
    current: () => chosen,
    count: () => radios.length,
    pick(index) {
      // Kept at once and not when it is drawn: two keys may arrive within one frame.
      chosen = index;
      onChoose(values[index]);
      radios[index].focus();
    },
  });
  return {
    node,
    update(value) {
      chosen = values.indexOf(value);
      markChosen(radios, chosen);
    },
  };
}
