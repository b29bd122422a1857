// The museum's plan (ropebook/museum/plan.py), on its page alone: one stop of the keyboard, from which
// arrows go on; and on a phone, where a name is a card over the page, when it goes and where it stands.
// The plan is whole without it. A classic deferred script; it defines no global.
(() => {
  "use strict";

  const isPast = { ArrowDown: (box, from) => box.top >= from.bottom, ArrowUp: (box, from) => box.bottom <= from.top };

  /** The link of the next line that stands closest; undefined past the last one. */
  function nextLine(links, from, key) {
    const far = ({ left, top }) => 8 * Math.abs(top - from.top) + Math.abs(left - from.left);
    const boxes = links.map((link) => ({ link, box: link.getBoundingClientRect() }));
    const past = boxes.filter(({ box }) => isPast[key](box, from));
    return past.sort((one, other) => far(one.box) - far(other.box))[0]?.link;
  }

  function walkPlan(plan) {
    const links = [...plan.querySelectorAll(".rope-plan-halls a")];
    const stopAt = (stop) => {
      for (const link of links) link.tabIndex = link === stop ? 0 : -1;
    };
    plan.setAttribute("role", "toolbar");
    plan.setAttribute("aria-label", "Bugs by where they show");
    stopAt(links[0]);
    plan.addEventListener("focusin", ({ target }) => links.includes(target) && stopAt(target));
    plan.addEventListener("keydown", (event) => {
      const at = links.indexOf(event.target);
      if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      const { key } = event;
      const to =
        key in isPast
          ? nextLine(links, event.target.getBoundingClientRect(), key)
          : links[{ ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: links.length - 1 }[key]];
      if (to === undefined && !/^Arrow/.test(key)) return;
      event.preventDefault();
      to?.focus();
    });
  }

  const pixels = Number.parseFloat;

  /** Where a square's card stands: clear of the square, and of all others where one end of the screen is. */
  function endFor(seat, plan) {
    const card = getComputedStyle(seat.firstElementChild, "::after");
    plan.dataset.card = "top";
    const belowTop = pixels(card.top) + pixels(card.height);
    plan.dataset.card = "foot";
    const aboveFoot = innerHeight - pixels(card.bottom) - pixels(card.height);
    const halls = plan.querySelector(".rope-plan-halls").getBoundingClientRect();
    const freeAtTop = halls.top >= belowTop && halls.bottom > aboveFoot;
    return freeAtTop || seat.getBoundingClientRect().bottom > aboveFoot ? "top" : "foot";
  }

  /** The card goes when it was followed, sent away or left behind. */
  function keepCard(plan) {
    const seatOf = ({ target }) => (plan.contains(target) ? target.closest(".rope-plan-seat") : null);
    const quiet = () => {
      plan.dataset.quiet = "";
    };
    let seen = false;
    const watch = new IntersectionObserver((changes) => {
      const sees = changes.at(-1).isIntersecting;
      if (seen && !sees) quiet(); // one on its way to the screen was not seen yet
      seen = sees;
    });
    function name(seat) {
      if (!seat) return;
      delete plan.dataset.quiet;
      plan.dataset.card = endFor(seat, plan);
      seen = false;
      watch.disconnect();
      watch.observe(seat);
    }
    plan.addEventListener("focusin", (event) => name(seatOf(event)));
    plan.addEventListener("pointerover", (event) => event.pointerType === "mouse" && name(seatOf(event)));
    plan.addEventListener("click", (event) => {
      if (event.target.matches("a")) quiet();
      else name(seatOf(event));
    });
    document.addEventListener("pointerup", (event) => seatOf(event) || quiet());
    document.addEventListener("pointercancel", quiet); // the touch became a scroll
    document.addEventListener("keydown", ({ key }) => key === "Escape" && quiet());
  }

  for (const plan of document.querySelectorAll(".rope-plan")) {
    walkPlan(plan);
    keepCard(plan);
  }
})();
