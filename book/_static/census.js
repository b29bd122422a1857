// Filters the rows of the census by what is typed, and has the picture answer. The page is whole without it.

// What the picture answers.
(() => {
  "use strict";

  const { typed: shared } = document.querySelector(".census-form");
  const { links, facts, typesIn } = shared;
  const figure = document.querySelector(".census-picture");
  const [asks, answers] = figure.querySelectorAll(".census-answer p");
  const [counted, elsewhere, again, help] = answers.querySelectorAll("span");
  const UNREAD = "#types-that-rotate-otherwise";
  const parts = links.map((link) => ({ link, types: typesIn(link) }));
  const rotating = facts.filter(({ row }) => row.dataset.said).length;
  let [left, by] = [facts, false]; // what is typed, and whether that is what rows say

  const MOST = 40; // letters of what is typed that are said again
  const short = (typed, most = MOST) => (typed.length > most ? `${typed.slice(0, most - 1)}…` : typed);

  /** All bars answer: in each part, how many of these types are; what has no rows is not counted by what rows say. */
  function draw(types, ofRows) {
    const asked = new Set(types);
    figure.toggleAttribute("data-asked", asked.size < facts.length);
    for (const { link, types } of parts) {
      const count = types.filter((one) => asked.has(one)).length;
      link.style.setProperty("--part", count / types.length);
      link.toggleAttribute("data-none", count === 0);
      const told = count === types.length ? count : `${count} of ${types.length}`;
      const isUnknown = ofRows && count === 0 && link.hash === UNREAD;
      link.querySelector("strong")?.replaceChildren(isUnknown ? `? of ${types.length}` : told);
    }
  }

  // Who points at a part sees its types in all bars, where no others are asked for.
  for (const { link, types } of parts) {
    const show = () => (left.length === facts.length ? draw(types, link.dataset.said) : draw(left, by));
    for (const comes of ["pointerenter", "focus"]) link.addEventListener(comes, show);
    for (const goes of ["pointerleave", "blur"]) link.addEventListener(goes, () => draw(left, by));
  }

  /** The bars show the types that are left by what is asked for, and the line over them says so. */
  function answer(types, ofRows, { named, beside }) {
    [left, by] = [types, ofRows];
    draw(left, by);
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
      link.ariaCurrent = on.has(link.dataset.said) ? "true" : null;
      // A list in which nothing is left leads nowhere.
      if (!link.dataset.said) link.ariaDisabled = types.some((one) => now.has(one)) ? null : "true";
    }
  }

  Object.assign(shared, { figure, answer, short });
})();

// What the page shows of it.
(() => {
  "use strict";

  const { typed: shared } = document.querySelector(".census-form");
  const { census, links, facts, parts, found, partsIn, nearTo, figure, answer, short } = shared;
  const WORDS = {
    count: (count, all) => `${count} of ${all} types`,
    read: (typed, type) =>
      `“${typed}” is read as ${type}, by its name alone: model_type in the model's config.json decides. ` +
      "The row is the type's default: base, scaling and layers of one model may be others. Or ",
    file: (type) =>
      `Of this file model_type alone is read, ${type}, and the row is the type's default: base, scaling and layers ` +
      "of the file may be others. To have all of it read, ",
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
  const lists = [...new Set(facts.map(({ row }) => row.parentElement))];
  let began = null; // where somebody was when he began to type
  const lines = [...document.querySelectorAll(".page-toc a[href^='#']")]; // of the contents
  let left = facts; // by what is typed

  /** Say how high the box is: what one is led to stands below it. */
  const measure = () => form.parentElement.style.setProperty("--census-form", `${form.offsetHeight}px`);

  function filter() {
    const typed = input.value.trim();
    const { shown, type, ofRows, isFile } = found(typed);
    for (const one of facts) one.row.hidden = !shown.has(one);
    left = facts.filter((one) => shown.has(one));
    const asked = partsIn(typed);
    answer(left, ofRows, asked);
    const rows = nearTo(typed, type, facts).map(({ row }) => row);
    for (const list of lists) list.append(...rows.filter((row) => row.parentElement === list));
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
    const read = isFile ? WORDS.file(type) : WORDS.read(short(asked.beside), type);
    const said = type ? read : WORDS.nothing(short(typed));
    note.replaceChildren(...(note.hidden ? [] : [said, link, "."]));
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
