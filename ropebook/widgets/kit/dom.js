// Nodes: made, written and measured.
import { clamp } from "./math.js";
import { arrowPaths } from "./paths.js";

export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
  return node;
}

export function svg(tag, attributes = {}, parent = null) {
  const node = setAttributes(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
  parent?.append(node);
  return node;
}

export function svgText(parent, className, anchor = "start", text = "", attributes = {}) {
  const node = svg("text", { class: className, "text-anchor": anchor, ...attributes }, parent);
  node.textContent = text;
  return node;
}

// Texts of which there are now more, now fewer: it draws a list of [text, attributes].
export function svgTexts(parent, className, anchor) {
  const made = [];
  return (entries) => {
    while (made.length < entries.length) made.push(svgText(parent, className, anchor));
    made.forEach((node, i) => setText(node, ...(entries[i] ?? [""])));
  };
}

export function html(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

export function div(className, ...children) {
  return html("div", { class: className }, ...children);
}

// A text, and where it stands or what else it is to have.
export function setText(node, text, attributes = {}) {
  if (node.textContent !== text) node.textContent = text;
  return setAttributes(node, attributes);
}

// What the marks of a picture mean: `words` by name, each behind a sample on which `marks` of that
// name, draw(sample), draws one.
export function legendOf(words, [width, height], marks, className = "") {
  const item = ([name, draw]) => {
    const sample = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    draw(sample);
    return html("li", {}, sample, words[name]);
  };
  return html("ul", { class: `rope-legend ${className}` }, ...Object.entries(marks).map(item));
}

// Gives a picture its size in pixels, in the middle of where it stands.
export function resize(picture, width, height) {
  setAttributes(picture, {
    viewBox: `0 0 ${width} ${height}`,
    style: `width: ${width}px; height: ${height}px; margin: 0 auto`,
  });
}

// What a picture in this box may take. Reads the layout: only for measure().
export function widthOf(box, low, high) {
  return clamp(box.clientWidth || high, low, high);
}

// Calls `draw` only with arguments that differ from the last ones; what it gave last is kept.
export function whenChanged(draw) {
  let last = null;
  let kept;
  return (...given) => {
    const key = JSON.stringify(given);
    if (key !== last) kept = draw(...given);
    last = key;
    return kept;
  };
}

export function arrow(parent, className) {
  const group = svg("g", { class: `rope-arrow ${className}` }, parent);
  const shaft = svg("path", { class: "rope-shaft" }, group);
  const head = svg("path", { class: "rope-head" }, group);
  return (x1, y1, x2, y2) => {
    const paths = arrowPaths(x1, y1, x2, y2);
    shaft.setAttribute("d", paths.shaft);
    head.setAttribute("d", paths.head);
  };
}

export function widgetRoot(title, ...children) {
  return html("div", { class: "rope-widget", role: "group", "aria-label": title }, ...children);
}

export function announcer(parent) {
  const node = html("div", { class: "rope-hidden", "aria-live": "polite", role: "status" });
  parent.append(node);
  let timer = null;
  let first = true;
  return {
    say(text) {
      clearTimeout(timer);
      if (!first) timer = setTimeout(() => setText(node, text), 700);
      first = false;
    },
    stop: () => clearTimeout(timer),
  };
}
