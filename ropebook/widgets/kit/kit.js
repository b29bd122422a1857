// Parts that every widget is made of. Pure functions first, then DOM parts.
// bundle() in base.py inlines this file, so it imports nothing and its names stay unique.
// Angles are radians, counter-clockwise from 3 o'clock; screens have y pointing down.

export const TAU = 2 * Math.PI;

export function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

export function pickWords(table, language) {
  const wanted = (language || "en").toLowerCase();
  const names = Object.keys(table);
  const found =
    names.find((name) => name.toLowerCase() === wanted) ??
    names.find((name) => name.toLowerCase() === wanted.split("-")[0]);
  return table[found ?? "en"];
}

// "{name}" in a sentence of the words table.
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export function formatNumber(value, digits = 2) {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

// Three significant digits at least, whole numbers in groups of three: 0.0100, 6.28, 2 559 190.
export function formatQuantity(value) {
  if (!Number.isFinite(value)) return "–";
  if (value !== 0 && Math.abs(value) < 1e-4) {
    const [mantissa, exponent] = value.toExponential(2).split("e");
    return `${mantissa}·10${superscript(Number(exponent))}`;
  }
  if (Math.abs(value) < 100 && !Number.isInteger(value)) return String(Number(value.toPrecision(3)));
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function superscript(integer) {
  const digits = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  return [...String(integer)].map((digit) => digits[digit]).join("");
}

export function degrees(angle) {
  return (angle * 360) / TAU;
}

export function rotate([x, y], angle) {
  const c = Math.cos(angle);
  const s = Math.sin(angle);
  return [x * c - y * s, x * s + y * c];
}

export function dot(a, b) {
  return a[0] * b[0] + a[1] * b[1];
}

export function cross(a, b) {
  return a[0] * b[1] - a[1] * b[0];
}

export function linearScale(from, to, start, end) {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

export function polylinePath(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

// From one angle to another, any number of turns; each turn lies `growth` outside the one before.
export function spiralPoints(cx, cy, radius, start, end, growth = 0) {
  const count = Math.max(2, Math.ceil(Math.abs(end - start) / (TAU / 60)) + 1);
  return Array.from({ length: count }, (_, i) => {
    const turned = ((end - start) * i) / (count - 1);
    const r = radius + (growth * Math.abs(turned)) / TAU;
    return [cx + r * Math.cos(start + turned), cy - r * Math.sin(start + turned)];
  });
}

// At most one full turn. A single SVG arc command cannot draw a full circle, so two are drawn.
export function sectorPath(cx, cy, radius, start, end) {
  const at = (angle) => `${(cx + radius * Math.cos(angle)).toFixed(2)} ${(cy - radius * Math.sin(angle)).toFixed(2)}`;
  const sweep = end > start ? 0 : 1;
  const middle = (start + end) / 2;
  const arc = (to) => `A${radius} ${radius} 0 0 ${sweep} ${at(to)}`;
  if (Math.abs(end - start) >= TAU - 1e-9) return `M${at(start)}${arc(middle)}${arc(end)}Z`;
  return `M${cx} ${cy}L${at(start)}${arc(middle)}${arc(end)}Z`;
}

export function arrowPaths(x1, y1, x2, y2, head = 9) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 1e-6) return { shaft: "", head: "" };
  const size = Math.min(head, length);
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - ux * size, y2 - uy * size];
  const side = size * 0.45;
  return {
    shaft: polylinePath([
      [x1, y1],
      [bx, by],
    ]),
    head: `${polylinePath([
      [x2, y2],
      [bx - uy * side, by + ux * side],
      [bx + uy * side, by - ux * side],
    ])}Z`,
  };
}

// The arrow head at the end of a bent line.
export function arcHeadPath(points) {
  const [[x1, y1], [x2, y2]] = points.slice(-2);
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const back = (aside) => [x2 - 8 * Math.cos(angle + aside), y2 - 8 * Math.sin(angle + aside)];
  return `${polylinePath([[x2, y2], back(0.42), back(-0.42)])}Z`;
}

// ---- DOM ----

// Writes only what changes: a browser restyles and repaints what is written, changed or not.
export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
  return node;
}

export function svg(tag, attributes = {}, parent = null) {
  const node = setAttributes(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
  parent?.append(node);
  return node;
}

export function html(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function arrow(parent, className) {
  const group = svg("g", { class: `rope-arrow ${className}` }, parent);
  const shaft = svg("path", { class: "rope-shaft" }, group);
  const head = svg("path", { class: "rope-head" }, group);
  return (x1, y1, x2, y2) => {
    const paths = arrowPaths(x1, y1, x2, y2);
    shaft.setAttribute("d", paths.shaft);
    head.setAttribute("d", paths.head);
  };
}

// A letter with a small index, for a vector in a picture.
export function vectorLabel(parent, className, letter) {
  const text = svg("text", { class: `rope-vector-label ${className}`, "text-anchor": "middle" }, parent);
  svg("tspan", {}, text).textContent = letter;
  const index = svg("tspan", { class: "rope-index", dy: 4 }, text);
  return (x, y, subscript, shown = true) => {
    setAttributes(text, { x, y: y + 5, visibility: shown ? "visible" : "hidden" });
    setText(index, subscript);
  };
}

export function widgetRoot(title, ...children) {
  return html("div", { class: "rope-widget", role: "group", "aria-label": title }, ...children);
}

// JupyterLab's shortcuts take the arrow keys away from any focused element without this mark.
export const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

// `min`, `max`, `step` are the native input's; `toInput` and `fromInput` translate to the trait.
export function slider({ name, label, tone, min, max, step = 1, toInput, fromInput, format, onInput }) {
  const input = html("input", { type: "range", min, max, step, "data-control": name, ...OWN_KEYS });
  const value = html("span", { class: "rope-value", "data-report": name });
  const words = html("span", {}, label);
  const node = html(
    "div",
    { class: "rope-slider", style: `--tone: var(--rope-${tone}); --tone-text: var(--rope-${tone}-text)` },
    // The input stands in its label and needs no id: a page may hold many widgets and many of each.
    html("label", {}, words, input),
    value,
  );
  input.addEventListener("input", () => onInput(fromInput ? fromInput(Number(input.value)) : Number(input.value)));
  return {
    node,
    input,
    rename: (text) => setText(words, text),
    update(current, limit = max) {
      const position = toInput ? toInput(current) : current;
      const text = format(current);
      if (Number(input.max) !== limit) input.max = limit;
      input.value = position;
      input.style.setProperty("--filled", `${(clamp((position - min) / (limit - min), 0, 1) * 100).toFixed(2)}%`);
      input.setAttribute("aria-valuetext", text);
      value.dataset.value = current;
      setText(value, text);
    },
  };
}

export function toggle({ name, label, onChange }) {
  const input = html("input", { type: "checkbox", "data-control": name, ...OWN_KEYS });
  const node = html("label", { class: "rope-toggle" }, input, label);
  input.addEventListener("change", () => onChange(input.checked));
  return { node, update: (checked) => (input.checked = checked) };
}

export function button({ name, label, pressable = true, onClick }) {
  const node = html("button", { type: "button", class: "rope-button", "data-control": name, ...OWN_KEYS }, label);
  if (pressable) node.setAttribute("aria-pressed", "false");
  node.addEventListener("click", onClick);
  return { node, update: (pressed) => node.setAttribute("aria-pressed", String(pressed)) };
}

export function report(name, className = "") {
  const node = html("span", { class: `rope-report ${className}`, "data-report": name });
  return {
    node,
    update(value, text) {
      node.dataset.value = value;
      setText(node, text);
    },
  };
}

export function readout(label, ...values) {
  // No dl, dt, dd: JupyterLab and the book's theme have ideas of their own about those.
  return html(
    "div",
    { class: "rope-readout" },
    html("span", { class: "rope-readout-label" }, label),
    html("span", { class: "rope-readout-values" }, ...values),
  );
}

// The tip of a vector: drag it, or focus it and use the arrow keys (shift: larger steps).
// touch-action is none on the handle only, so that the page still scrolls by the picture.
// `onStep(vector, direction, size)` may say where a key leads instead; null leaves it as it is.
export function vectorHandle(parent, { name, label, description, maxLength, toPoint, onMove, onStep }) {
  const node = svg(
    "g",
    {
      class: `rope-handle rope-${name}`,
      tabindex: 0,
      role: "slider",
      "aria-label": label,
      "aria-roledescription": description,
      "aria-valuemin": -180,
      "aria-valuemax": 180,
      "data-control": name,
      ...OWN_KEYS,
    },
    parent,
  );
  svg("circle", { class: "rope-handle-reach", r: 22 }, node);
  svg("circle", { class: "rope-handle-ring", r: 12 }, node);
  svg("circle", { class: "rope-handle-dot", r: 6.5 }, node);
  let current = [0, 0];
  // Kept at once and not when it is drawn: two keys may arrive within one frame.
  const move = (vector) => onMove((current = shorten(vector, maxLength)));
  const fromPointer = (event) => {
    const box = parent.getBoundingClientRect();
    return toPoint(event.clientX - box.left, event.clientY - box.top);
  };
  let grip = null;
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const at = fromPointer(event);
    grip = [current[0] - at[0], current[1] - at[1]];
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const at = fromPointer(event);
    move([at[0] + grip[0], at[1] + grip[1]]);
  });
  for (const end of ["pointerup", "pointercancel"]) node.addEventListener(end, () => (grip = null));
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  node.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const size = event.shiftKey ? 0.5 : 0.1;
    // Rounded, or ten steps of 0.1 would not come back to where they began.
    const plain = [0, 1].map((i) => Number((current[i] + step[i] * size).toFixed(9)));
    move(onStep?.(current, step, size) ?? plain);
  });
  return (x, y, vector, valueText) => {
    current = vector;
    setAttributes(node, {
      transform: `translate(${x} ${y})`,
      "aria-valuenow": Math.round(degrees(Math.atan2(vector[1], vector[0]))),
      "aria-valuetext": valueText,
    });
  };
}

export function shorten([x, y], maxLength) {
  const length = Math.hypot(x, y);
  // A hair inside the limit, so that rounding never puts a vector outside the rule.
  const scale = length > maxLength ? (maxLength * (1 - 1e-12)) / length : 1;
  return [x * scale, y * scale];
}

// For screen readers: says a text only once it has stood still for a moment.
export function announcer(parent) {
  const node = html("div", { class: "rope-hidden", "aria-live": "polite", role: "status" });
  parent.append(node);
  let timer = null;
  let first = true;
  return {
    say(text) {
      clearTimeout(timer);
      if (!first) timer = setTimeout(() => setText(node, text), 700);
      first = false;
    },
    stop: () => clearTimeout(timer),
  };
}

export function prefersReducedMotion() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Many changes, one drawing per frame.
export function frameScheduler(draw) {
  let frame = null;
  const schedule = () => {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      draw();
    });
  };
  schedule.cancel = () => cancelAnimationFrame(frame);
  return schedule;
}

// Calls step(seconds since start) per frame until it returns false or stop() is called.
export function animator(onStop) {
  let frame = null;
  const stop = () => {
    if (frame === null) return;
    cancelAnimationFrame(frame);
    frame = null;
    onStop();
  };
  return {
    stop,
    running: () => frame !== null,
    start(step) {
      stop();
      let begin = null;
      const tick = (now) => {
        begin ??= now;
        frame = requestAnimationFrame(tick);
        if (step((now - begin) / 1000) === false) stop();
      };
      frame = requestAnimationFrame(tick);
    },
    cancel: () => cancelAnimationFrame(frame),
  };
}

export function commit(model, changes) {
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  model.save_changes();
}

// Redraws on every change of the named traits and of the width; returns what undoes it.
export function watch(model, names, node, schedule) {
  for (const name of names) model.on(`change:${name}`, schedule);
  const observer = new ResizeObserver(schedule);
  observer.observe(node);
  return () => {
    for (const name of names) model.off(`change:${name}`, schedule);
    observer.disconnect();
    schedule.cancel();
  };
}
