// What the reader has done, by name, kept by the browser; see `ask.js` and `task.js`.
const KEY = "rope-book:marks";

// Where the browser keeps nothing, this page does, for every copy of this module on it.
function memory() {
  const shared = Symbol.for(KEY);
  globalThis[shared] ??= {};
  return globalThis[shared];
}

// All marks: { name: value }. What another hand has written there and is no table counts as none.
export function marks() {
  let kept = null;
  try {
    kept = JSON.parse(localStorage.getItem(KEY));
  } catch {
    // Storage is refused, or holds no JSON.
  }
  const table = kept !== null && typeof kept === "object" && !Array.isArray(kept) ? kept : {};
  return { ...table, ...memory() };
}

// The value of a name; undefined: not done.
export function recall(name) {
  const all = marks();
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

// Keeps a value under a name, and tells the page by an event from this node.
export function mark(node, name, value) {
  const all = { ...marks(), [name]: value };
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
    delete memory()[name];
  } catch {
    memory()[name] = value;
  }
  node.dispatchEvent(new CustomEvent("rope-mark", { bubbles: true, detail: { name, value } }));
}
