// What the pages' scripts remember, kept by the browser under `rope-book:NAME`. Where storage is
// refused, it lasts as long as the page. Other scripts find it at this one's element: no global.
(() => {
  "use strict";

  const memory = new Map();
  document.currentScript.kept = {
    get(name) {
      try {
        return localStorage.getItem(`rope-book:${name}`) ?? memory.get(name) ?? null;
      } catch {
        return memory.get(name) ?? null;
      }
    },
    set(name, value) {
      memory.set(name, value);
      try {
        localStorage.setItem(`rope-book:${name}`, value);
      } catch {
        // Refused: the page's own memory has it.
      }
    },
    /** What is kept as a table of JSON; what is none counts as an empty one. */
    table(name) {
      try {
        const found = JSON.parse(this.get(name));
        return found !== null && typeof found === "object" && !Array.isArray(found) ? found : {};
      } catch {
        return {};
      }
    },
  };
})();
