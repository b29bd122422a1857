// Which texts of a page cover each other, and which stick out of what they stand in.
// Compared is the ink of the letters, not the box of a line, which has space above and below them.
{
  const brush = document.createElement("canvas").getContext("2d");
  const CARDS = ".rope-frame, figure.rope-figure";
  const told = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);
  const isSeen = (node) =>
    node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    // What only a screen reader says; what is so faint that it is passing from sight.
    !node.closest(".rope-hidden, .sr-only, title, desc, style, script, [data-faint]");

  // How far the letters of a text reach above and below the box that the browser gives a line.
  function inkOf(text, style) {
    brush.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const ink = brush.measureText(text);
    const height = ink.fontBoundingBoxAscent + ink.fontBoundingBoxDescent;
    return [
      (ink.fontBoundingBoxAscent - ink.actualBoundingBoxAscent) / height,
      (ink.fontBoundingBoxAscent + ink.actualBoundingBoxDescent) / height,
    ];
  }

  // A text of a picture that is turned, and the four corners of its ink.
  const angleOf = (node) => {
    const { a = 1, b = 0 } = node.getScreenCTM?.() ?? {};
    return Math.abs(Math.atan2(b, a)) > 0.01;
  };
  function cornersOf(node, from, to) {
    const { x, y, width, height } = node.getBBox();
    const [top, bottom] = [y + from * height, y + to * height];
    const matrix = node.getScreenCTM();
    return [
      [x, top],
      [x + width, top],
      [x + width, bottom],
      [x, bottom],
    ].map(([across, down]) => {
      const point = new DOMPoint(across, down).matrixTransform(matrix);
      return [point.x, point.y];
    });
  }
  // Whether a line along a side of either box has one box before it and the other behind it.
  function lieApart(...boxes) {
    const shapes = boxes.map(
      ({ corners, left, right, top, bottom }) =>
        corners ?? [
          [left, top],
          [right, top],
          [right, bottom],
          [left, bottom],
        ],
    );
    return shapes.some(([a, b, , d]) =>
      [
        [a, b],
        [a, d],
      ].some(([[x, y], [x2, y2]]) => {
        const length = Math.hypot(x2 - x, y2 - y) || 1;
        const along = ([px, py]) => (px * (x2 - x) + py * (y2 - y)) / length;
        const [one, other] = shapes.map((corners) => corners.map(along));
        return Math.max(...one) - 1 <= Math.min(...other) || Math.max(...other) - 1 <= Math.min(...one);
      }),
    );
  }

  // What is left of a box in the parts of the page that scroll or clip, and whether one cut it.
  function kept(node, box) {
    let { left, right, top, bottom } = box;
    let cut = false;
    for (let up = node; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflowX === "visible" || style.display === "inline") continue;
      const edge = up.getBoundingClientRect();
      const sides = [edge.left - left, right - edge.right, edge.top - top, bottom - edge.bottom];
      if (style.overflowX === "hidden" && Math.max(...sides) > 1.5) cut = true;
      [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
      [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
    }
    return { left, right, top, bottom, cut };
  }

  function textsOf(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    const found = [];
    for (let part = walker.nextNode(); part; part = walker.nextNode()) {
      const node = part.parentElement;
      if (!part.data.trim() || !isSeen(node)) continue;
      const style = getComputedStyle(node);
      const [from, to] = inkOf(part.data, style);
      const turned = angleOf(node);
      range.selectNodeContents(part);
      for (const { left, right, top, bottom, height, width } of range.getClientRects()) {
        if (width < 1) continue;
        // Space between letters stands after the last one, too.
        const after = Math.max(0, Number.parseFloat(style.letterSpacing) || 0);
        const ink = turned ? { left, right, top, bottom } : { left, right: right - after };
        if (turned) ink.corners = cornersOf(node, from, to);
        else Object.assign(ink, { top: top + from * height, bottom: top + to * height });
        const rest = kept(node, ink);
        if (rest.right - rest.left < 1 || rest.bottom - rest.top < 1) {
          if (rest.cut) found.push({ ...ink, cut: true, node, text: told(part.data) });
          continue;
        }
        found.push({ ...ink, ...rest, node, text: told(part.data) });
      }
    }
    return found;
  }

  // A box that a reader sees as one: with an edge, or a ground other than its card's.
  const isPainted = (node) => {
    const { backgroundColor, borderLeftWidth, display } = getComputedStyle(node);
    if (display === "inline" || display === "contents") return false;
    const card = node.closest(CARDS);
    const own = !card || getComputedStyle(card).backgroundColor !== backgroundColor;
    return (own && !/, 0\)$/.test(backgroundColor)) || Number.parseFloat(borderLeftWidth) > 0;
  };

  // Texts touch when more of the smaller is covered than the edge of a letter.
  function covers(one, other) {
    const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (width <= 1 || height <= 1) return false;
    if (one.corners || other.corners) return !lieApart(one, other);
    const size = (box) => (box.right - box.left) * (box.bottom - box.top);
    return width * height > 0.05 * Math.min(size(one), size(other));
  }

  // Runs in the page: what is wrong with the texts inside a node, in words.
  window.textFaults = (root) => {
    const texts = textsOf(root);
    const wrong = new Set();
    for (const text of texts) {
      if (text.cut) wrong.add(`"${text.text}" is cut`);
      for (let up = text.node; up && root.contains(up); up = up.parentElement) {
        const card = up.matches(CARDS);
        if (!card && (up instanceof SVGElement || !isPainted(up))) continue;
        const box = up.getBoundingClientRect();
        const out = [box.left - text.left, text.right - box.right, box.top - text.top, text.bottom - box.bottom];
        const most = Math.max(...out);
        const name = up.dataset.control ?? up.getAttribute("class") ?? up.localName;
        if (most > 1) wrong.add(`"${text.text}" sticks out of ${name} by ${most.toFixed(0)} px`);
        if (card) break;
      }
    }
    texts.sort((one, other) => one.top - other.top);
    texts.forEach((one, i) => {
      for (const other of texts.slice(i + 1)) {
        if (other.top > one.bottom) break;
        if (covers(one, other)) wrong.add(`"${one.text}" and "${other.text}" cover each other`);
      }
    });
    return [...wrong];
  };

  // ---- the states of a widget -------------------------------------------------------------------

  const seen = (selector) =>
    [...document.querySelectorAll(`.rope-widget ${selector}`)].filter((node) =>
      node.checkVisibility({ visibilityProperty: true }),
    );
  const named = (node) => node.closest("[data-control]")?.dataset.control ?? (told(node.textContent) || node.localName);
  const slide = (input, share) => {
    input.value = Number(input.min) + share * (input.max - input.min);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const press = (node) => node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const tell = (changes) => {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };

  // All that a reader may set to an end, from the state as it is: [what, do()].
  const SLIDERS = "input[type=range]";
  const PRESSED = ":is(button:not([data-control=reset]), [role=radio], input[type=checkbox])";
  const CORNERS = [() => 0, () => 1, (i) => i % 2, (i) => 1 - (i % 2)];
  const slides = () =>
    seen(SLIDERS).flatMap((input, i) =>
      [0, 1].map((share) => [`${named(input)} at ${share}`, () => slide(seen(SLIDERS)[i], share)]),
    );
  const corners = () =>
    CORNERS.map((share) => [
      `sliders at ${[0, 1, 2].map(share)} ...`,
      () => seen(SLIDERS).forEach((input, i) => slide(input, share(i))),
    ]);
  const presses = () => seen(PRESSED).map((node, i) => [`${named(node)} pressed`, () => press(seen(PRESSED)[i])]);

  // Runs in the page: what is wrong with a widget's texts in its first state; at both ends of each
  // slider; after each other control; after it and at the corners of all sliders; and where some
  // traits are told (`more`, a list of changes).
  window.faultsOfStates = async (names, more) => {
    const first = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    const wrong = {};
    let count = 0;
    const look = async (...acts) => {
      for (const [, act] of acts) {
        act();
        await passFrames(2);
      }
      count += 1;
      const state = acts.map(([what]) => what).join(", then ");
      for (const fault of textFaults(document.querySelector(".rope-frame"))) wrong[fault] ??= state;
      tell(first);
      await passFrames(2);
    };
    await look(["at first", () => {}]);
    for (const changes of more) await look([JSON.stringify(changes), () => tell(changes)]);
    for (const act of [...slides(), ...corners()]) await look(act);
    for (const act of presses()) {
      await look(act);
      for (const then of corners().slice(1, 3)) await look(act, then);
    }
    return [Object.entries(wrong).map(([fault, what]) => `${fault}: ${what}`), count];
  };
}
