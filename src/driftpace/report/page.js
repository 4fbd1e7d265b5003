"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const calm = { responsive: true, displaylogo: false, displayModeBar: touch ? false : "hover",
    modeBarButtons: [["toImage", "resetScale2d"]] };

  // "var(--own)" becomes the colour that the style sheet gives it now.
  function coloured(value, style) {
    if (typeof value === "string" && value.startsWith("var(--")) {
      return style.getPropertyValue(value.slice(4, -1)).trim();
    }
    if (Array.isArray(value)) return value;
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner, style)]));
    }
    return value;
  }

  function draw(key) {
    const style = getComputedStyle(document.documentElement);
    const figure = figures[key];
    const layout = coloured(figure.layout, style);
    const axis = layout.xaxis;
    if (axis.ticktext) { // as many names of periods as stand beside each other
      const longest = Math.max(...axis.ticktext.map((name) => name.length));
      const room = Math.max(1, Math.floor((document.getElementById(key).clientWidth - 60) / (8 * longest + 20)));
      const every = Math.ceil(axis.ticktext.length / room);
      const kept = (_, place) => place % every === 0;
      layout.xaxis = { ...axis, tickvals: axis.tickvals.filter(kept), ticktext: axis.ticktext.filter(kept) };
    }
    if (touch) layout.dragmode = false; // a finger on a figure scrolls the page
    return Plotly.react(key, figure.data.map((trace) => coloured(trace, style)), layout, calm);
  }

  // One after the other, so that a page of many figures can be read and scrolled meanwhile.
  let turn = 0;
  function drawAll() {
    const mine = (turn += 1);
    const left = Object.keys(figures);
    (function next() {
      if (mine !== turn || left.length === 0) return;
      draw(left.shift());
      window.setTimeout(next);
    })();
  }

  document.querySelectorAll(".keys").forEach((keys) => {
    const key = keys.dataset.for;
    keys.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button === null) return;
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      button.dataset.traces.split(",").forEach((place) => { figures[key].data[Number(place)].visible = shown; });
      draw(key);
    });
  });

  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) { width = window.innerWidth; drawAll(); }
  });
  dark.addEventListener("change", drawAll);
  drawAll();
})();
