// On a phone a long line of code goes on below itself, further in than it begins (book.css): each line
// gets a box of its own. Where there is room, code is left as it is. It defines no global.
(() => {
  "use strict";

  const FITS = 32; // letters that stand side by side on the narrowest phone
  const FURTHER = 4;
  const phone = matchMedia("(max-width: 600px)");

  /** Whether lines are code: those of a report, of a session and of a diff have boxes of their own. */
  const isCode = (pre) => !pre.querySelector(".gp, .go, .gd, .gi");

  /** A name that is too long ends a line behind a dot, a bracket or an underscore, not in a word. */
  const parted = (line) =>
    line.replace(/(<span class="[op]">[.([{]+<\/span>)(?=<)|([a-z]_+)(?=[a-z][^<>]*<\/)/gi, "$&<wbr>");

  function boxed(line) {
    const text = Object.assign(document.createElement("span"), { innerHTML: line }).textContent.trimEnd();
    if (text.length <= FITS || line.startsWith("<span style")) return line;
    return `<span style="--in: ${text.length - text.trimStart().length + FURTHER}">${parted(line)}</span>`;
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
