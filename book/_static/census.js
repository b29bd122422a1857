// Filters the rows of the census by what is typed. The page is whole without it.

// What is typed, as words.
(() => {
  "use strict";

  const STILL =
    /\b(?:no|not|nope|without|(?:do(?:es)? not|do(?:es)?n't))\s+(?:rope|rotary|rotation|rotat(?:e|es|ing))\b|\bnope\b/g;
  const TURNS = /\b(?:rope|rotary|rotation|rotat(?:e|es|ing))\b/g;
  const UNSCALED = /\b(?:no|without)\s+scaling\b|\bscaling\s+none\b|\bunscaled\b/g;
  const THOUSANDS = /(?<![\w.])\d{1,3}(?:(?:[,_'\u202f]\d{3})+|(?:[ \u00a0]000)+)(?!\d)/g;
  // What a number is called beside it, and what joins two words: they tell nothing by themselves.
  const NAMES = new Set("base theta rope_theta model_type layout pairs and".split(" "));
  // What follows a model's name in that of a checkpoint: versions, sizes, what it was trained for.
  const FOLLOWS =
    /^(?:v?\d+|\d+(?:x\d+)?[bmkt]|[ae]\d+b|instruct|chat|base|it|hf|pt|preview|mini|nano|tiny|small|medium|large|xl)$/;

  // Names of checkpoints that begin like one type and are of another; whose word that is stands in
  // tests/browser/test_census_typed.py.
  const OF_ANOTHER = new Map(
    Object.entries({
      commandr: "cohere",
      commandr7b: "cohere2",
      deepseekr1: "deepseek_v3",
      glm45: "glm4_moe",
      glm45air: "glm4_moe",
      glm45v: "glm4v_moe",
      glm46: "glm4_moe",
      glm47: "glm4_moe",
      glm47flash: "glm4_moe_lite",
      llama4maverick: "llama4",
      llama4scout: "llama4",
      phi4: "phi3",
    }),
  );

  const squashed = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

  // What a class is called behind the name of its model: LlamaForCausalLM.
  const CLASS =
    /(?<=\w)(?:for(?:causallm|conditionalgeneration|maskedlm|(?:sequence|token)classification)|lmheadmodel)\b/g;

  /** Of a model's file, the model_type that stands outermost in it; else all that is typed. */
  function typeIn(typed) {
    const depth = ({ index }) =>
      typed.slice(0, index).replace(/[^{]/g, "").length - typed.slice(0, index).replace(/[^}]/g, "").length;
    const told = [...typed.matchAll(/"model_type"\s*:\s*"([^"]+)"/g)].sort((one, other) => depth(one) - depth(other));
    return told.length ? told[0][1] : typed;
  }

  /** The words that are typed: a number without separators, "64 of 128" and "does not rotate" are one. */
  function wordsOf(typed) {
    const words = typed
      .toLowerCase()
      .replace(/\S*\//, "") // who published it
      .replace(CLASS, "")
      .replace(/[=:?!"“”]/g, " ")
      .replace(STILL, " none ")
      .replace(TURNS, " @turns ")
      .replace(/\bpartial\b/g, " @part-of-the-head ")
      .replace(/\bmla\b/g, " latent ")
      .replace(UNSCALED, " unscaled ")
      .replace(THOUSANDS, (number) => number.replace(/\D/g, ""))
      .replace(/[,;()]/g, " ")
      .match(/\d+ of(?: \d+)?(?!\S)|\S+/g);
    return (words ?? []).filter((word) => !NAMES.has(word));
  }

  /** The number that a word is, 500k and 1e6 too; NaN where it is none. */
  function numberOf(word) {
    const [, digits, unit] = /^(\d+(?:\.\d+)?(?:e\+?\d+)?)([km]?)$/.exec(word) ?? [];
    return Number(digits) * { "": 1, k: 1e3, m: 1e6 }[unit ?? ""];
  }

  /** Whether words are in a type's name, whatever stands between them; its beginning may be run together. */
  function isCalled(one, words) {
    const name = words.join(" ");
    if (!/[a-z]/.test(name) || /[^\w\s.-]/.test(name)) return false;
    const apart = new RegExp(
      name
        .split(/[^a-z0-9]+/)
        .filter(Boolean)
        .join("[^a-z0-9]*"),
    );
    return one.types.some((type) => apart.test(type.toLowerCase()) || squashed(type).startsWith(squashed(name)));
  }

  Object.assign(document.currentScript, {
    typed: { FOLLOWS, OF_ANOTHER, squashed, typeIn, wordsOf, numberOf, isCalled },
  });
})();

// Which rows have these words.
(() => {
  "use strict";

  const { FOLLOWS, OF_ANOTHER, squashed, typeIn, wordsOf, numberOf, isCalled } = document.currentScript.typed;

  function factsOf(row) {
    const sentence = row.closest("dd")?.previousElementSibling;
    const cells = [...row.querySelectorAll("td")];
    const told = row.matches("li") ? [row, sentence] : row.querySelectorAll("th, td");
    const column = (label) => cells.filter((cell) => cell.dataset.label === label).map((cell) => cell.textContent);
    const numbers = cells.flatMap((cell) => cell.textContent.replace(/,/g, "").match(/\d+/g) ?? []);
    return {
      row,
      types: [...row.querySelector("th, code").parentElement.querySelectorAll("code")].map((code) => code.textContent),
      words: [...told]
        .map((part) => part?.textContent ?? "")
        .join(" ")
        .toLowerCase(),
      layouts: new Set(column("pairs")),
      numbers: new Set(numbers.map(Number)),
      bases: column("base").map((base) => Number(base.replace(/,/g, ""))),
      unscaled: column("scaling").includes("none"),
      still: sentence?.matches("[data-still]") ?? false,
      said: new Set(row.dataset.said && [...row.dataset.said.split(" "), "turns"]),
    };
  }

  const census = document.getElementById("the-table"); // the section that holds all lists
  const links = [...document.querySelectorAll(".census-bar a")];
  const facts = [...census.querySelectorAll("tbody, li")].map(factsOf);
  const own = new Map(facts.map((one) => [squashed(one.types[0]), one]));
  const bases = new Set(facts.flatMap((one) => one.bases));

  /** Whether a word is about how a type rotates, not about what it is called. */
  const isFact = (word) =>
    word.startsWith("@") ||
    ["none", "unscaled", "half", "interleaved"].includes(word) ||
    / of/.test(word) ||
    bases.has(numberOf(word)) ||
    (/^\d+$|e/.test(word) && numberOf(word) >= 1000);

  function hasWord(one, word) {
    if (word.startsWith("@")) return one.said.has(word.slice(1));
    if (word === "none") return one.still;
    if (word === "unscaled") return one.unscaled;
    if (word === "half" || word === "interleaved") return one.layouts.has(word);
    if (/ of/.test(word)) return new RegExp(`\\b${word}\\b`).test(one.words);
    if (!Number.isNaN(numberOf(word))) return one.numbers.has(numberOf(word));
    return one.words.includes(word);
  }

  /** Whether a row has all words; some that follow each other may be its name: "gpt neox". */
  function has(one, words) {
    if (words.length === 0) return true;
    if (hasWord(one, words[0]) && has(one, words.slice(1))) return true;
    return words.some((_, at) => isCalled(one, words.slice(0, at + 1)) && has(one, words.slice(at + 1)));
  }

  /** The type that a checkpoint's name begins with, once versions and sizes are gone; null where there is none. */
  function typeOf(words) {
    const parts = words
      .join(" ")
      .split(/[^a-z0-9]+/)
      .filter(Boolean);
    const cut = [];
    for (; parts.length; cut.push(parts.pop())) {
      const glued = /^([a-z]+)\d+$/.exec(parts.at(-1));
      const name = parts.join("");
      const another = own.get(squashed(OF_ANOTHER.get(name) ?? ""));
      if (another) return { one: another, cut: [...cut, name] };
      const experts = cut.some((part) => /^a\d+b$/.test(part)) && own.get(`${name}moe`);
      if (experts || own.has(name)) return { one: experts || own.get(name), cut };
      if (glued && own.has([...parts.slice(0, -1), glued[1]].join(""))) {
        return { one: own.get([...parts.slice(0, -1), glued[1]].join("")), cut: [...cut, parts.at(-1)] };
      }
      if (!FOLLOWS.test(parts.at(-1))) return null;
    }
    return null;
  }

  /** What is in a part of the picture: what is said so of, or stands in its list. */
  function typesIn(link) {
    const list = document.querySelector(link.hash).closest("section");
    return facts.filter(({ row, said }) => (link.dataset.said ? said.has(link.dataset.said) : list.contains(row)));
  }

  const bare = (words) => words.map((word) => word.toLowerCase().replace(/^["“(]+|[,;"”)?!]+$/g, "")).join(" ");
  // What rows say of themselves: "none", "10,000", that they rotate or do not.
  const ofRows = (phrase) => /^(?:none|@turns|\d+)$/.test(wordsOf(phrase).join(" "));

  // The parts of the picture, by their legends; `typed` is what a press on one types.
  const parts = links
    .filter((link) => link.textContent)
    .map((link) => {
      const name = link.childNodes[1].data.trim();
      const { said = link.hash, typed = name, also = name } = link.dataset;
      for (const one of typesIn(link)) one.said.add(said);
      return { said, typed, also, name: bare(name.split(" ")), bar: link.closest(".census-bar") };
    });
  // With its bar before it every part is meant: "Scaling: none".
  const called = new Map(
    parts.flatMap((part) =>
      [part.typed, part.also, part.name]
        .filter((phrase) => phrase.includes(":") || !ofRows(phrase))
        .map((phrase) => [bare(phrase.split(" ")), part]),
    ),
  );
  const longest = Math.max(...[...called.keys()].map((phrase) => phrase.split(" ").length));

  /** The part that a phrase names, or most of its legend; the last word of all may be begun. */
  function partOf(phrase, last) {
    if (own.has(squashed(phrase))) return null;
    const within = ({ name }) => ` ${name} `.includes(` ${phrase}${last ? "" : " "}`);
    return called.get(phrase) ?? (phrase.length < 8 || ofRows(phrase) ? null : parts.find(within));
  }

  /** The parts that are named among the words, the longest first, and what is typed beside them. */
  function partsIn(typed) {
    const words = typeIn(typed).split(/\s+/).filter(Boolean);
    const named = new Set();
    for (let length = Math.min(longest, words.length); length > 0; length--) {
      for (let at = 0; at + length <= words.length; at++) {
        const phrase = words.slice(at, at + length);
        const part = !phrase.includes("") && partOf(bare(phrase), at + length === words.length);
        if (!part) continue;
        named.add(part);
        words.splice(at, length, ""); // what stands around it is no phrase
      }
    }
    const beside = words.filter(Boolean).join(" ");
    const tells = wordsOf(beside).length > 0;
    return {
      named: parts.filter((part) => named.has(part)),
      beside: tells ? beside.replace(/^and +|(?: +and|[,;])+$/gi, "") : "",
    };
  }

  /** The rows to show, and the type that a name was reduced to, if it was. */
  function found(typed) {
    const { named, beside } = partsIn(typed);
    const words = [...named.map(({ said }) => `@${said}`), ...wordsOf(beside)];
    const shown = new Set(facts.filter((one) => has(one, words)));
    const name = words.filter((word) => !isFact(word));
    const read = typeOf(name);
    if (!read?.cut.length) return { shown, type: null };
    // Without its only number a name may mean another model, so one that has the number goes first.
    const version = !/\d/.test(read.one.types[0]) && read.cut.some((part) => /^\D*\d{1,2}$/.test(part));
    const begins = (one) => one.types.some((type) => squashed(type).startsWith(squashed(name.join(""))));
    if (version && [...shown].some(begins)) return { shown, type: null };
    const text = own.get(squashed(read.one.types.at(-1)));
    const ofType = [read.one, text].filter((one) => one && words.filter(isFact).every((word) => hasWord(one, word)));
    for (const one of ofType) shown.add(one);
    return { shown, type: ofType.length ? read.one.types[0] : null };
  }

  Object.assign(document.currentScript.typed, { census, links, facts, parts, found, partsIn, typesIn });
})();

// What the picture answers.
(() => {
  "use strict";

  const { links, facts, typesIn } = document.currentScript.typed;
  const figure = document.querySelector(".census-picture");
  const [asks, answers] = figure.querySelectorAll(".census-answer p");
  const [counted, elsewhere, again, help] = answers.querySelectorAll("span");
  const parts = links.map((link) => ({ link, types: typesIn(link) }));
  const rotating = facts.filter(({ row }) => row.dataset.said).length;
  let left = facts; // by what is typed

  const MOST = 40; // letters of what is typed that are said again
  const short = (typed, most = MOST) => (typed.length > most ? `${typed.slice(0, most - 1)}…` : typed);

  /** All bars answer: in each part, how many of these types are. */
  function draw(types) {
    const asked = new Set(types);
    figure.toggleAttribute("data-asked", asked.size < facts.length);
    for (const { link, types } of parts) {
      const count = types.filter((one) => asked.has(one)).length;
      link.style.setProperty("--part", count / types.length);
      link.toggleAttribute("data-none", count === 0);
      link.querySelector("strong")?.replaceChildren(count === types.length ? count : `${count} of ${types.length}`);
    }
  }

  // Who points at a part sees its types in all bars, where no others are asked for.
  for (const { link, types } of parts) {
    const show = () => draw(left.length === facts.length ? types : left);
    for (const comes of ["pointerenter", "focus"]) link.addEventListener(comes, show);
    for (const goes of ["pointerleave", "blur"]) link.addEventListener(goes, () => draw(left));
  }

  /** The bars show the types that are left by what is asked for, and the line over them says so. */
  function answer(types, { named, beside }) {
    left = types;
    draw(left);
    const all = named.length === 0 && !beside;
    asks.toggleAttribute("data-off", !all);
    answers.toggleAttribute("data-off", all);
    const inBars = left.filter(({ row }) => row.dataset.said).length;
    answers.querySelector("strong").textContent = inBars || left.length;
    counted.textContent = inBars ? `of ${rotating}` : "found";
    help.hidden = left.length > 0 || !beside;
    const asked = [short(beside), ...named.map(({ typed }) => typed)].filter(Boolean).join("; ");
    answers.querySelector("em").textContent = short(asked, (help.hidden ? 4 : 2) * MOST);
    elsewhere.hidden = inBars > 0 || left.length === 0;
    answers.querySelector("a[href^='#']").hidden = left.length === 0;
    again.hidden = left.length > 0 || Boolean(beside);
    const on = new Set(named.map(({ said }) => said));
    const now = new Set(left);
    for (const { link, types } of parts) {
      link.toggleAttribute("data-on", on.has(link.dataset.said));
      // A list in which nothing is left leads nowhere.
      if (!link.dataset.said) link.ariaDisabled = types.some((one) => now.has(one)) ? null : "true";
    }
  }

  Object.assign(document.currentScript.typed, { figure, answer, short });
})();

// What the page shows of it.
(() => {
  "use strict";

  const { census, links, facts, parts, found, partsIn, figure, answer, short } = document.currentScript.typed;
  const WORDS = {
    count: (count, all) => `${count} of ${all} types`,
    read: (typed, type) =>
      `“${typed}” is read as ${type}, by its name alone: model_type in the model's config.json decides. ` +
      "The row is the type's default: base, scaling and layers of one model may be others. Or ",
    nothing: (typed) =>
      `Nothing here matches “${typed}”. Try a part of the model_type in the model's config.json, a base such as ` +
      "500000, half, interleaved, yarn, or no rotation. Or ",
    paste: "paste the file",
  };

  const form = document.querySelector(".census-form");
  const input = form.querySelector("input");
  const count = form.querySelector("[role=status] p");
  const top = census.querySelector(".census-top");
  const note = top.querySelector("p");
  const [back, forth] = form.querySelectorAll("a");
  const clear = form.querySelector("button");
  const groups = [...census.querySelectorAll("section, dd")];
  let began = null; // where somebody was when he began to type
  const lines = [...document.querySelectorAll(".page-toc a[href^='#']")]; // of the contents
  let left = facts; // by what is typed

  /** Say how high the box is: what one is led to stands below it. */
  const measure = () => form.parentElement.style.setProperty("--census-form", `${form.offsetHeight}px`);

  function filter() {
    const typed = input.value.trim();
    const { shown, type } = found(typed);
    for (const one of facts) one.row.hidden = !shown.has(one);
    left = facts.filter((one) => shown.has(one));
    const asked = partsIn(typed);
    answer(left, asked);
    point();
    clear.hidden = typed === "";
    for (const group of groups) {
      const empty = !group.querySelector("tbody:not([hidden]), li:not([hidden])");
      group.hidden = empty;
      if (group.matches("dd")) group.previousElementSibling.hidden = empty;
    }
    for (const line of lines) {
      const part = document.getElementById(line.hash.slice(1))?.closest("section");
      line.parentElement.hidden = part?.hidden ?? false;
    }
    census.querySelector("h2").hidden = shown.size === 0;
    census.style.minHeight = typed ? "100vh" : ""; // the box stays where it is, however little is left
    count.textContent = WORDS.count(shown.size, facts.length);
    note.hidden = shown.size > 0 && !type;
    const link = document.createElement("a");
    link.href = "your_model.html";
    link.textContent = WORDS.paste;
    note.replaceChildren(type ? WORDS.read(short(asked.beside), type) : WORDS.nothing(short(typed)), link, ".");
    measure();
  }

  // What is left stands below the box, wherever somebody had scrolled.
  const lead = () => ((note.hidden && census.querySelector("section:not([hidden])")) || top).scrollIntoView();

  // The box says the way back to who has the picture above it, and the way on to who sees it.
  function point() {
    back.hidden = figure.getBoundingClientRect().bottom > form.getBoundingClientRect().bottom;
    forth.hidden = !back.hidden || !input.value.trim() || left.length === 0;
  }
  addEventListener("scroll", point);

  // What a part asks for is a place of its own: the browser's Back leads to what was typed before.
  function ask(type, address) {
    if (!type && !address.hash) {
      history.replaceState({ type, at: scrollY }, "", address);
    } else if (address.href !== location.href || type !== input.value) {
      history.replaceState({ type: input.value, at: scrollY }, "");
      history.pushState({ type, at: scrollY }, "", address);
    }
    input.value = type;
    began = null;
    filter();
  }

  /** What the box holds once a part is pressed: it too, for another of its bar; or no more, if it was on. */
  function pressed(link) {
    const { named, beside } = partsIn(input.value);
    const on = link.hasAttribute("data-on");
    const next = parts.filter((part) => {
      if (part.said === link.dataset.said) return !on;
      return named.includes(part) && (on || !part.bar.contains(link));
    });
    return [beside, ...next.map(({ typed }) => typed)].filter(Boolean).join("; ");
  }

  for (const link of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      if (link.ariaDisabled) return;
      const address = new URL(link.href);
      const part = link.dataset.said;
      const type = part ? pressed(link) : input.value.trim();
      address.search = type && `?type=${encodeURIComponent(type)}`;
      if (part) address.hash = ""; // nobody is led away from the bars, which answer
      ask(type, address);
      if (!part) document.getElementById(address.hash.slice(1)).scrollIntoView({ behavior: "instant" });
    });
  }
  clear.addEventListener("click", () => {
    const address = new URL(location.href);
    [address.search, address.hash] = ["", ""];
    ask("", address);
    input.focus({ preventScroll: true });
  });
  addEventListener("popstate", ({ state }) => {
    if (typeof state?.type !== "string") return; // an anchor of this page
    input.value = state.type;
    filter();
    scrollTo({ top: state.at, behavior: "instant" }); // what was restored was that of another length
  });

  form.hidden = false;
  new ResizeObserver(measure).observe(form);
  input.value = new URLSearchParams(location.search).get("type") ?? ""; // as the search hands it over
  input.addEventListener("input", () => {
    const at = began ?? scrollY;
    began = input.value.trim() ? at : null;
    filter();
    if (began === null) scrollTo({ top: at, behavior: "instant" });
    else lead();
  });
  filter();
})();
