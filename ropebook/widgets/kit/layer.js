// What stands in a picture, told as a whole each time: lists of shapes [tag, attributes, content],
// where the content is a text, or shapes again.
import { setAttributes, setText, svg } from "./dom.js";
import { arcHeadPath, arrowPaths, polylinePath } from "./paths.js";

// A part of a picture, before those made later. Its nodes are made anew only where other tags are
// told, or more or fewer, so that shapes of one tag carry the same attributes each time.
export function layer(picture) {
  const group = svg("g", {}, picture);
  return (shapes) => putShapes(group, shapes);
}

const TAGS = new WeakMap();

function putShapes(parent, shapes) {
  const told = shapes.map(([tag]) => tag).join();
  if (told !== TAGS.get(parent)) parent.replaceChildren(...shapes.map(([tag]) => svg(tag)));
  TAGS.set(parent, told);
  shapes.forEach(([, attributes, content = ""], i) => {
    const node = setAttributes(parent.children[i], attributes);
    if (typeof content === "string") setText(node, content);
    else putShapes(node, content);
  });
}

export function path(name, d, more = {}) {
  return ["path", { class: name, d, ...more }];
}

export function label(name, x, y, text, anchor = "start", more = {}) {
  return ["text", { class: name, x, y, "text-anchor": anchor, ...more }, text];
}

export function box(name, [x, y, width, height], more = {}) {
  return ["rect", { class: name, x, y, width, height, ...more }];
}

export function disc(name, [cx, cy], r) {
  return ["circle", { class: name, cx, cy, r }];
}

// An arrow, and the letter of a vector with an index (none: "") around a point.
export function vector(name, from, to) {
  const { shaft, head } = arrowPaths(...from, ...to);
  return ["g", { class: `rope-arrow ${name}` }, [path("rope-shaft", shaft), path("rope-head", head)]];
}

export function letter(name, [x, y], text, index = "") {
  const parts = [
    ["tspan", {}, text],
    ["tspan", { class: "rope-index", dy: 4 }, index],
  ];
  return ["text", { class: `rope-vector-label rope-${name}`, x, y: y + 5, "text-anchor": "middle" }, parts];
}

// A turn along points (none: []) with its head at their end.
export function turn(name, points, line = "rope-turn") {
  return [
    path(`${line} ${name}`, polylinePath(points.slice(0, -1))),
    path(`rope-turn-head ${name}`, points.length ? arcHeadPath(points) : ""),
  ];
}
