// What stands in a picture, told as a whole each time: lists of shapes [tag, attributes, text].
import { setAttributes, setText, svg } from "./dom.js";

// A part of a picture, before those made later. Its nodes are made anew only where other tags are
// told, or more or fewer, so that shapes of one tag carry the same attributes each time.
export function layer(picture) {
  const group = svg("g", {}, picture);
  let tags = "";
  return (shapes) => {
    const told = shapes.map(([tag]) => tag).join();
    if (told !== tags) group.replaceChildren(...shapes.map(([tag]) => svg(tag)));
    tags = told;
    shapes.forEach(([, attributes, text = ""], i) => setText(setAttributes(group.children[i], attributes), text));
  };
}

export function path(name, d, more = {}) {
  return ["path", { class: name, d, ...more }];
}

export function label(name, x, y, text, anchor = "start") {
  return ["text", { class: name, x, y, "text-anchor": anchor }, text];
}
