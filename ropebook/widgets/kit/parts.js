// Controls and numbers that keep themselves up to date: tables in, nodes out.
import { choice } from "./choice.js";
import { button, readout, report, slider, toggle } from "./controls.js";
import { html, setText } from "./dom.js";
import { alike } from "./math.js";
import { formatNumber } from "./text.js";

export function makeParts({ set, visit: goTo, play, playing, reset }) {
  const shown = [];
  const each = (table, make) => Object.entries(table).map(([name, options]) => make(name, options));

  // Of the trait of its name; `value(state)`, `limit(state)` and `onInput` make it one of something
  // else, and `label` may be a function of the state.
  const makeSlider = (name, { label, value = (state) => state[name], limit, onInput, ...options }) => {
    const changing = typeof label === "function";
    const change = onInput ?? ((to) => set({ [name]: to }));
    const part = slider({ name, label: changing ? "" : label, onInput: change, ...options });
    shown.push((state) => {
      if (changing) part.rename(label(state));
      part.update(value(state), limit?.(state));
    });
    return part.node;
  };

  const makeToggle = (name, { label, value = (state) => state[name], onChange }) => {
    const part = toggle({ name, label, onChange: onChange ?? ((to) => set({ [name]: to })) });
    shown.push((state) => part.update(value(state)));
    return part.node;
  };

  // `visit`: changes, or changes(state); pressed while the state has them. `play`: the script of an
  // animation; pressed while it runs. `reset: true`: back to the first state. Else `onClick`.
  const makeButton = (name, { label, ...options }) => {
    const { visit, play: script, reset: back, onClick } = options;
    const changes = (state) => (typeof visit === "function" ? visit(state) : visit);
    const there = (state) => Object.entries(changes(state)).every(([trait, value]) => alike(state[trait], value));
    const pressed = options.pressed ?? (visit ? there : script ? () => playing(name) : null);
    const press = visit ? () => goTo(changes) : script ? () => play(name, script) : back ? reset : onClick;
    const changing = typeof label === "function";
    const part = button({ name, label: changing ? "" : label, pressable: pressed !== null, onClick: press });
    shown.push((state) => {
      if (changing) part.rename(label(state));
      if (pressed) part.update(pressed(state));
    });
    return part.node;
  };

  // A number on the page: the state's of its name, or `value(state)`, or [number, text] from there
  // where `format` is not enough; null while it is sought; `tone` colors it.
  const show = (name, value = (state) => state[name], { format = formatNumber, tone } = {}) => {
    const part = report(name, tone ? `rope-tone-${tone}` : "");
    shown.push((state) => {
      const [number, text] = [value(state)].flat();
      part.update(number, text ?? (number === null ? "…" : format(number)));
    });
    return part.node;
  };

  // A point as its two numbers, of which each is reported.
  const showPoint = (name, value, { tone }) => {
    const [x, y] = ["x", "y"].map((axis, i) => show(`${name}_${axis}`, (state) => value(state)[i]));
    return html("span", { class: `rope-tone-${tone}` }, "(", x, ", ", y, ")");
  };

  const text = (value, tag = "span", attributes = {}) => {
    const node = html(tag, attributes);
    shown.push((state) => setText(node, value(state)));
    return node;
  };

  return {
    tools: {
      sliders: (table) => each(table, makeSlider),
      toggles: (table) => each(table, makeToggle),
      buttons: (table) => each(table, makeButton),
      // The values of a trait as radios; see choice.js.
      chooser(trait, options) {
        const part = choice({ name: trait, onChoose: (to) => set({ [trait]: to }), ...options });
        shown.push((state) => part.update(state[trait]));
        return part.node;
      },
      show,
      text,
      // Numbers with their names, a text or that of a state; what stands behind a number is in `more`.
      // `point(state)` in place of a value is two numbers.
      readouts: (table) =>
        each(table, (name, { label, value, point, more = [], ...options }) => {
          const shownHere = point ? showPoint(name, point, options) : show(name, value, options);
          return readout(typeof label === "function" ? text(label) : label, shownHere, ...more);
        }),
    },
    update: (state) => {
      for (const bring of shown) bring(state);
    },
  };
}
