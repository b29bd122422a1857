// What a widget stands on: its traits as one plain state, and the ways to change it.
import { animator, prefersReducedMotion } from "./motion.js";

// Where an animation left off, in whole tokens: what Python and the other views learn.
export function rounded(moving) {
  return Object.fromEntries(Object.entries(moving).map(([name, value]) => [name, Math.round(value)]));
}

// `settle(moving)` turns what an animation showed last into changes; null for none.
export function makeStage({ model, traits, settle = rounded, redraw }) {
  const read = () => Object.fromEntries(traits.map((name) => [name, model.get(name)]));
  const start = read();
  // While an animation runs, what is shown lies between the states of the model.
  let moving = null;
  let playing = null;
  // Whether the reader has brought about what is shown, or a button with all of it ready.
  let own = false;
  const state = () => ({ ...read(), ...moving });
  const commit = (changes) => {
    for (const [name, value] of Object.entries(changes ?? {})) model.set(name, value);
    model.save_changes();
    redraw();
  };
  const animation = animator(() => {
    const at = moving;
    moving = playing = null;
    if (at) commit(settle(at));
    redraw();
  });
  // Changes, or what gives them from the state in which an animation, if one ran, has come to rest.
  const put = (changes, byReader) => {
    animation.stop();
    own = byReader;
    commit(typeof changes === "function" ? changes(state()) : changes);
  };
  const set = (changes) => put(changes, true);
  const visit = (changes) => put(changes, false);
  // `script(state)` gives { still, at, seconds, over }: what a reader sees who wants no motion, the
  // values shown at a time, and when it ends (after seconds, or once over(values)). A second call
  // with the same name stops it.
  const play = (name, script) => {
    const again = playing === name;
    animation.stop();
    if (again) return;
    own = false;
    const { still, at, seconds = Infinity, over = () => false } = script(state());
    if (prefersReducedMotion()) return commit(still);
    playing = name;
    animation.start((now) => {
      moving = at(now);
      redraw();
      return now < seconds && !over(moving);
    });
  };
  return {
    tools: {
      ...{ state, set, play },
      commit(changes) {
        own = true;
        commit(changes);
      },
      playing: (name) => playing !== null && playing === (name ?? playing),
    },
    visit,
    own: () => own,
    reset: () => visit(start),
    cancel: animation.cancel,
  };
}
