// Search: finds sections by their titles and words, for its own page and for `typed.js`. A classic
// script; `sections.js`, written by the build (ropebook/site/sections.py), hands it what there is to
// find, once somebody asks.

// What is found for a query: words are compared, and nothing is shown.
(() => {
  "use strict";

  const FEW = 5; // so many that have all words, or those that come close follow
  // What a question is made of beside what it asks for.
  const COMMON = new Set(
    "a an and are at be by can do does for how i in is it my of on or the to vs what when which why with".split(" "),
  );
  // Words for one thing; what is typed finds the others.
  const SAME = [
    ["bf16", "bfloat16"],
    ["fp16", "float16"],
    ["fp32", "float32"],
    ["vision", "image"],
    ["mrope", "m-rope"],
    ["gqa", "grouped-query"],
    ["8k", "8192"],
  ];
  // What is asked for in other words than the title of a page or section has: as if it stood there.
  const ASKED = {
    "book/library/conformance": "c++ test vectors cpp known vectors rust swift engine",
    "book/long_context/stretching#where-the-attention-factor-goes": "attn_factor",
    "book/practice/bugs#bug-factors-loaded-and-left-lying": "repeats itself past 8192, gibberish for long prompts",
    "book/practice/bugs#bug-one-row-of-positions-for-all": "only first row right, only the first batch row right",
    "book/practice/bugs#bug-scaling-parsed-and-never-read": "repeats itself past 8192, gibberish for long prompts",
    "book/practice/census": "list of interleaved models, interleaved types",
    "book/questions#after-a-prefix-hit": "prefix cache hit",
    "book/questions#after-eviction": "prune the kv cache, pruning",
    "book/questions#compiled-and-eager": "torch.compile differs from eager",
    "book/questions#decoding-offset": "kv cache decode gives other logits than the full forward",
    "book/questions#kernel-tolerance": "tolerance, fused kernel, triton rope kernel test",
    "book/questions#left-padding": "padding_side, only first row right, only the first batch row right",
    "book/questions#no-rope-layers": "which layers use rope, nope layers, llama 4",
    "book/questions#packing": "packing, several documents in a row",
    "book/questions#unrecognized-keys": "hf_overrides, hf-overrides, rope-scaling argument",
    "book/questions#which-dimensions-rotate": "rotary_pct, partial rotary",
    "book/rope/implementations#convert-back": "unpermute, permute back",
    "book/rope/implementations#keys-that-move-on": "context shift",
    "book/rope/implementations#what-else-moves-with-the-rows": "unpermute, permute back",
    "book/rope/implementations#where-to-round": "position ids bf16, differs from hf",
  };

  // Letters as they are compared: one case, no accents, numbers without separators.
  function plain(text) {
    const bare = text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
    return bare.replace(/(\d)[ ,_\u202f](?=\d{3}(?!\d))/g, "$1");
  }

  function termsOf(query) {
    const words = plain(query).match(/[\p{L}\p{N}_][\p{L}\p{N}_.*-]*(?:\+\+)?/gu) ?? [];
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

  const alike = (term) => SAME.find((same) => same.includes(term)) ?? [term];

  // What a section has of a term: in its own title, in those above it, in its prose and in its code.
  function hitsOf(section, term) {
    const words = alike(term);
    const most = (text) => Math.max(...words.map((word) => times(text, word)));
    const hits = { own: Math.min(most(section.title), 1), above: Math.min(most(section.above), 1) };
    return { ...hits, within: most(section.words) + 0.2 * most(section.listing) };
  }

  // Rare terms weigh more. A term in a section's own title weighs most, then one in the titles above
  // it, then one in its text, where each further time counts less, and in a long text less still.
  function find(sections, query) {
    const terms = termsOf(query);
    const phrase = plain(query).trim();
    const hits = sections.map((section) => terms.map((term) => hitsOf(section, term)));
    const has = ({ own, above, within }) => own + above + within > 0;
    const rarity = terms.map((_, i) => Math.log(1 + sections.length / (1 + hits.filter((row) => has(row[i])).length)));
    // Words that are typed side by side, "position 0", are looked for side by side.
    const typed = phrase.split(/\s+/);
    const pairs = typed.slice(1).map((word, i) => [typed[i], word]);
    const beside = pairs.filter((pair) => !pair.some((word) => COMMON.has(word))).map((pair) => pair.join(" "));
    const mean = sections.reduce((sum, { words }) => sum + words.length, 0) / sections.length;
    const rated = sections.map((section, at) => {
      const long = 0.5 + (0.5 * section.words.length) / mean;
      const part = ({ own, above, within }) => 3 * own + above + (2 * within) / (within + long);
      let sum = hits[at].reduce((before, hit, i) => before + rarity[i] * part(hit), 0);
      if (terms.length > 1 && section.title.includes(phrase)) sum += 15;
      if (terms.length > 1 && section.words.includes(phrase)) sum += 4;
      if (typed.length > 2) sum += 4 * beside.filter((pair) => section.title.includes(pair)).length;
      return { section, sum, had: hits[at].filter(has).length };
    });
    const most = Math.max(0, ...rated.map(({ had }) => had));
    const best = rated.filter(({ had }) => had > 0).sort((a, b) => b.sum - a.sum);
    const full = best.filter(({ had }) => had === terms.length);
    const close = full.length < FEW ? best.filter(({ had }) => had < terms.length && had >= most - 1) : [];
    const found = [...full, ...close.slice(0, 2 * FEW)].map(({ section }) => section);
    const types = typesIn(sections, query);
    const whole = types.length === 1 && types[0].type === phrase;
    found.splice(whole ? 0 : 1, 0, ...types);
    return { terms, full: full.length + (whole ? 1 : 0), found };
  }

  // Model types among the words, each an entry of its own: the census, filtered by that type.
  function typesIn(sections, query) {
    const words = new Set(plain(query).match(/[\p{L}\p{N}_.-]+/gu));
    return sections.flatMap((section) =>
      (section.names ?? [])
        .filter((name) => words.has(name.toLowerCase()))
        .map((type) => ({ ...section, titles: [...section.titles, type], type })),
    );
  }

  // A section as the build wrote it, with its words as they are compared.
  const prepared = (section) => ({
    ...section,
    title: plain(`${section.titles.at(-1)} ${ASKED[[section.page, section.anchor].filter(Boolean).join("#")] ?? ""}`),
    above: plain(section.titles.slice(0, -1).join(" ")),
    words: plain(section.text),
    listing: plain(section.code),
  });

  Object.assign(document.currentScript, { finding: { find, plain, prepared, alike } });
})();

// What is shown of it, on the page of the search and under its box.
(() => {
  "use strict";

  const WORDS = {
    none: "No section has any of these words.",
    some: "No section has all of these words. These come closest:",
    few: (count) =>
      `${count === 1 ? "1 section has" : `${count} sections have`} all of these words. Others come close:`,
    one: "1 section",
    many: (count, shown) => (shown < count ? `${count} sections, the first ${shown}` : `${count} sections`),
    ask: "Ask for a word, a function or a question: sections that have all of the words are listed.",
  };
  const SHOWN = 30;
  const own = document.currentScript;
  const { find, plain, prepared, alike } = own.finding;
  const root = new URL("..", own.src);
  const searching = document.getElementById("search-results") !== null;
  let ready = null; // all sections, once they are here
  const waiting = []; // what is to be done then

  function whenReady(act) {
    if (ready) return act(ready);
    if (waiting.push(act) > 1 || searching) return; // asked for before, or by the page itself
    document.head.append(node("script", { src: new URL("_static/sections.js", root).href }));
  }

  function node(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // The words around the first place where most terms stand together, with the terms marked.
  function excerpt({ titles, text, code }, terms) {
    const words = terms.flatMap(alike);
    const source = words.map((word) => word.replace(/[.*+]/g, "\\$&")).join("|");
    const has = (part) => new RegExp(source, "iu").test(part);
    const shown = has(code) && !has(titles.join(" ")) && !has(text) ? code : text;
    const places = [...shown.matchAll(new RegExp(source, "giu"))];
    const near = ({ index }) =>
      new Set(places.filter((one) => one.index >= index && one.index < index + 140).map(([word]) => plain(word))).size;
    const first = places.reduce((best, one) => (best && near(best) >= near(one) ? best : one), null)?.index ?? -1;
    const from = first < 90 ? 0 : shown.indexOf(" ", first - 80) + 1;
    const piece = shown.slice(from, from + 220);
    const cut = from + 220 < shown.length ? `${piece.slice(0, piece.lastIndexOf(" "))} …` : piece;
    const parts = cut.split(new RegExp(`(${source})`, "giu"));
    const marked = parts.map((part, i) => (i % 2 ? node("mark", {}, part) : part));
    return node("p", {}, from ? "… " : "", ...marked);
  }

  const addressOf = ({ page, anchor, type }) =>
    new URL(`${page}.html${type ? `?type=${encodeURIComponent(type)}` : ""}${anchor && `#${anchor}`}`, root).href;

  function entry(section, terms) {
    const above = section.titles.slice(0, -1).join(" › ");
    const link = node("a", { href: addressOf(section) }, section.titles.at(-1));
    const where = above ? [node("span", { class: "rope-found-in" }, above)] : [];
    return node("li", {}, link, ...where, excerpt(section, terms));
  }

  function show(sections) {
    const box = document.getElementById("search-results");
    const query = new URLSearchParams(location.search).get("q") ?? "";
    for (const input of document.querySelectorAll('.bd-search-container input[name="q"]')) input.value = query;
    const { terms, full, found } = find(sections, query);
    const shown = found.slice(0, SHOWN);
    const count = found.length === 1 ? WORDS.one : WORDS.many(found.length, shown.length);
    const close = full ? WORDS.few(full) : WORDS.some;
    const said = !terms.length ? WORDS.ask : !found.length ? WORDS.none : full === found.length ? count : close;
    box.replaceChildren(
      node("p", { role: "status", class: "rope-found" }, said),
      node("ol", { class: "rope-results" }, ...shown.map((section) => entry(section, terms))),
    );
  }

  document.addEventListener("rope-sections", ({ detail }) => {
    ready = detail.map(prepared);
    if (searching) show(ready);
    for (const act of waiting.splice(0)) act(ready);
  });

  Object.assign(own, { search: { find, node, addressOf, whenReady } });
})();
