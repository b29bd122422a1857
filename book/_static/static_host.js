// What a built page needs to work with no kernel and no network. A classic deferred script, because
// browsers refuse module scripts from file:// addresses; it defines no global.
(() => {
  "use strict";

  const STATIC = new URL(".", document.currentScript.src);

  // ---- widgets: each view is mounted from the state that the executed notebook stored, and from
  // the code of its class, one file for the whole book -------------------------------------------

  /** The part of a Jupyter widget model that an anywidget uses, over plain stored state. */
  class StaticModel {
    #state;
    #callbacks = new Map();

    constructor(state) {
      this.#state = { ...state };
    }
    get(name) {
      return this.#state[name];
    }
    set(name, value) {
      const changed = JSON.stringify(this.#state[name]) !== JSON.stringify(value);
      this.#state[name] = value;
      if (changed) {
        this.#emit(`change:${name}`);
        this.#emit("change");
      }
    }
    save_changes() {}
    on(event, callback) {
      if (!this.#callbacks.has(event)) this.#callbacks.set(event, new Set());
      this.#callbacks.get(event).add(callback);
    }
    off(event, callback) {
      if (callback) this.#callbacks.get(event)?.delete(callback);
      else if (event) this.#callbacks.delete(event);
      else this.#callbacks.clear();
    }
    #emit(event) {
      for (const callback of [...(this.#callbacks.get(event) ?? [])]) callback();
    }
  }

  const remember = (make) => {
    const known = new Map();
    return (key) => {
      if (!known.has(key)) known.set(key, make(key));
      return known.get(key);
    };
  };

  const loadScript = remember(
    (name) =>
      new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = new URL(name, STATIC);
        script.onload = () => resolve(script);
        script.onerror = () => reject(new Error(`${name} is missing beside this page`));
        document.head.append(script);
      }),
  );

  const importSource = remember(async (source) => {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const module = await import(url);
    return typeof module.default === "function" ? module.default() : module.default;
  });

  const addStyle = remember((css) => {
    const style = document.createElement("style");
    style.textContent = css;
    document.head.append(style);
  });

  function storedState() {
    const stored = document.querySelector('script[type="application/vnd.jupyter.widget-state+json"]');
    return stored ? JSON.parse(stored.textContent).state : {};
  }

  async function mountWidgets() {
    const stored = storedState();
    const startModel = remember(async (id) => {
      if (!stored[id]) throw new Error(`this page stores no state for widget ${id}`);
      const { _source: file, ...rest } = stored[id].state;
      const code = file ? (await loadScript(`widgets/${file}`)).source : {};
      const state = { ...code, ...rest };
      if (!state._esm) throw new Error(`${stored[id].model_name} is not an anywidget`);
      const model = new StaticModel(state);
      const widget = await importSource(state._esm);
      if (state._css) addStyle(state._css);
      await widget.initialize?.({ model });
      return { model, widget };
    });
    const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]');
    for (const view of views) {
      const el = document.createElement("div");
      el.className = "rope-widget-host";
      view.replaceWith(el);
      try {
        const { model, widget } = await startModel(JSON.parse(view.textContent).model_id);
        await widget.render({ model, el });
        if (model.get("card")) makeCard(el.querySelector(".rope-widget"), model.get("card"));
        else boundStay(el.querySelector(".rope-frame:has(.rope-stays)"));
      } catch (error) {
        el.setAttribute("role", "alert");
        el.classList.add("rope-widget-failed");
        el.textContent = `This widget could not start: ${error.message}`;
        console.error(error);
      }
    }
  }

  // ---- a widget on a card: its picture, to be moved as ever, over a sentence that leads to its chapter

  // What `data-card` names, or else the first picture.
  const PICTURES = ["[data-card]", ".rope-picture", "svg[role='img']"];

  // `moves`: names of the controls that stay beside the picture, with spaces between.
  function makeCard(root, { says, title, to, moves = "" }) {
    const control = (name) => {
      const found = root.querySelector(`[data-control="${name}"]`);
      if (!found) throw new Error(`moves must name controls of the widget, got ${name}`);
      return found.closest(".rope-slider") ?? found; // a slider stands in its box, with its name and its number
    };
    const picture = PICTURES.map((name) => root.querySelector(name)).find(Boolean);
    const kept = [picture, ...moves.split(" ").filter(Boolean).map(control)];
    // Whatever holds nothing of that is left away.
    for (let node of kept) {
      for (; node !== root; node = node.parentElement) {
        for (const other of node.parentElement.children) other.hidden = !kept.some((one) => other.contains(one));
      }
    }
    const text = document.createElement("p");
    const [sentence, link] = ["span", "a"].map((tag) => document.createElement(tag));
    text.className = "rope-card-says";
    sentence.textContent = says;
    link.textContent = title;
    link.href = to;
    text.append(sentence, " ", link);
    root.append(text);
    root.classList.add("rope-card");
  }

  // ---- on a phone a picture stays in sight for its controls: up to the last one, and not for a fold

  function boundStay(frame) {
    if (!frame) return;
    const parts = [...frame.children];
    const moves = (part) => !part.matches("details, .rope-readouts") && part.querySelector("input, button, [tabindex]");
    const last = parts.findLastIndex(
      (part) => part.querySelector(".rope-stays") || part.matches(".rope-stays") || moves(part),
    );
    const reach = document.createElement("div");
    reach.className = "rope-reach";
    reach.append(...parts.slice(0, last + 1));
    frame.prepend(reach);
  }

  // ---- wide formulas, tables and code scroll in their own box: the keyboard must reach that box ---

  async function letKeyboardScroll() {
    await window.MathJax?.startup?.promise;
    const reach = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
        else target.removeAttribute("tabindex");
      }
    });
    const boxes = 'mjx-container[display="true"], .pst-scrollable-table-container, div.highlight pre, .rope-museum pre';
    document.querySelectorAll(boxes).forEach((box) => reach.observe(box));
  }

  // ---- search: its summaries are fetched, which browsers refuse from file:// ---------------------

  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }

  mountWidgets();
  window.addEventListener("load", letKeyboardScroll);
})();
