// The similarity matrix: pointed at, or walked over with the arrow keys.
let cursor = null;

function rowsOfMatrix() {
  const s = page.similarity;
  const values = unpack(s.values);
  return Array.from({ length: s.cells }, (_, r) => values.subarray(r * s.cells, (r + 1) * s.cells));
}

// Where a boundary between items falls among the cells.
function cellAt(position) {
  return (position / page.n) * page.similarity.cells - 0.5;
}

function shapesOfMatrix() {
  const s = page.similarity;
  const from = -0.5;
  const to = s.cells - 0.5;
  const line = (x0, x1, y0, y1, more) => ({ type: "line", x0, x1, y0, y1, line: { color: isDark() ? "#9fb3c4" : "#333333", width: 0.8 }, ...more });
  const shapes = [];
  if (s.bounds.length <= 60) {
    for (const b of s.bounds.slice(1, -1).map(cellAt)) shapes.push(line(from, to, b, b), line(b, b, from, to));
  }
  if (s.truth.length) {
    const blocks = s.truth.map((block) => {
      const [a, b, c, d] = block.map(cellAt);
      return "M" + c + "," + a + "L" + d + "," + a + "L" + d + "," + b + "L" + c + "," + b + "Z";
    });
    shapes.push({ type: "path", path: blocks.join(""), line: { color: colour("chosen"), width: 1.5, dash: "dash" } });
  }
  if (cursor) {
    const [r, c] = cursor;
    shapes.push({ type: "rect", x0: c - 0.5, x1: c + 0.5, y0: r - 0.5, y1: r + 0.5, line: { color: colour("chosen"), width: 3 } });
  }
  return shapes;
}

function stripOf(step) {
  const s = page.similarity;
  const z = Array.from({ length: s.cells }, (_, c) => [numberOf(step, order[Math.floor((s.edges[c] + s.edges[c + 1]) / 2)])]);
  const most = Math.max(...step.numbers, 1);
  const scale = [];
  for (let k = 0; k <= most; k++) scale.push([k / (most + 1), clusterColour(k)], [(k + 1) / (most + 1), clusterColour(k)]);
  return { type: "heatmap", z, xaxis: "x2", colorscale: scale, zmin: 0, zmax: most + 1, zauto: false, showscale: false, hoverinfo: "skip" };
}

function drawMatrix(step) {
  const s = page.similarity;
  const wide = byId("chart-similarity").clientWidth > 480;
  const bar = { tickvals: [0, 63.75, 127.5, 191.25, 255], ticktext: ["0", "¼", "½", "¾", "1"], thickness: 12, len: 0.8, outlinewidth: 0, tickfont: { color: colour("soft") } };
  const cells = { type: "heatmap", z: rowsOfMatrix(), colorscale: scaleOfBlues(), zmin: 0, zmax: 255, hoverinfo: "none", showscale: wide, colorbar: bar };
  const none = { showticklabels: false, showgrid: false, zeroline: false, ticks: "" };
  Plotly.react("chart-similarity", [cells, stripOf(step)], layoutOf({
    margin: { l: 6, r: wide ? 50 : 6, t: 6, b: 6 }, dragmode: wide ? "zoom" : false, shapes: shapesOfMatrix(),
    xaxis: { ...none, domain: [0.045, 1], constrain: "domain", range: [-0.5, s.cells - 0.5] },
    xaxis2: { ...none, domain: [0, 0.03], fixedrange: true },
    yaxis: { ...none, range: [s.cells - 0.5, -0.5] },
  }), { ...config, doubleClick: "reset" });
}

// Of a step only the strip is new; the matrix itself is the slowest figure of the page.
function drawStrip(step) {
  const { z, colorscale, zmax } = stripOf(step);
  Plotly.restyle("chart-similarity", { z: [z], colorscale: [colorscale], zmax }, [1]);
}

function nameOfCell(c) {
  const { edges } = page.similarity;
  const [from, to] = [edges[c], edges[c + 1]];
  const first = shortName(order[from]);
  return to - from === 1 ? first : to - from + " items from " + first + " to " + shortName(order[to - 1]);
}

function readOut(r, c) {
  const s = page.similarity;
  const value = (unpack(s.values)[r * s.cells + c] / 255).toFixed(2);
  byId("readout").textContent = nameOfCell(r) + "  with  " + nameOfCell(c) + ": " + value;
}

function listenToMatrix() {
  const chart = byId("chart-similarity");
  const point = (event) => {
    const at = event.points.find((p) => p.curveNumber === 0);
    if (at) readOut(at.y, at.x);
  };
  chart.on("plotly_hover", point);
  chart.on("plotly_click", point); // where there is no pointer to hover with
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  chart.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const far = event.shiftKey ? Math.max(1, Math.round(page.similarity.cells / 20)) : 1;
    const clamp = (v) => Math.min(page.similarity.cells - 1, Math.max(0, v));
    cursor = cursor ? [clamp(cursor[0] + far * move[0]), clamp(cursor[1] + far * move[1])] : [0, 0];
    readOut(cursor[0], cursor[1]);
    Plotly.relayout(chart, { shapes: shapesOfMatrix() });
  });
  chart.addEventListener("blur", () => {
    cursor = null;
    Plotly.relayout(chart, { shapes: shapesOfMatrix() });
  });
}
