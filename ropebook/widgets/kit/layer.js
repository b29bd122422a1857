// What stands in a picture, told as a whole each time: lists of shapes [tag, attributes, content],
// where the content is a text, or shapes again.
import { setAttributes, setText, svg } from "./dom.js";
import { arcHeadPath, arrowPaths, polylinePath } from "./paths.js";

// A part of a picture, before those made later. Its nodes stay as long as the same tags are told, so
// shapes of one tag carry the same attributes each time; else those stay that the others come after.
export function layer(picture) {
  const group = svg("g", {}, picture);
  return (shapes) => putShapes(group, shapes);
}

const TAGS = new WeakMap();
const FORMS = new WeakMap();

function putShapes(parent, shapes) {
  const told = shapes.map(([tag]) => tag).join();
  if (told !== TAGS.get(parent)) makeNodes(parent, shapes);
  TAGS.set(parent, told);
  shapes.forEach(([, attributes, content = ""], i) => {
    const node = setAttributes(parent.children[i], attributes);
    if (typeof content === "string") setText(node, content);
    else putShapes(node, content);
  });
}

function makeNodes(parent, shapes) {
  const forms = shapes.map(([tag, attributes, content]) => [tag, typeof content, ...Object.keys(attributes)].join());
  const known = [...parent.children];
  const other = forms.findIndex((form, i) => form !== FORMS.get(known[i]));
  const kept = other < 0 ? forms.length : other;
  const added = shapes.slice(kept).map(([tag], i) => {
    const node = svg(tag);
    FORMS.set(node, forms[kept + i]);
    return node;
  });
  for (const node of known.slice(kept)) node.remove();
  parent.append(...added);
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
