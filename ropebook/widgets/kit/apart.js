// Names that stand beside one another and not on one another.

// A box of a text around its middle.
export function around([x, y], width, height) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}

function shared(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return Math.max(0, wide) * Math.max(0, high);
}

// The first of some places whose box covers none of `taken`, or else the one that covers least; `taken` learns it.
export function freePlace(places, width, height, taken) {
  let best = null;
  for (const place of places) {
    const box = around(place, width, height);
    const covered = taken.reduce((sum, other) => sum + shared(box, other), 0);
    if (!best || covered < best.covered) best = { place, box, covered };
    if (!covered) break;
  }
  taken.push(best.box);
  return best.place;
}
