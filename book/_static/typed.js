// What search says while one types: the closest sections under its box, and which questions of a page
// are asked for. A classic deferred script after search.js; it defines no global.
(() => {
  "use strict";

  const { search } = document.querySelector('script[src*="/search.js"]');
  const { find, node, addressOf, whenReady } = search;
  const WORDS = {
    filter: "Filter these questions",
    none: "No section has any of these words.",
    close: (count) => (count === 1 ? "1 section comes closest" : `The ${count} closest sections`),
    left: (count, of) => `${count} of ${of} questions`,
  };

  // ---- while one types --------------------------------------------------------------------------

  const LIVE = 6;

  function answerLive(form) {
    const input = form.querySelector('input[name="q"]');
    const list = node("ul", { id: "rope-live", role: "listbox", "aria-label": input.getAttribute("aria-label") });
    const said = node("p", { class: "rope-found visually-hidden", role: "status" });
    const roles = { role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false" };
    for (const [name, value] of Object.entries(roles)) input.setAttribute(name, value);
    list.hidden = true;
    form.append(list, said);
    let chosen = -1;

    function choose(at) {
      chosen = at;
      const options = [...list.querySelectorAll("a")];
      options.forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
      if (at < 0) return input.removeAttribute("aria-activedescendant");
      input.setAttribute("aria-activedescendant", options[at].id);
      options[at].scrollIntoView({ block: "nearest" });
    }

    function answer(ready) {
      const found = input.value.trim() ? find(ready, input.value).found.slice(0, LIVE) : [];
      const options = found.map((section, i) => {
        const where = node("span", { class: "rope-found-in" }, section.titles.slice(0, -1).join(" › "));
        const looks = { id: `rope-live-${i}`, role: "option", tabindex: "-1", href: addressOf(section) };
        return node("li", { role: "presentation" }, node("a", looks, section.titles.at(-1), where));
      });
      list.replaceChildren(...options);
      list.hidden = options.length === 0;
      input.setAttribute("aria-expanded", String(!list.hidden));
      said.textContent = !input.value.trim() ? "" : options.length ? WORDS.close(options.length) : WORDS.none;
      said.classList.toggle("visually-hidden", said.textContent !== WORDS.none);
      choose(-1);
    }

    input.addEventListener("focus", () => whenReady(answer));
    input.addEventListener("input", () => whenReady(answer));
    input.addEventListener("keydown", (event) => {
      const count = list.childElementCount;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && count) {
        event.preventDefault();
        choose(((chosen + 1 + step + count + 1) % (count + 1)) - 1); // the box itself is one of the places
      } else if (event.key === "Enter" && chosen >= 0) {
        event.preventDefault();
        list.querySelectorAll("a")[chosen].click();
      }
    });
    // A section of this very page is seen once the box is gone.
    list.addEventListener("click", () => form.closest(".search-button__wrapper")?.classList.remove("show"));
  }

  for (const form of document.querySelectorAll(".search-button__search-container form")) answerLive(form);

  // ---- a page of questions ----------------------------------------------------------------------

  function filterQuestions(page) {
    const { page: name } = document.documentElement.dataset;
    const input = node("input", { type: "search", placeholder: WORDS.filter, "aria-label": WORDS.filter });
    const said = node("p", { role: "status", class: "rope-found" });
    const questions = [...page.querySelectorAll("section:has(> details.rope-deeper)")];

    function filter(ready) {
      const asked = input.value.trim();
      const own = ready.filter((section) => section.page === name);
      const { found } = find(own, asked);
      const kept = new Set(found.map(({ anchor }) => anchor));
      for (const question of questions) question.hidden = asked !== "" && !kept.has(question.id);
      for (const part of page.querySelectorAll(":scope > section")) {
        part.hidden = asked !== "" && questions.every((one) => one.hidden || !part.contains(one));
      }
      const left = questions.filter(({ hidden }) => !hidden).length;
      said.textContent = asked ? WORDS.left(left, questions.length) : "";
    }

    input.addEventListener("input", () => whenReady(filter));
    page.querySelector(":scope > section").before(node("div", { class: "rope-filter" }, input, said));
  }

  const questions = document.querySelector("article section#questions");
  if (questions?.querySelector(":scope > section details.rope-deeper")) filterQuestions(questions);
})();
