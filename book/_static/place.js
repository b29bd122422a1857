// Where the reader is: the mark in the page's contents, the line and the name in the bar at the top,
// and the way back to where a page was left. A classic deferred script; it defines no global.
(() => {
  "use strict";

  const root = document.documentElement;
  const { kept } = document.querySelector('script[src*="/kept.js"]');
  const bar = document.querySelector(".bd-header-article");
  const title = document.querySelector("article h1");

  // ---- the page's contents: one of its lines is always marked -----------------------------------

  document.body.removeAttribute("data-bs-spy"); // the theme's own mark is often blank
  const lines = [...document.querySelectorAll(".bd-toc-nav.page-toc a[href^='#']")]
    .map((line) => ({ line, section: document.getElementById(decodeURIComponent(line.hash.slice(1))) }))
    .filter(({ section }) => section);

  // What stands under a fold is there for a second reading, and its line says so.
  for (const { line, section } of lines) {
    if (!section.querySelector(":scope > details.rope-deeper") && !section.closest("details.rope-deeper")) continue;
    line.classList.add("rope-toc-deeper");
    line.title = "Folded: opens when you go there";
  }

  const inSight = (section) => !section.parentElement.closest("details:not([open])") && !section.closest("[hidden]");
  const ended = () => scrollY > 0 && scrollY + innerHeight >= root.scrollHeight - 2;

  /** The last section that has begun; at the page's end the last one; before the first, the first. */
  function placeNow() {
    const shown = lines.filter(({ section }) => inSight(section));
    if (ended()) return shown.at(-1);
    const edge = (bar?.offsetHeight ?? 0) + innerHeight / 5;
    return shown.findLast(({ section }) => section.getBoundingClientRect().top <= edge) ?? shown[0];
  }

  function markLine(now) {
    for (const { line } of lines) {
      line.classList.remove("active");
      line.parentElement.classList.remove("active"); // by which the theme shows the lines below it
      line.removeAttribute("aria-current");
    }
    now.line.setAttribute("aria-current", "location");
    for (let item = now.line.closest("li"); item; item = item.parentElement.closest("li")) {
      item.classList.add("active");
      item.querySelector(":scope > a").classList.add("active");
    }
  }

  // ---- the bar ----------------------------------------------------------------------------------

  const progress = document.createElement("div");
  progress.className = "rope-progress";
  bar?.append(progress);

  function showBar() {
    const far = root.scrollHeight - innerHeight;
    progress.style.transform = `scaleX(${far > 0 ? Math.min(1, Math.max(0, scrollY / far)) : 0})`;
    const gone = title && title.getBoundingClientRect().bottom < (bar?.offsetHeight ?? 0);
    bar?.classList.toggle("rope-named", Boolean(gone));
  }

  // ---- the way back -----------------------------------------------------------------------------

  const page = root.dataset.page;
  const front = document.querySelector(".navbar-brand")?.getAttribute("href") === "#";
  const chapter = document.querySelector("article .cell") !== null; // and no page to look things up in
  let begun = false; // what is kept is not written over before the reader has moved

  function keepPlace(now) {
    begun ||= scrollY > innerHeight / 2;
    if (!begun || !page || front || !chapter) return;
    const places = kept.table("places");
    const first = now.section === lines[0].section;
    delete places[page];
    // The last one written is the last one read.
    places[page] = { id: first || ended() ? "" : now.section.id, name: now.line.textContent.trim(), page: titleOf() };
    kept.set("places", JSON.stringify(places));
  }

  const titleOf = () => title?.firstChild?.textContent.trim() ?? document.title;

  /** What leads on: on a page its own place, on the first page that of the page read last. */
  function placeKept() {
    const places = kept.table("places");
    const [at, place] = front ? (Object.entries(places).at(-1) ?? []) : [page, places[page]];
    if (typeof place?.id !== "string" || (!front && !place.id)) return null;
    const address = front ? `${root.dataset.content_root}${at}.html` : "";
    if (!front && !document.getElementById(place.id)) return null;
    const words = front ? `${place.page}${place.id ? `: ${place.name}` : ""}` : place.name;
    return { href: `${address}${place.id ? `#${place.id}` : ""}`, words };
  }

  function offerWayBack() {
    const place = location.hash || scrollY > 0 ? null : placeKept();
    if (!place) return;
    const link = document.createElement("a");
    link.href = place.href;
    link.textContent = `Continue: ${place.words}`;
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "×";
    close.setAttribute("aria-label", "Stay here");
    const offer = document.createElement("nav");
    offer.className = "rope-continue";
    offer.setAttribute("aria-label", "Where you were");
    offer.append(link, close);
    for (const either of [link, close]) either.addEventListener("click", () => offer.remove());
    title?.after(offer);
  }

  // ---- one look per frame -----------------------------------------------------------------------

  function look() {
    showBar();
    if (lines.length === 0) return;
    const now = placeNow();
    if (!now) return; // all is hidden by what is typed
    markLine(now);
    keepPlace(now);
  }

  let waiting = false;
  function lookSoon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      look();
    });
  }

  addEventListener("scroll", lookSoon, { passive: true });
  new ResizeObserver(lookSoon).observe(document.body);
  document.addEventListener("toggle", lookSoon, true);
  look();
  offerWayBack();
})();
