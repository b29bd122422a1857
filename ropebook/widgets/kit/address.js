// A state in the address of the page: `#name?trait=value&...`, and `#name.2?...` for the second widget
// of that name on it. Other addresses, such as those of headings, are nobody's business here.

export function hashOf(place, values) {
  return `#${place}?${new URLSearchParams(values)}`;
}

// What an address asks of the widget at a place: null where it asks nothing of it, undefined where it
// asks what cannot be shown. `rules` turn the text of each trait into its value, or into undefined.
export function readHash(hash, place, rules) {
  const [to, asked] = [hash.slice(1).split("?", 1)[0], hash.slice(hash.indexOf("?") + 1)];
  if (to !== place || !hash.includes("?")) return null;
  const read = (name, text) => (Object.hasOwn(rules, name) ? rules[name](text) : undefined);
  const found = [...new URLSearchParams(asked)].map(([name, text]) => [name, read(name, text)]);
  return found.every(([, value]) => value !== undefined) ? Object.fromEntries(found) : undefined;
}

// Rules: a number of a range, a whole one, one of several words.
export function numberIn([low, high], step = null) {
  return (text) => {
    const value = text.trim() === "" ? NaN : Number(text);
    return value >= low && value <= high && (step === null || value % step === 0) ? value : undefined;
  };
}

export function oneOf(words) {
  return (text) => (words.includes(text) ? text : undefined);
}

// Keeps a widget and the address in step: the address is obeyed at the start and whenever it changes,
// and is written only by `write`. `stands(state)` says whether it is this state's, `broken()` whether it
// asked what cannot be shown.
export function stateAddress({ name, rules, set, state, redraw }) {
  let root = null;
  let refused = false;
  const place = () => {
    const at = [...document.querySelectorAll(`[data-address="${name}"]`)].indexOf(root);
    return at > 0 ? `${name}.${at + 1}` : name;
  };
  const hash = (shown) => {
    const values = Object.keys(rules).map((trait) => [trait, shown[trait]]);
    return hashOf(place(), values);
  };
  const show = () => root.scrollIntoView({ behavior: "instant" });
  const obey = () => {
    const found = readHash(location.hash, place(), rules);
    refused = found === undefined;
    if (found) set(found);
    else redraw();
    return found !== null;
  };
  const heed = () => obey() && show();
  return {
    start(node) {
      root = node;
      root.dataset.address = name;
      window.addEventListener("hashchange", heed);
      // Once more when all that stands above has its height.
      if (heed()) window.addEventListener("load", show, { once: true });
    },
    stop() {
      window.removeEventListener("hashchange", heed);
      window.removeEventListener("load", show);
    },
    write() {
      refused = false;
      history.replaceState(history.state, "", hash(state()));
      redraw();
    },
    stands: (shown) => root !== null && location.hash === hash(shown),
    broken: () => refused,
  };
}
