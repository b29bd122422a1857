// Time: one drawing per frame, searches that take several, and animations.
import { clamp } from "./math.js";

export function prefersReducedMotion() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Slow start, slow end: 0 -> 1, and 1 from there on.
export function easing(part) {
  const t = clamp(part, 0, 1);
  return t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) * (1 - t);
}

// There and back: 0 -> 1 -> 0 with a rest at the far end.
export function thereAndBack(seconds, outward, rest) {
  return seconds < outward + rest ? easing(seconds / outward) : easing((2 * outward + rest - seconds) / outward);
}

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

const SLICE = 6;

// A search that takes longer than a frame: `search(...given)` is a generator that yields often. Each
// call goes on with it until SLICE milliseconds after `since`, when the work of this frame began, and
// asks for another drawing; what it found comes from the call that ends it, null from those before.
// It begins anew when what is given changes. Where the clock stands still, it ends at once.
export function inSlices(search, redraw) {
  let wanted = null;
  let steps = null;
  let found = null;
  return (since, ...given) => {
    const key = JSON.stringify(given);
    if (key !== wanted) [wanted, steps, found] = [key, search(...given), null];
    while (steps) {
      const { done, value } = steps.next();
      if (done) [steps, found] = [null, value];
      else if (performance.now() - since >= SLICE) {
        redraw();
        break;
      }
    }
    return found;
  };
}

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

// What was measured in one font is measured again when the page's own has come.
export function watch(model, names, node, schedule) {
  for (const name of names) model.on(`change:${name}`, schedule);
  const observer = new ResizeObserver(schedule);
  observer.observe(node);
  document.fonts.addEventListener("loadingdone", schedule);
  return () => {
    for (const name of names) model.off(`change:${name}`, schedule);
    observer.disconnect();
    document.fonts.removeEventListener("loadingdone", schedule);
    schedule.cancel();
  };
}
