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
      } catch (error) {
        el.setAttribute("role", "alert");
        el.classList.add("rope-widget-failed");
        el.textContent = `This widget could not start: ${error.message}`;
        console.error(error);
      }
    }
  }

  // ---- wide formulas and tables scroll in their own box: the keyboard must reach that box ---------

  async function letKeyboardScroll() {
    await window.MathJax?.startup?.promise;
    const reach = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
        else target.removeAttribute("tabindex");
      }
    });
    const boxes = 'mjx-container[display="true"], .pst-scrollable-table-container';
    document.querySelectorAll(boxes).forEach((box) => reach.observe(box));
  }

  // ---- search: its summaries are fetched, which browsers refuse from file:// ---------------------

  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }

  mountWidgets();
  window.addEventListener("load", letKeyboardScroll);
})();
