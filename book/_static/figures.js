// Figures: data that Plotly draws. It is loaded once, when the first figure comes near the screen. A
// classic deferred script; it defines no global.
(() => {
  "use strict";

  const root = document.documentElement;
  const PLOTLY = new URL("plotly.min.js", document.currentScript.src);
  let loading = null;

  function loadPlotly() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = PLOTLY;
      script.onload = resolve;
      script.onerror = () => reject(new Error("plotly.min.js is missing beside this page"));
      document.head.append(script);
    });
    return loading;
  }

  /** The figure in the page's font and in its colors as they now are: `var(--rope-q)` becomes a color. */
  function themed(text, family) {
    const style = getComputedStyle(root);
    const color = (_, name) => style.getPropertyValue(name).trim();
    const { data, layout } = JSON.parse(text.replace(/var\((--rope-[a-z-]+)\)/g, color));
    return { data, layout: { ...layout, font: { family, ...layout.font } } };
  }

  async function drawFigure(figure) {
    const plot = figure.querySelector(".rope-plot");
    const text = figure.querySelector("script").textContent;
    try {
      const family = getComputedStyle(document.body).fontFamily;
      // Plotly measures its text, so the font must be there before the figure.
      await Promise.all([loadPlotly(), document.fonts.load(`1em ${family}`)]);
      const { data, layout } = themed(text, family);
      await Plotly.react(plot, data, layout, { responsive: true, displayModeBar: false });
      figure.dataset.drawn = root.dataset.theme;
    } catch (error) {
      plot.setAttribute("role", "alert");
      plot.textContent = `This figure could not be drawn: ${error.message}`;
      console.error(error);
    }
  }

  const figures = [...document.querySelectorAll("figure.rope-figure")];
  const drawAll = () => Promise.all(figures.filter((figure) => !figure.dataset.drawn).map(drawFigure));

  /** A browser's own menu prints at once, with what can be drawn until then; these two wait. */
  function drawForPaper() {
    const print = async (event) => {
      event.preventDefault();
      event.stopImmediatePropagation();
      await drawAll();
      window.print();
    };
    addEventListener("beforeprint", drawAll);
    document.querySelector(".btn-download-pdf-button")?.addEventListener("click", print, true);
    addEventListener("keydown", (event) => {
      if (event.key === "p" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) print(event);
    });
  }

  function drawFigures() {
    const nearScreen = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          nearScreen.unobserve(target);
          drawFigure(target);
        }
      },
      { rootMargin: "800px" },
    );
    figures.forEach((figure) => nearScreen.observe(figure));
    new MutationObserver(() => {
      figures
        .filter((figure) => figure.dataset.drawn && figure.dataset.drawn !== root.dataset.theme)
        .forEach(drawFigure);
    }).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  }

  drawFigures();
  if (figures.length > 0) drawForPaper();
})();
