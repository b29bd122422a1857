// What a bet answers stays veiled in the built page until the bet is placed. The looks of a veil are
// the page's (`book/_static/book.css`): what it covers stands outside of the widget.
import { askButton } from "./ask.js";
import { html } from "./dom.js";

const PASSED = "h1, h2, h3, h4, h5, h6, hr, script, style, nav, details";
const WIDGET = '.rope-widget-host, script[type$="widget-view+json"]';

// The next blocks of the text after a node, in reading order: no headings, no folds, no widgets.
export function blocksAfter(node, count) {
  const found = [];
  const add = (block) => {
    if (block.localName === "section") for (const child of block.children) add(child);
    else if (!block.matches(PASSED) && !block.querySelector(WIDGET) && hasContent(block)) found.push(block);
  };
  for (let at = node; at && !at.matches(".bd-article") && found.length < count; at = at.parentElement) {
    for (let next = at.nextElementSibling; next && found.length < count; next = next.nextElementSibling) add(next);
  }
  return found.slice(0, count);
}

function hasContent(block) {
  return block.textContent.trim() !== "" || block.querySelector("img, svg, figure") !== null;
}

// Veils the next `count` blocks after the cell that `el` stands in; returns what lifts the veil.
// Outside of a built page, as in JupyterLab, there is nothing to veil.
export function veil(el, count, words) {
  const cell = el.closest(".bd-article") && el.closest("section > *, .rope-deeper-body > *, .bd-article > *");
  const blocks = cell && count > 0 ? blocksAfter(cell, count) : [];
  if (!blocks.length) return () => {};
  const show = askButton(words.lift, () => lift());
  // The bet may stand a screen or two above what it veils.
  const back = askButton(words.back, () => {
    el.querySelector("[tabindex='0']").focus({ preventScroll: true });
    el.scrollIntoView({ block: "start" });
  });
  const panel = html("div", { class: "rope-veil" }, html("p", {}, `${words.veiled} `, back, " ", show));
  blocks[0].before(panel);
  for (const block of blocks) {
    block.classList.add("rope-veiled");
    block.inert = true;
  }
  // A link into what is veiled, or to the heading above it, asks for it; so does a search, whose
  // words the page marks.
  const wanted = () => {
    const target = document.querySelector(":target");
    const leads = (block) => block.contains(target) || (target?.contains(block) && !target.contains(cell));
    const searched = (block) => block.querySelector(".highlighted") !== null;
    if (blocks.some((block) => leads(block) || searched(block))) lift();
  };
  const observer = new MutationObserver(wanted);
  function lift() {
    const held = panel.contains(document.activeElement);
    observer.disconnect();
    removeEventListener("hashchange", wanted);
    panel.remove();
    for (const block of blocks) {
      block.classList.remove("rope-veiled");
      block.inert = false;
    }
    // The keyboard was on the panel: it goes on where the panel stood.
    if (held) {
      blocks[0].tabIndex = -1;
      blocks[0].focus({ preventScroll: true });
    }
  }
  for (const block of blocks) observer.observe(block, { childList: true, subtree: true });
  addEventListener("hashchange", wanted);
  wanted();
  return lift;
}
