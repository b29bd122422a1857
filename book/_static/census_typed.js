// Which rows of the census are asked for by what is typed. census.js shows them.

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

  // What the scripts of this page share; they define no global.
  document.querySelector(".census-form").typed = { FOLLOWS, OF_ANOTHER, squashed, typeIn, wordsOf, numberOf, isCalled };
})();

// What the rows say.
(() => {
  "use strict";

  const { typed: shared } = document.querySelector(".census-form");
  const { squashed, numberOf } = shared;

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
  // What is read by the text within rotates as that does.
  for (const one of facts.filter(({ types }) => types.length > 1)) {
    const text = own.get(squashed(one.types[1]));
    if (!text?.said.size) continue;
    for (const name of ["layouts", "numbers", "bases", "unscaled"]) one[name] = text[name];
    one.words += ` ${text.words}`;
    for (const said of text.said) one.said.add(said);
  }
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

  Object.assign(shared, { census, links, facts, own, isFact, hasWord });
})();

// Which rows have what is typed.
(() => {
  "use strict";

  const { typed: shared } = document.querySelector(".census-form");
  const { FOLLOWS, OF_ANOTHER, squashed, typeIn, wordsOf, isCalled, links, facts, own, isFact, hasWord } = shared;

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

  /** What is in a part of the picture: rows of their own of which it is said, or what stands in its list. */
  function typesIn(link) {
    const list = document.querySelector(link.hash).closest("section");
    const { said } = link.dataset;
    return facts.filter(({ row }) => (said ? row.dataset.said?.split(" ").includes(said) : list.contains(row)));
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
    const told = { shown, type: null, ofRows: words.some((word) => isFact(word) && !/^(?:none|@#.*)$/.test(word)) };
    const file = typeIn(typed) !== typed && own.get(squashed(typeIn(typed)));
    if (file) {
      const its = [file, own.get(squashed(file.types.at(-1)))];
      return { ...told, shown: new Set(its), type: file.types[0], isFile: true };
    }
    const read = typeOf(name);
    if (!read?.cut.length) return told;
    // Without its only number a name may mean another model, so one that has the number goes first.
    const version = !/\d/.test(read.one.types[0]) && read.cut.some((part) => /^\D*\d{1,2}$/.test(part));
    const begins = (one) => one.types.some((type) => squashed(type).startsWith(squashed(name.join(""))));
    if (version && [...shown].some(begins)) return told;
    const text = own.get(squashed(read.one.types.at(-1)));
    const ofType = [read.one, text].filter((one) => one && words.filter(isFact).every((word) => hasWord(one, word)));
    for (const one of ofType) shown.add(one);
    return { ...told, type: ofType.length ? read.one.types[0] : null };
  }

  Object.assign(shared, { parts, found, partsIn, typesIn });
})();

// Which of them stands first.
(() => {
  "use strict";

  const { typed: shared } = document.querySelector(".census-form");
  const { squashed, wordsOf, isCalled, isFact, partsIn } = shared;

  /** Types in the order in which they are near to what is typed: called so, beginning so, having it in their names. */
  function nearTo(typed, type, types) {
    const words = wordsOf(partsIn(typed).beside).filter((word) => !isFact(word));
    const name = squashed(words.join(""));
    const far = (one) => {
      const names = one.types.map(squashed);
      if (names.includes(squashed(type ?? name))) return 0;
      if (names.some((each) => each.startsWith(name))) return 1;
      return isCalled(one, words) ? 2 : 3;
    };
    const ordered = [0, 1, 2, 3].map((distance) => types.filter((one) => far(one) === distance));
    return name ? ordered.flat() : types;
  }

  Object.assign(shared, { nearTo });
})();
