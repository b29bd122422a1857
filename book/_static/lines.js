// On a phone a long line of code goes on below itself, further in than it begins (book.css): each line
// gets a box of its own. Where there is room, code is left as it is. It defines no global.
(() => {
  "use strict";

  const FITS = 32; // letters that stand side by side on the narrowest phone
  const FURTHER = 4;
  const LONG = 24; // letters that fit beside the beginning of most lines
  const phone = matchMedia("(max-width: 600px)");

  /** Whether lines are code: those of a report, of a session and of a diff have boxes of their own. */
  const isCode = (pre) => !pre.querySelector(".gp, .go, .gd, .gi");

  /** What no line holds ends one behind a sign, not in a word: `torch.testing.` and not `torch.test`. */
  function parted(word) {
    if (word.replace(/<[^>]*>|&\w+;/g, "").length <= LONG) return word;
    return word.replace(/(?:[.([{/:=]|\w_)(?=[\w"'<&])(?![^<]*>)/g, "$&<wbr>");
  }

  function boxed(line) {
    const text = Object.assign(document.createElement("span"), { innerHTML: line }).textContent.trimEnd();
    if (text.length <= FITS || line.startsWith("<span style")) return line;
    return `<span style="--in: ${text.length - text.trimStart().length + FURTHER}">${line
      .split(/( +)(?![^<]*>)/)
      .map(parted)
      .join("")}</span>`;
  }

  function box() {
    if (!phone.matches) return;
    phone.removeEventListener("change", box);
    for (const pre of document.querySelectorAll("div.highlight pre")) {
      if (isCode(pre)) pre.innerHTML = pre.innerHTML.split("\n").map(boxed).join("\n");
    }
  }

  phone.addEventListener("change", box);
  box();
})();
