// How much of each chapter's bets and boxes the reader has done: in the sidebar, and on the first
// page beside its links to chapters. A classic deferred script; it defines no global.
(() => {
  "use strict";

  const root = document.documentElement;
  const { kept } = document.querySelector('script[src*="/kept.js"]');
  const { table } = document.querySelector('script[src*="/marks.js"]');
  const done = new Set();
  const here = new URL(root.dataset.content_root, location.href);

  /** The page's name in the table; the sidebar's link to the page itself is `#`. */
  function pageOf(link) {
    const address = new URL(link.getAttribute("href"), location.href);
    if (link.getAttribute("href") === "#") return root.dataset.page;
    if (address.hash || !address.href.startsWith(here.href)) return null;
    return decodeURIComponent(address.href.slice(here.href.length)).replace(/\.html$/, "");
  }

  /** One place per page in each of the two lists: { page, node }. */
  function places() {
    const lists = [".bd-sidebar-primary nav", ...(isFront() ? ["article"] : [])];
    return lists.flatMap((list) => {
      const found = new Map();
      for (const link of document.querySelectorAll(`${list} a[href]:not(.navbar-brand)`)) {
        const page = pageOf(link);
        if (Object.hasOwn(table, page ?? "") && !found.has(page)) found.set(page, link);
      }
      return [...found].map(([page, link]) => {
        const node = document.createElement("span");
        node.className = "rope-done";
        node.setAttribute("role", "img"); // called by its title: a mark alone sounds as if the link were chosen
        link.append(node);
        return { page, node };
      });
    });
  }

  const isFront = () => document.querySelector(".navbar-brand")?.getAttribute("href") === "#";
  const shown = places();

  function show() {
    const marks = kept.table("marks");
    for (const { page, node } of shown) {
      const names = table[page];
      const count = names.filter((name) => Object.hasOwn(marks, name) || done.has(name)).length;
      node.hidden = count === 0;
      node.dataset.done = count;
      node.textContent = count === names.length ? "✓" : `${count}/${names.length}`;
      node.title = `${count} of ${names.length} bets and boxes done`;
    }
  }

  document.addEventListener("rope-mark", (event) => {
    done.add(event.detail.name);
    show();
  });
  window.addEventListener("storage", show); // another page of the book was worked on
  window.addEventListener("pageshow", show);
  show();
})();
