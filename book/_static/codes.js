// Filters the codes of a diagnosis by what is typed, on their page alone. The page is whole without it.
// A classic deferred script; it defines no global.
(() => {
  "use strict";

  const WORDS = {
    codes: "Filter these codes",
    rows: (count, of) => (count === of ? `${of} codes` : `${count} of ${of} codes`),
    wrong: "wrong",
    note: "a note: right, and unusual",
    way: "Point at one for its code, press to go there",
    clear: "Clear the filter",
    museum: "Find it by what you see",
    nothing: (typed) => `Nothing here says “${typed}”. Try clockwise, bfloat16, off by one, cache or rows.`,
  };
  const FITS = 22; // letters
  const EMPTY = new Set(["bug", "error", "a", "an", "the", "is"]); // they tell no code from another
  const page = document.querySelector("article section#codes-of-the-diagnosis");
  const plain = (text) =>
    text
      .toLowerCase()
      .replace(/[-_\s]+/g, " ")
      .trim();

  function node(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** What stands over a row tells of it as well: its heading, and whether it is wrong or a note. */
  const over = (row) => [
    row.closest("section").querySelector("h2").firstChild,
    row.closest("table").tHead.rows[0].cells[0],
  ];

  const rows = [...page.querySelectorAll("tbody tr")].map((row) => ({
    row,
    code: plain(row.querySelector("code").textContent),
    text: plain([row, ...over(row)].map((part) => part.textContent).join(" ")),
    square: node("i", { "data-code": row.querySelector("code").textContent }),
  }));
  // What fits the narrowest column stays in one piece: a formula does not break at its operators.
  for (const code of page.querySelectorAll("td code")) {
    code.classList.toggle("rope-whole", code.textContent.length <= FITS);
  }
  for (const part of page.querySelectorAll(":scope > section")) {
    const isNote = part.querySelector("thead th").textContent.trim() === "note";
    const squares = rows.filter(({ row }) => part.contains(row)).map(({ square }) => square);
    const strip = node(
      "span",
      { class: `rope-strip ${isNote ? "" : "rope-wrong"}`, "aria-hidden": "true" },
      ...squares,
    );
    part.querySelector("summary").append(strip);
    // Under a pointer that is fine enough, a square has a name, and leads to its code.
    strip.addEventListener("click", (event) => {
      const one = rows.find(({ square }) => square === event.target);
      if (!one || !matchMedia("(hover: hover)").matches) return;
      event.preventDefault();
      location.hash = one.row.id;
    });
  }
  const key = node("p", { class: "rope-key", "aria-hidden": "true" });
  key.append(node("i", {}), WORDS.wrong, node("i", {}), WORDS.note, node("span", {}, WORDS.way));
  const input = node("input", { type: "search", placeholder: WORDS.codes, "aria-label": WORDS.codes });
  const said = node("p", { role: "status", class: "rope-found" });
  // Where no code has it: back to all of them, or to the bugs by their symptoms.
  const clear = node("button", { type: "button" }, WORDS.clear);
  const museum = document.querySelector('a[href*="practice/bugs.html"]')?.getAttribute("href").split("#")[0];
  const nothing = node("p", {});
  const ways = node("div", {}, nothing, clear, museum ? node("a", { href: museum }, WORDS.museum) : "");
  const box = node("div", { class: "rope-filter" }, input, said, ways);

  const lines = [...document.querySelectorAll(".page-toc a[href^='#']")]; // of the contents
  const contents = lines[0]?.closest(".sidebar-secondary-item");
  const opened = new Set(); // folds that were opened to show what is left

  function openWhatIsLeft(isTyped) {
    for (const fold of page.querySelectorAll("details")) {
      const isLeft = !fold.parentElement.hidden;
      if (isTyped && isLeft && !fold.open) opened.add(fold);
      if (isTyped ? opened.has(fold) : opened.delete(fold)) fold.open = isTyped && isLeft;
    }
  }

  /** Each place of a row's text where one of the words stands. */
  function* placesOf(row, words) {
    const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const read = text.data.toLowerCase().replace(/[-_]/g, " ");
      for (const word of words) {
        for (let at = read.indexOf(word); at >= 0; at = read.indexOf(word, at + 1)) {
          yield { startContainer: text, startOffset: at, endContainer: text, endOffset: at + word.length };
        }
      }
    }
  }

  function mark(words) {
    const places = rows.filter(({ row }) => !row.hidden).flatMap(({ row }) => [...placesOf(row, words)]);
    CSS.highlights?.set("rope-typed", new Highlight(...places.map((place) => new StaticRange(place))));
  }

  /** A row stays that is what is typed, or if none is, that has each word of it; - and _ are blanks. */
  function filter() {
    const typed = plain(input.value);
    const words = typed.split(" ").filter((word) => word && !EMPTY.has(word));
    const isCode = rows.some(({ code }) => code === typed);
    const has = ({ code, text }) => (isCode ? code === typed : words.every((word) => text.includes(word)));
    for (const one of rows) {
      one.row.hidden = !has(one);
      one.square.toggleAttribute("data-off", one.row.hidden);
    }
    for (const part of page.querySelectorAll(":scope > section")) {
      const counts = ["tr:not([hidden])", "tr"].map((kind) => part.querySelectorAll(`tbody ${kind}`).length);
      part.hidden = counts[0] === 0;
      part.querySelector(".rope-deeper-label").textContent = WORDS.rows(...counts);
    }
    for (const line of lines) {
      line.parentElement.hidden = document.getElementById(line.hash.slice(1))?.hidden ?? false;
    }
    if (contents) contents.hidden = lines.every((line) => line.parentElement.hidden);
    const left = rows.filter(({ row }) => !row.hidden).length;
    said.textContent = WORDS.rows(left, rows.length);
    page.style.minHeight = typed ? "150vh" : ""; // the box stays where it is, however little is left
    ways.hidden = left > 0;
    nothing.textContent = left > 0 ? "" : WORDS.nothing(typed.slice(0, 40));
    openWhatIsLeft(typed !== "" && left < rows.length);
    mark(isCode ? [typed] : words);
  }

  input.addEventListener("input", () => {
    const { top } = box.getBoundingClientRect();
    filter();
    scrollBy({ top: box.getBoundingClientRect().top - top, behavior: "instant" }); // the box stays where it is
    const first = page.querySelector(":scope > section:not([hidden])")?.getBoundingClientRect().top;
    const below = box.getBoundingClientRect().bottom;
    if (first < below) scrollBy({ top: first - below, behavior: "instant" }); // and what is left, below it
  });
  clear.addEventListener("click", () => {
    input.value = "";
    filter();
    input.focus();
  });
  // A browser that comes back may bring what was typed; an address leads to a row, which must be there.
  window.addEventListener("pageshow", filter);
  window.addEventListener("hashchange", () => {
    const place = document.getElementById(location.hash.slice(1));
    for (const fold of opened) if (fold.contains(place)) opened.delete(fold);
    input.value = "";
    filter();
  });
  filter();
  page.querySelector(":scope > section").before(key, box);
  // Rows and the heads of columns stand below the box, however high it is.
  const measure = () => page.style.setProperty("--rope-box", `${box.offsetHeight}px`);
  measure();
  new ResizeObserver(measure).observe(box);
})();
