// What helps to read a page: folds that open where a link leads, and the switch for code. A classic
// deferred script, as browsers refuse module scripts from file://; it defines no global.
(() => {
  "use strict";

  const root = document.documentElement;
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

  const { kept } = document.querySelector('script[src*="/kept.js"]');
  const tool = (name) => document.querySelector(`.rope-tool[data-tool="${name}"]`);

  /** Give a tool its words, which say the state that it is in or what it does. */
  function label(button, words, does) {
    button.querySelector(".rope-tool-words").textContent = words;
    button.title = does;
    button.hidden = false;
  }

  // ---- folds ------------------------------------------------------------------------------------

  const folds = () => all("details.rope-deeper, .rope-museum details");

  /** Open every fold that a node stands in, and the one of which it is the section, if any is there. */
  function openAround(node) {
    const own = node.matches("section") ? node.querySelector(":scope > details.rope-deeper") : null;
    const around = own ? [own] : [];
    for (let up = node; up; up = up.parentElement) if (up.matches("details")) around.push(up);
    for (const fold of around) fold.open = true;
    return around.length > 0;
  }

  function placeOf(hash) {
    if (hash.length < 2) return null;
    try {
      return document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      return null; // no address of a place: a stray percent sign
    }
  }

  // What stands above a place grows as it is drawn: until the reader moves or goes back, the place stays in sight.
  let holding = null;
  function hold(place) {
    holding?.disconnect();
    holding = new ResizeObserver(() => place.scrollIntoView({ behavior: "instant" }));
    holding.observe(document.body);
  }
  for (const move of ["wheel", "touchmove", "keydown", "pointerdown", "popstate"]) {
    window.addEventListener(move, () => holding?.disconnect(), { passive: true });
  }

  function openTheAddressed() {
    const place = placeOf(location.hash);
    if (!place) return;
    openAround(place);
    hold(place);
  }

  /** A link to where the address already points changes no address, but may lead into a fold. */
  function openTheClicked(event) {
    const link = event.target.closest?.("a[href]");
    if (!link || link.href.split("#")[0] !== location.href.split("#")[0]) return;
    const place = placeOf(link.hash);
    if (place) openAround(place);
  }

  function offerFolds() {
    if (folds().length === 0) return;
    const button = tool("folds");
    const anyClosed = () => folds().some((fold) => !fold.open);
    const say = () =>
      anyClosed()
        ? label(button, "Open all", "Open all that is folded")
        : label(button, "Close all", "Close all that can be folded");
    button?.addEventListener("click", () => {
      const open = anyClosed();
      for (const fold of folds()) fold.open = open;
    });
    for (const fold of folds()) fold.addEventListener("toggle", say);
    if (button) say();
  }
  window.addEventListener("hashchange", openTheAddressed);
  document.addEventListener("click", openTheClicked);
  openTheAddressed();
  // Back and forward, a browser goes to where the page stood, measured with other folds open.
  window.addEventListener("pageshow", () => requestAnimationFrame(openTheAddressed));

  // On paper nothing can be opened.
  const openedForPrint = new Set();
  window.addEventListener("beforeprint", () => {
    for (const fold of folds().filter((one) => !one.open)) openedForPrint.add(fold);
    for (const fold of openedForPrint) fold.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const fold of openedForPrint) fold.open = false;
    openedForPrint.clear();
  });

  // ---- code: one switch for the whole book ------------------------------------------------------

  function offerCode() {
    const button = tool("code");
    if (!button || !document.querySelector(".cell_input")) return;
    const say = () =>
      root.dataset.code === "shown"
        ? label(button, "Code: shown", "Hide the code of this book")
        : label(button, "Code: hidden", "Show the code of this book");
    button.addEventListener("click", () => {
      root.dataset.code = root.dataset.code === "shown" ? "hidden" : "shown";
      kept.set("code", root.dataset.code);
      say();
    });
    say();
  }

  offerFolds();
  offerCode();
})();
