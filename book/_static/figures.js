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

  const MARGINS = 84; // pixels above and below a panel, with which labels.py reckons
  const PHONE = 480; // pixels of a picture that has no room beside it
  const NAMES = 0.33; // the share of a phone's picture that names at the ends of lines may take
  const [LETTER, SAMPLE, ROW] = [7, 46, 19]; // pixels in a legend: of a letter, a line's look, a row

  /** Two maps with numbers in their cells, one above the other. */
  function stacked({ data, layout }) {
    const UPPER = 0.58; // from here up, and as much from the bottom up
    const rows = [
      [UPPER, 1],
      [0, 1 - UPPER],
    ];
    const axes = Object.fromEntries(
      ["", "2"].flatMap((panel, i) => [
        [`xaxis${panel}`, { ...layout[`xaxis${panel}`], domain: [0, 1] }],
        [`yaxis${panel}`, { ...layout[`yaxis${panel}`], domain: rows[i], showticklabels: true }],
      ]),
    );
    const titles = layout.annotations.filter((note) => note.name === "title");
    const annotations = titles.map((note, i) => ({ ...note, x: 0, y: rows[i][1] }));
    return { data, layout: { ...layout, ...axes, annotations, height: 2 * layout.height - MARGINS } };
  }

  /** What a plane with one scale for both directions needs at that width, where its ranges are fixed. */
  function heightOfPlane({ xaxis = {}, yaxis = {}, margin = {} }, width) {
    if (yaxis.scaleanchor !== "x" || !xaxis.range || !yaxis.range) return Infinity;
    const length = ([from, to]) => to - from;
    const { l = 80, r = 80, t = 100, b = 80 } = margin;
    return Math.ceil(((width - l - r) * length(yaxis.range)) / length(xaxis.range)) + t + b;
  }

  /**
   * The figure as a picture of that width shows it: names that take two lines stand under the picture,
   * on a phone all long ones; and of two maps with numbers one above the other.
   */
  function fitted({ data, layout }, width) {
    const maps = data.filter((trace) => trace.type === "heatmap" && trace.texttemplate);
    if (width < PHONE && maps.length === 2 && data.length === 2) return stacked({ data, layout });
    layout = { ...layout, height: Math.min(layout.height, heightOfPlane(layout, width)) };
    if (!data.some((trace) => trace.meta === "ended")) return { data, layout };
    const { annotations = [], margin = {} } = layout;
    const wraps = annotations.some((note) => note.name === "end" && note.text.includes("<br>"));
    const wide = width >= PHONE ? !wraps : (margin.r ?? 0) < NAMES * width;
    if (wide) return { data, layout };
    const named = data.filter((trace) => trace.name && (trace.meta === "ended" || trace.showlegend !== false));
    const longest = Math.max(...named.map((trace) => SAMPLE + LETTER * trace.name.length));
    const rows = Math.ceil(named.length / Math.max(1, Math.floor(width / longest)));
    return {
      data: data.map((trace) => (trace.meta === "ended" ? { ...trace, showlegend: true } : trace)),
      layout: {
        ...layout,
        annotations: annotations.filter((note) => note.name !== "end"),
        height: layout.height + ROW * rows,
        legend: { orientation: "h", x: 0, xref: "container", y: 0, yref: "container", yanchor: "bottom" },
        margin: { ...margin, r: 16 },
        showlegend: true,
      },
    };
  }

  const steady = (wanted, found) => Math.abs(wanted - found) <= 1;

  /** Draw; and where a legend of several rows has lowered the panel, put it where it was meant to be. */
  async function drawTo(plot, data, layout) {
    const { legend = {}, height } = layout;
    const room = legend.yref === "container" ? 0 : ((legend.y ?? 0) - 1) * (height - MARGINS);
    for (let pass = 0; pass < 5; pass++) {
      await Plotly.react(plot, data, layout, { displayModeBar: false });
      const panel = plot._fullLayout._size.h;
      if (room <= 0 || !layout.showlegend || steady(room, (layout.legend.y - 1) * panel)) return;
      layout = { ...layout, legend: { ...legend, y: 1 + room / panel } };
    }
  }

  const widthOf = (plot) => plot.clientWidth || Number(plot.dataset.width) || 700;
  const isStale = (figure, plot) =>
    figure.dataset.drawn !== root.dataset.theme || Number(plot.dataset.width) !== widthOf(plot);
  const inWork = new Set();

  /** Draw a figure until it has the page's theme and its own width, which may change meanwhile. */
  async function drawFigure(figure) {
    if (inWork.has(figure)) return;
    inWork.add(figure);
    const plot = figure.querySelector(".rope-plot");
    const text = figure.querySelector("script").textContent;
    try {
      const family = getComputedStyle(document.body).fontFamily;
      // Plotly measures its text, so the font must be there before the figure.
      await Promise.all([loadPlotly(), document.fonts.load(`1em ${family}`)]);
      while (isStale(figure, plot)) {
        const { theme } = root.dataset;
        const width = widthOf(plot);
        const { data, layout } = fitted(themed(text, family), width);
        plot.style.height = `${layout.height}px`;
        // Of another width Plotly would keep room that was measured then.
        if (plot.dataset.width) Plotly.purge(plot);
        await drawTo(plot, data, { ...layout, width });
        plot.dataset.width = width;
        figure.dataset.drawn = theme;
      }
    } catch (error) {
      plot.setAttribute("role", "alert");
      plot.textContent = `This figure could not be drawn: ${error.message}`;
      console.error(error);
    }
    inWork.delete(figure);
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
    const drawAgain = () => figures.filter((figure) => figure.dataset.drawn).forEach(drawFigure);
    new MutationObserver(drawAgain).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
    const widths = new ResizeObserver(drawAgain);
    figures.forEach((figure) => widths.observe(figure));
  }

  drawFigures();
  if (figures.length > 0) drawForPaper();
})();
