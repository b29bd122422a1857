// Filters the claims of the ledger. The page is whole without it; the address keeps what is chosen.
(() => {
  "use strict";

  const form = document.querySelector(".ledger-form");
  const list = document.querySelector(".ledger-claims");
  const none = document.querySelector(".ledger-none");
  const NAMES = ["verdict", "source", "chapter", "words"];
  const CLAIM = /^#s\d{3}-\d+$/;

  const rows = [...list.children].map((row) => ({
    row,
    verdict: row.dataset.verdict,
    source: row.id.slice(1, 4),
    chapter: row.dataset.chapter,
    words: row.textContent.toLowerCase(),
  }));

  const chosen = () => Object.fromEntries(NAMES.map((name) => [name, form.elements[name].value.trim()]));

  function choose(values) {
    for (const name of NAMES) form.elements[name].value = values[name] ?? "";
  }

  /** Show the claims that match; of the others each gets one class. */
  function filter() {
    const { words, ...exact } = chosen();
    const wanted = words.toLowerCase().split(/\s+/);
    let count = 0;
    for (const one of rows) {
      const shown =
        Object.entries(exact).every(([name, value]) => !value || one[name] === value) &&
        wanted.every((word) => one.words.includes(word));
      one.row.classList.toggle("ledger-out", !shown);
      count += shown;
    }
    none.hidden = count > 0;
    form.querySelector("output").textContent = `${count} of ${rows.length} claims`;
  }

  function keep() {
    const values = Object.entries(chosen()).filter(([, value]) => value);
    const address = new URL(location);
    address.hash = new URLSearchParams(values).toString();
    history.replaceState(history.state, "", address);
  }

  /** Do what the address asks for: a filter, or one claim, which no filter may then hide. */
  function obey() {
    const one = CLAIM.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (one) {
      if (one.classList.contains("ledger-out")) {
        choose({});
        filter();
      }
      one.scrollIntoView({ behavior: "instant" });
      return;
    }
    const values = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if (!NAMES.some((name) => name in values)) return;
    choose(values);
    filter();
    form.scrollIntoView({ behavior: "instant" });
  }

  form.addEventListener("input", () => {
    filter();
    keep();
  });
  form.addEventListener("reset", () => {
    choose({});
    filter();
    keep();
    form.elements.words.focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-filter]");
    if (!link) return;
    event.preventDefault();
    choose(Object.fromEntries(new URLSearchParams(link.dataset.filter)));
    filter();
    keep();
    form.scrollIntoView({ behavior: "instant" });
    form.elements.verdict.focus({ preventScroll: true });
  });
  window.addEventListener("hashchange", obey);
  window.addEventListener("load", obey); // once more: what stands above has its height only now

  form.hidden = false;
  filter();
  obey();
})();
