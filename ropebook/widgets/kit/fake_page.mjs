// A page small enough to test the kit under Node: nodes, events, frames and no layout.
class FakeNode {
  constructor(tag) {
    Object.assign(this, { tag, children: [], attributes: {}, dataset: {}, listeners: {}, classes: new Set() });
    this.style = { setProperty: (name, value) => (this.style[name] = value) };
    this.classList = {
      toggle: (name, on) => this.classes[on ? "add" : "delete"](name),
      add: (x) => this.classes.add(x),
    };
    if (tag === "input") this.value = "";
    this.writes = 0;
  }
  append(...nodes) {
    this.children.push(...nodes);
    for (const node of nodes) if (node instanceof FakeNode) node.parent = this;
  }
  after(node) {
    const { children } = this.parent;
    children.splice(children.indexOf(this) + 1, 0, node);
    node.parent = this.parent;
  }
  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((child) => child !== this);
  }
  replaceChildren(...nodes) {
    this.children = nodes;
  }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
    this.writes += 1;
  }
  removeAttribute(name) {
    delete this.attributes[name];
  }
  getAttribute(name) {
    return this.attributes[name] ?? null;
  }
  get textContent() {
    return this.children.map((child) => child.textContent ?? child).join("");
  }
  set textContent(text) {
    this.children = [text];
    this.writes += 1;
  }
  set innerHTML(text) {
    this.textContent = text;
  }
  addEventListener(type, heard) {
    (this.listeners[type] ??= []).push(heard);
  }
  fire(type, event = {}) {
    for (const heard of this.listeners[type] ?? []) heard({ button: 0, preventDefault() {}, ...event });
  }
  dispatchEvent(event) {
    for (let at = this; at; at = at.parent) for (const heard of at.listeners[event.type] ?? []) heard(event);
  }
  setPointerCapture() {}
  focus() {
    globalThis.document.focused = this;
  }
  getBoundingClientRect() {
    return { left: 0, top: 0 };
  }
  // Every node below, itself first.
  all() {
    return [this, ...this.children.flatMap((child) => child.all?.() ?? [])];
  }
  find(attribute, value) {
    return this.all().find((node) => node.attributes[attribute] === value);
  }
}

export const node = (tag = "div") => new FakeNode(tag);

// Puts the page in place; returns what moves its time and says what is asked of it.
export function fakePage({ calm = false, lang = "en" } = {}) {
  const page = { time: 0, waiting: new Map(), next: 0, observers: 0 };
  globalThis.document = {
    documentElement: { lang },
    fonts: new EventTarget(),
    createElement: node,
    createElementNS: (_, tag) => node(tag),
  };
  globalThis.window = { matchMedia: () => ({ matches: calm }) };
  globalThis.requestAnimationFrame = (call) => {
    page.next += 1;
    page.waiting.set(page.next, call);
    return page.next;
  };
  globalThis.cancelAnimationFrame = (id) => page.waiting.delete(id);
  globalThis.ResizeObserver = class {
    observe() {
      page.observers += 1;
    }
    disconnect() {
      page.observers -= 1;
    }
  };
  // Frames until the given number of seconds has passed; those asked for in a frame come in the next.
  page.wait = (seconds, frame = 0.1) => {
    for (const end = page.time + seconds; page.time < end - 1e-9; ) {
      page.time += frame;
      const calls = [...page.waiting.values()];
      page.waiting.clear();
      for (const call of calls) call(1000 * page.time);
    }
  };
  return page;
}

// A browser that keeps what it is given, or refuses to.
export function fakeStorage({ refused = false, kept = {} } = {}) {
  const refuse = () => {
    throw new Error("refused");
  };
  const storage = { getItem: (key) => kept[key] ?? null, setItem: (key, text) => (kept[key] = text) };
  const value = refused ? { getItem: refuse, setItem: refuse } : storage;
  Object.defineProperty(globalThis, "localStorage", { value, configurable: true });
  delete globalThis[Symbol.for("rope-book:marks")];
  return kept;
}

// A widget's model as anywidget gives it: set() tells who listens.
export function fakeModel(traits) {
  const heard = new Map();
  return {
    traits: { ...traits },
    saved: 0,
    get(name) {
      return this.traits[name];
    },
    set(name, value) {
      this.traits[name] = value;
      for (const call of heard.get(`change:${name}`) ?? []) call();
    },
    save_changes() {
      this.saved += 1;
    },
    on: (event, call) => heard.set(event, [...(heard.get(event) ?? []), call]),
    off: (event, call) =>
      heard.set(
        event,
        heard.get(event).filter((other) => other !== call),
      ),
    listeners: () => [...heard.values()].flat().length,
  };
}
