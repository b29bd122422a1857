// Sliders, toggles, buttons, and numbers that are shown. Each is { node, update }.
import { clamp, degrees } from "./math.js";
import { html, setText } from "./dom.js";

export const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

// How the slider of an angle, of a base or of a length moves: spread one into its options.
export const IN_DEGREES = { toInput: degrees, fromInput: (value) => (value / 180) * Math.PI };
export const IN_POWERS_OF_TEN = {
  step: 0.01,
  toInput: (value) => Math.log10(value),
  fromInput: (power) => Number((10 ** power).toPrecision(3)),
};
export const IN_POWERS_OF_TWO = { toInput: (value) => Math.log2(value), fromInput: (power) => 2 ** power };

export function slider({ name, label, tone, min = 0, max, step = 1, toInput, fromInput, format = String, onInput }) {
  const input = html("input", { type: "range", min, max, step, "data-control": name, ...OWN_KEYS });
  // As much room for the shortest number as for the longest, unseen: it must not move its name to another line.
  const ends = [min, max].map((end) => format(fromInput ? fromInput(end) : end));
  const longest = ends.reduce((a, b) => (b.length > a.length ? b : a));
  const value = html("span", { class: "rope-value", "data-report": name, "data-room": longest });
  const words = html("span", {}, label);
  const node = html(
    "div",
    { class: "rope-slider", style: `--tone: var(--rope-${tone}); --tone-text: var(--rope-${tone}-text)` },
    // The input stands in its label and needs no id: a page may hold many widgets and many of each.
    html("label", {}, words, input),
    value,
  );
  input.addEventListener("input", () => onInput(fromInput ? fromInput(Number(input.value)) : Number(input.value)));
  return {
    node,
    input,
    rename: (text) => setText(words, text),
    // null for a slider that is not in use: it keeps its room, and reports nothing.
    update(current, limit = max) {
      node.classList.toggle("rope-off", current === null);
      if (current === null) return delete value.dataset.value;
      const position = toInput ? toInput(current) : current;
      const text = format(current);
      if (Number(input.max) !== limit) input.max = limit;
      input.value = position;
      input.style.setProperty("--filled", `${(clamp((position - min) / (limit - min), 0, 1) * 100).toFixed(2)}%`);
      input.setAttribute("aria-valuetext", text);
      value.dataset.value = current;
      setText(value, text);
    },
  };
}

export function toggle({ name, label, onChange }) {
  const input = html("input", { type: "checkbox", "data-control": name, ...OWN_KEYS });
  const node = html("label", { class: "rope-toggle" }, input, label);
  input.addEventListener("change", () => onChange(input.checked));
  return { node, update: (checked) => (input.checked = checked) };
}

export function button({ name, label, pressable = true, onClick }) {
  const node = html("button", { type: "button", class: "rope-button", "data-control": name, ...OWN_KEYS }, label);
  if (pressable) node.setAttribute("aria-pressed", "false");
  node.addEventListener("click", onClick);
  return {
    node,
    rename: (text) => setText(node, text),
    update: (pressed) => node.setAttribute("aria-pressed", String(pressed)),
  };
}

// What is reached when it is wanted: closed at first, and open or closed by `update` after that.
export function fold({ label, nodes, className = "" }) {
  const summary = html("summary", { ...OWN_KEYS }, label);
  const node = html("details", { class: `rope-more ${className}` }, summary, ...nodes);
  return { node, update: (open) => (node.open = open) };
}

export function report(name, className = "") {
  const node = html("span", { class: `rope-report ${className}`, "data-report": name });
  return {
    node,
    // null for a number that is not found yet: it reports nothing.
    update(value, text) {
      if (value === null) delete node.dataset.value;
      else node.dataset.value = value;
      node.ariaBusy = value === null ? "true" : null;
      setText(node, text);
    },
  };
}

export function readout(label, ...values) {
  // No dl, dt, dd: JupyterLab and the book's theme have ideas of their own about those.
  return html(
    "div",
    { class: "rope-readout" },
    html("span", { class: "rope-readout-label" }, label),
    html("span", { class: "rope-readout-values" }, ...values),
  );
}
