// Figures other than the matrix. Each takes the present step and draws itself anew.
function describe(id, text) {
  byId(id).setAttribute("aria-label", text);
}

function drawLoss(step) {
  const x = page.steps.map((s) => s.rank);
  const y = page.steps.map((s) => s.loss);
  const best = page.steps[page.chosen];
  const line = { x, y, mode: "lines+markers", line: { color: colour("accent"), width: 1.5 }, marker: { size: 6 }, hovertemplate: "K = %{x}: %{y:.4g}<extra></extra>" };
  const ring = { x: [best.rank], y: [best.loss], mode: "markers", hoverinfo: "skip", marker: { size: 17, symbol: "circle-open", color: colour("chosen"), line: { width: 2.5 } } };
  const here = { x: [step.rank], y: [step.loss], mode: "markers", hoverinfo: "skip", marker: { size: 10, color: colour("chosen") } };
  Plotly.react("chart-loss", [line, ring, here], layoutOf({
    xaxis: axis("K", { dtick: x.length > 1 && x[x.length - 1] - x[0] < 20 ? 1 : undefined }),
    yaxis: axis("expected " + plain(page.loss)),
  }), config);
  describe("chart-loss", "Expected loss against K: " + page.steps.map((s) => s.rank + ": " + lossText(s)).join(", "));
}

function drawPosterior(step) {
  const p = page.posterior;
  if (!p) {
    byId("chart-posterior").closest("figure").hidden = true;
    return;
  }
  const colours = p.k.map((k) => (k === step.rank ? colour("accent") : isDark() ? "#41627c" : "#a9cbe3"));
  const bars = { type: "bar", x: p.k, y: p.probability, marker: { color: colours }, error_y: { array: p.error, color: colour("soft"), thickness: 1 }, hovertemplate: "K = %{x}: %{y:.3f}<extra></extra>" };
  Plotly.react("chart-posterior", [bars], layoutOf({
    xaxis: axis("number of clusters", { dtick: p.k.length < 20 ? 1 : undefined }),
    yaxis: axis("probability", { rangemode: "tozero" }),
  }), config);
  describe("chart-posterior", "Posterior of the number of clusters: " + p.k.map((k, i) => k + ": " + p.probability[i].toFixed(3)).join(", "));
}

// Means of every column of memberships over at most 500 runs of neighbours in the order shown.
function averaged(step, cells) {
  const values = unpack(step.memberships);
  const columns = unpack(step.columns);
  const out = step.numbers.map(() => new Array(cells).fill(0));
  for (let c = 0; c < cells; c++) {
    const from = Math.floor((c * page.n) / cells);
    const to = Math.floor(((c + 1) * page.n) / cells);
    for (let i = from; i < to; i++) {
      const at = order[i] * step.width;
      for (let j = at; j < at + step.width; j++) out[columns[j]][c] += values[j] / (255 * (to - from));
    }
  }
  return out;
}

// Clusters beyond so many share a grey, as in the figures of the package.
const mostColumns = 40;

function together(columns, cells) {
  const sum = new Array(cells).fill(0);
  for (const column of columns) column.forEach((v, c) => { sum[c] += v; });
  return sum;
}

function drawMemberships(step) {
  const cells = Math.min(page.n, 500);
  const x = Array.from({ length: cells + 1 }, (_, c) => Math.floor((c * page.n) / cells));
  const columns = step.numbers.map((number, column) => ({ number, column })).sort((a, b) => a.number - b.number);
  const rest = new Array(cells).fill(1);
  const stacked = (y, name, fill) => ({
    x, y: [...y, y[cells - 1]], name, stackgroup: "one", mode: "lines", fillcolor: fill,
    line: { width: 0, shape: "hv", color: fill }, hovertemplate: "%{y:.2f}",
  });
  const means = averaged(step, cells);
  const shown = columns.slice(0, mostColumns).map(({ number, column }) => [means[column], "cluster " + number, clusterColour(number)]);
  const others = columns.slice(mostColumns).map(({ column }) => means[column]);
  if (others.length) shown.push([together(others, cells), others.length + " other clusters", "#b5b5b5"]);
  const traces = shown.map(([y, name, fill]) => {
    for (let c = 0; c < cells; c++) rest[c] = Math.max(0, rest[c] - y[c]);
    return stacked(y, name, fill);
  });
  if (Math.max(...rest) > 0.02) traces.push(stacked(rest, "none of these", colour("none")));
  Plotly.react("chart-memberships", traces, layoutOf({
    hovermode: traces.length <= 14 ? "x unified" : "closest",
    xaxis: axis("item, by cluster", { range: [0, page.n], showgrid: false }),
    yaxis: axis("membership", { range: [0, 1] }),
  }), config);
  describe("chart-memberships", "Memberships of the items in " + columns.length + " clusters; the table of items has the numbers.");
}

function drawData(step) {
  if (!page.data) return;
  const d = page.data;
  const shown = unpack(d.shown);
  const items = Array.from(shown);
  const top = d.density ? Math.max(...d.density.y) : 1;
  const symbols = ["circle", "triangle-up", "square", "diamond", "triangle-down", "cross", "x", "pentagon"];
  const numbers = items.map((i) => numberOf(step, i));
  const points = {
    x: unpack(d.x), y: d.y ? unpack(d.y) : items.map(() => -0.12 * top), mode: "markers",
    text: items.map((i, j) => plain(shortName(i)) + ", cluster " + numbers[j]), hovertemplate: "%{text}<extra></extra>",
    marker: {
      size: items.length > 1500 ? 5 : 8, color: numbers.map(clusterColour), symbol: numbers.map((k) => symbols[k % symbols.length]),
      opacity: items.map((i) => 0.25 + 0.75 * membershipOf(step, i)),
    },
  };
  const traces = [points];
  if (d.density) traces.unshift({ x: d.density.x, y: d.density.y, mode: "lines", fill: "tozeroy", fillcolor: isDark() ? "#2a333d" : "#e3e9ee", line: { color: colour("ink"), width: 1.2 }, hoverinfo: "skip" });
  Plotly.react("chart-data", traces, layoutOf({
    hovermode: "closest",
    xaxis: axis(plain(d.names[0]), {}),
    yaxis: d.y ? axis(plain(d.names[1]), {}) : axis(d.density ? "predictive density" : "", { showticklabels: Boolean(d.density), showgrid: false, range: d.density ? [-0.25 * top, 1.08 * top] : [-0.5, 0.3] }),
  }), config);
  describe("chart-data", "The data, coloured by " + step.n_clusters + " clusters; the table of items says which is where.");
}

function drawTraces() {
  page.traces.forEach((trace, t) => {
    const id = "chart-trace-" + t;
    if (!byId(id)) {
      const figure = document.createElement("figure");
      const chart = document.createElement("div");
      const caption = document.createElement("figcaption");
      chart.id = id;
      chart.className = "chart";
      chart.setAttribute("role", "img");
      caption.textContent = "Trace of " + trace.name + ", a line for each chain" + (trace.lines[0].step > 1 ? ", one draw in " + trace.lines[0].step : "") + ".";
      figure.append(chart, caption);
      byId("traces").append(figure);
    }
    const lines = trace.lines.map((l) => ({
      x: l.y.map((_, i) => i * l.step), y: l.y, name: "chain " + l.chain, mode: "lines", opacity: 0.8,
      line: { width: 1, color: clusterColour(l.chain) },
    }));
    Plotly.react(id, lines, layoutOf({
      showlegend: lines.length > 1 && lines.length <= 12, legend: { orientation: "h", y: 1.01, yanchor: "bottom" }, margin: { l: 50, r: 12, t: 50, b: 42 },
      xaxis: axis("draw", {}), yaxis: axis(plain(trace.name), {}),
    }), config);
    describe(id, "Trace of " + trace.name + " for " + lines.length + (lines.length === 1 ? " chain." : " chains."));
  });
}
