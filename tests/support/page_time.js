// The page's time, counted in frames of 1/60 s: what moves looks the same on a busy machine.
// Frames come as the browser draws; `passFrames(count)` lets them pass at once, so that a test waits
// for no clock. Timers keep the browser's time, until `endPauses()` says that all of it has passed.
{
  const native = window.requestAnimationFrame.bind(window);
  const clock = performance.now.bind(performance);
  const FRAME = 1000 / 60;
  let asked = new Map();
  let due = asked;
  let [frames, begun, handle, drawn] = [0, clock(), 0, true];

  const pass = () => {
    frames += 1;
    begun = clock();
    due = asked;
    asked = new Map();
    for (const [id, call] of due) {
      due.delete(id);
      try {
        call(frames * FRAME);
      } catch (error) {
        reportError(error);
      }
    }
  };
  window.requestAnimationFrame = (call) => {
    asked.set((handle += 1), call);
    if (drawn) {
      drawn = false;
      native(() => {
        drawn = true;
        if (asked.size) pass();
      });
    }
    return handle;
  };
  window.cancelAnimationFrame = (id) => {
    asked.delete(id);
    due.delete(id);
  };
  // Within a frame it goes on as the browser's, for work that ends when its share is used up.
  performance.now = () => frames * FRAME + Math.min(clock() - begun, FRAME);

  window.passFrames = async (count = 1) => {
    for (let i = 0; i < count; i += 1) {
      // Between two frames the page hears what has happened meanwhile.
      await new Promise((go) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = go;
        port2.postMessage(0);
      });
      pass();
    }
  };
  const timers = new Map();
  const [start, stop] = [window.setTimeout.bind(window), window.clearTimeout.bind(window)];
  window.setTimeout = (call, wait, ...given) => {
    const id = start(() => {
      timers.delete(id);
      call(...given);
    }, wait);
    timers.set(id, () => call(...given));
    return id;
  };
  window.clearTimeout = (id) => {
    timers.delete(id);
    stop(id);
  };
  window.endPauses = () => {
    for (const [id, call] of timers) {
      window.clearTimeout(id);
      call();
    }
  };

  // Until the browser has drawn, and told whom it tells (ResizeObserver) what has a new size.
  window.whenDrawn = () => new Promise((go) => native(() => native(go)));
}
