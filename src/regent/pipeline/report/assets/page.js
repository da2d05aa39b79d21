// Draws every chart in the colours of the page, and again when those or the width change.
"use strict";
(function () {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 560px)");
  const config = { displaylogo: false, responsive: true, modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]] };

  // "var(--bad)" as the style sheet has it now; all else as it is.
  function inColour(value, style) {
    if (typeof value === "string") {
      return value.startsWith("var(--") ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
    }
    if (Array.isArray(value)) {
      const isFigures = typeof value[0] === "number" && typeof value[value.length - 1] === "number";
      return isFigures ? value : value.map((each) => inColour(each, style));
    }
    if (value !== null && typeof value === "object") {
      const copy = {};
      for (const key of Object.keys(value)) copy[key] = inColour(value[key], style);
      return copy;
    }
    return value;
  }

  function shorter(label) {
    return label.length <= 18 ? label : label.slice(0, 8) + "…" + label.slice(-9);
  }

  function axis(given, style) {
    const quiet = { automargin: true, zeroline: false, showgrid: false, gridcolor: style.getPropertyValue("--rule").trim(), linecolor: style.getPropertyValue("--rule").trim(), ticks: "" };
    const mine = Object.assign(quiet, given || {});
    if (narrow.matches && mine.ticktext) mine.ticktext = mine.ticktext.map(shorter);
    if (mine.title) mine.title = Object.assign({ standoff: 12, font: { size: 12.5 } }, mine.title);
    return mine;
  }

  function draw(place) {
    const chart = charts[place.dataset.chart];
    if (!chart) return;
    const style = getComputedStyle(document.documentElement);
    const layout = inColour(chart.layout, style);
    const colour = (name) => style.getPropertyValue(name).trim();
    Object.assign(layout, {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: colour("--sans"), size: 12.5, color: colour("--muted") },
      margin: { l: 8, r: 8, t: 36, b: 36 },
      legend: Object.assign({ orientation: "h", x: 0, y: 1, yanchor: "bottom", yref: "paper", traceorder: "normal" }, layout.legend),
      hoverlabel: { bgcolor: colour("--panel"), bordercolor: colour("--rule"), font: { color: colour("--ink"), family: colour("--sans"), size: 12.5 }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--muted"), activecolor: colour("--ink") },
      dragmode: narrow.matches ? false : "zoom",
      xaxis: axis(layout.xaxis, style),
      yaxis: axis(layout.yaxis, style),
    });
    return Plotly.react(place, inColour(chart.data, style), layout, Object.assign({ displayModeBar: narrow.matches ? false : "hover" }, config));
  }

  async function drawAll() {
    const places = Array.from(document.querySelectorAll("[data-chart]"));
    await Promise.all(places.map(draw));
    document.documentElement.dataset.drawn = String(places.length);
  }

  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  drawAll();
})();
