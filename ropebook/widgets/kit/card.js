// A widget on a card: its picture alone, to be moved as ever, over a sentence that leads to its chapter.
import { html } from "./dom.js";

// What `data-card` names, or else the first picture.
const PICTURES = ["[data-card]", ".rope-picture", "svg[role='img']"];

export function makeCard(root, { says, title, to }) {
  root.classList.add("rope-card");
  // Whatever does not hold the picture is left away.
  const picture = PICTURES.map((name) => root.querySelector(name)).find(Boolean);
  for (let node = picture; node !== root; node = node.parentElement) {
    for (const other of node.parentElement.children) other.hidden = other !== node;
  }
  const text = html("p", { class: "rope-card-says" }, html("span", {}, says), " ", html("a", { href: to }, title));
  root.append(text);
}
