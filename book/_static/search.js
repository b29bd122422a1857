// The search page: finds sections by their titles and words. A classic script; `sections.js`, written
// by the build (ropebook/site/sections.py), hands it what there is to find.
(() => {
  "use strict";

  const WORDS = {
    none: "No section has any of these words.",
    some: "No section has all of these words. These have most:",
    one: "1 section",
    many: (count, shown) => (shown < count ? `${count} sections, the first ${shown}` : `${count} sections`),
    ask: "Ask for a word, a function or a question: sections that have all of the words are listed.",
  };
  const SHOWN = 30;
  // What a question is made of beside what it asks for.
  const COMMON = new Set(
    "a an and are at be by can do does for how i in is it of on or the to what when which why with".split(" "),
  );
  const root = new URL("..", document.currentScript.src);

  // Letters as they are compared: one case, no accents, numbers without separators.
  function plain(text) {
    const bare = text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
    return bare.replace(/(\d)[ ,_\u202f](?=\d{3}(?!\d))/g, "$1");
  }

  function termsOf(query) {
    const words = plain(query).match(/[\p{L}\p{N}_][\p{L}\p{N}_.*-]*/gu) ?? [];
    const rare = words.filter((word) => !COMMON.has(word));
    const terms = rare.length ? rare : words;
    // A plural is also found as one.
    return [...new Set(terms.map((term) => (/^[a-z]{4,}s$/.test(term) ? term.slice(0, -1) : term)))];
  }

  function times(text, term) {
    let count = 0;
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
      const begins = at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]);
      count += begins ? 1 : 0.2;
    }
    return count;
  }

  // Words in a section's own title weigh most, then those of the titles above it, then its text.
  function rate(section, terms, phrase) {
    let sum = 0;
    let had = 0;
    for (const term of terms) {
      const own = Math.min(times(section.title, term), 1);
      const above = Math.min(times(section.above, term), 1);
      const within = times(section.words, term);
      if (own || above || within) had += 1;
      sum += 12 * own + 3 * above + Math.log2(1 + within);
    }
    if (terms.length > 1 && section.title.includes(phrase)) sum += 20;
    if (terms.length > 1 && section.words.includes(phrase)) sum += 6;
    return { section, sum, had };
  }

  function find(sections, query) {
    const terms = termsOf(query);
    const phrase = plain(query).trim();
    const rated = sections.map((section) => rate(section, terms, phrase));
    const most = Math.max(0, ...rated.map(({ had }) => had));
    const best = rated.filter(({ had }) => had > 0 && had === most).sort((a, b) => b.sum - a.sum);
    return { terms, all: most === terms.length, found: best.map(({ section }) => section) };
  }

  function node(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // The words around the first term, with the terms marked.
  function excerpt(text, terms) {
    const pattern = new RegExp(`(${terms.map((term) => term.replace(/[.*-]/g, "\\$&")).join("|")})`, "iu");
    const first = text.search(pattern);
    const from = first < 90 ? 0 : text.indexOf(" ", first - 80) + 1;
    const piece = text.slice(from, from + 220);
    const cut = from + 220 < text.length ? `${piece.slice(0, piece.lastIndexOf(" "))} …` : piece;
    const parts = cut.split(new RegExp(pattern, "giu"));
    const marked = parts.map((part, i) => (i % 2 ? node("mark", {}, part) : part));
    return node("p", {}, from ? "… " : "", ...marked);
  }

  function entry(section, terms) {
    const address = new URL(`${section.page}.html${section.anchor && `#${section.anchor}`}`, root);
    const above = section.titles.slice(0, -1).join(" › ");
    const link = node("a", { href: address.href }, section.titles.at(-1));
    const where = above ? [node("span", { class: "rope-found-in" }, above)] : [];
    return node("li", {}, link, ...where, excerpt(section.text, terms));
  }

  function show(sections) {
    const box = document.getElementById("search-results");
    const query = new URLSearchParams(location.search).get("q") ?? "";
    for (const input of document.querySelectorAll('.bd-search-container input[name="q"]')) input.value = query;
    const { terms, all, found } = find(sections, query);
    const shown = found.slice(0, SHOWN);
    const count = found.length === 1 ? WORDS.one : WORDS.many(found.length, shown.length);
    const said = !terms.length ? WORDS.ask : !found.length ? WORDS.none : all ? count : WORDS.some;
    box.replaceChildren(
      node("p", { role: "status", class: "rope-found" }, said),
      node("ol", { class: "rope-results" }, ...shown.map((section) => entry(section, terms))),
    );
  }

  document.addEventListener("rope-sections", ({ detail }) => {
    const ready = detail.map((section) => ({
      ...section,
      title: plain(section.titles.at(-1)),
      above: plain(section.titles.slice(0, -1).join(" ")),
      words: plain(section.text),
    }));
    show(ready);
  });
})();
