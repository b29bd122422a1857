// Terms that explain themselves: pointed at, reached by the keyboard, or tapped. Without this script
// they are links to the glossary. A classic deferred script; it defines no global.
(() => {
  "use strict";

  const terms = [...document.querySelectorAll("a.rope-term")];
  const wordsOf = (term) => document.getElementById(term.getAttribute("aria-describedby"));
  let open = null;
  let closing = null;

  function close() {
    clearTimeout(closing);
    if (!open) return;
    wordsOf(open).hidden = true;
    open.setAttribute("aria-expanded", "false");
    open = null;
  }

  /** Under the term, or above it where there is no room; never past the sides of the screen. */
  function place(term) {
    const words = wordsOf(term);
    words.style.left = words.style.top = "0px";
    const from = words.getBoundingClientRect();
    const [first] = term.getClientRects();
    const last = [...term.getClientRects()].at(-1);
    const width = document.documentElement.clientWidth;
    const left = Math.min(Math.max(first.left, 8), width - from.width - 8);
    const under = last.bottom + 4;
    const top = under + from.height > innerHeight ? first.top - from.height - 4 : under;
    words.style.left = `${left - from.left}px`;
    words.style.top = `${top - from.top}px`;
  }

  function show(term) {
    clearTimeout(closing);
    if (open === term) return;
    close();
    open = term;
    wordsOf(term).hidden = false;
    term.setAttribute("aria-expanded", "true");
    place(term);
  }

  // The pointer may move from the term onto its words.
  const closeSoon = () => {
    clearTimeout(closing);
    closing = setTimeout(close, 250);
  };

  for (const term of terms) {
    term.setAttribute("role", "button");
    term.setAttribute("aria-expanded", "false");
    for (const node of [term, wordsOf(term)]) {
      node.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(term));
      node.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && closeSoon());
    }
    term.addEventListener("focus", () => term.matches(":focus-visible") && show(term));
    term.addEventListener("blur", closeSoon);
    term.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // as a link, elsewhere
      event.preventDefault();
      show(term);
    });
    term.addEventListener("keydown", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      show(term);
    });
  }

  document.addEventListener("keydown", (event) => event.key === "Escape" && close());
  document.addEventListener("click", (event) => {
    if (open && !event.target.closest(".rope-term, .rope-definition")) close();
  });
})();
