// The sections on how sure, where the page has them; and every figure as a file.
function drawStated() {
  const c = page.sure.chips;
  const line = { x: c.kept, y: c.probability, mode: "lines", fill: "tozeroy", line: { color: colour("accent"), width: 2 }, hovertemplate: "%{x} items: %{y:.3f}<extra></extra>" };
  const here = { x: [c.chosen[0]], y: [c.chosen[1]], mode: "markers", hoverinfo: "skip", marker: { size: 11, color: colour("chosen") } };
  Plotly.react("chart-chips", [line, here], layoutOf({ xaxis: axis("items kept", {}), yaxis: axis("probability that they are so", { range: [0, 1.05] }) }), config);
  describe("chart-chips", c.chosen[0] + " of " + page.n + " items hold with probability " + c.chosen[1].toFixed(2));
}

function drawModes() {
  page.sure.modes.matrices.forEach((m, x) => {
    const values = unpack(m.values);
    const z = Array.from({ length: m.cells }, (_, r) => values.subarray(r * m.cells, (r + 1) * m.cells));
    const none = { showticklabels: false, showgrid: false, zeroline: false, ticks: "" };
    const title = "mode " + x + ", weight " + page.sure.modes.weights[x].toFixed(2);
    Plotly.react("chart-mode-" + x, [{ type: "heatmap", z, colorscale: scaleOfBlues(), zmin: 0, zmax: 255, showscale: false, hoverinfo: "none" }], layoutOf({
      margin: { l: 6, r: 6, t: 28, b: 6 }, title: { text: title, font: { size: 13 } },
      xaxis: { ...none, constrain: "domain" }, yaxis: { ...none, autorange: "reversed", scaleanchor: "x", constrain: "domain" },
    }), config);
    describe("chart-mode-" + x, "Similarity of the draws nearest to " + title);
  });
}

function drawWeights() {
  page.sure.weights.forEach((w, x) => {
    const id = "chart-weights-" + x;
    const line = { x: w.a, y: w.value, mode: "lines", line: { color: colour("accent"), width: 2 }, hovertemplate: "a = %{x:.2f}: %{y:.4g}<extra></extra>" };
    const wide = w.k.map((_, i) => w.a[i + 1] - w.a[i] > 0.05 * (w.a[w.a.length - 1] - w.a[0]));
    const middle = (v) => w.k.map((_, i) => (v[i] + v[i + 1]) / 2).filter((_, i) => wide[i]);
    const said = { x: middle(w.a), y: middle(w.value), text: w.k.filter((_, i) => wide[i]).map((k) => "K = " + k), mode: "text", textposition: "top center", textfont: { color: colour("chosen") }, hoverinfo: "skip" };
    const edges = w.a.slice(1, -1).map((a) => ({ type: "line", x0: a, x1: a, yref: "paper", y0: 0, y1: 1, line: { color: colour("line"), width: 1 } }));
    Plotly.react(id, [line, said], layoutOf({ shapes: edges, xaxis: axis("weight a", {}), yaxis: axis("expected " + plain(w.loss), {}) }), config);
    describe(id, "Expected " + w.loss + " along the weight a, with K = " + w.k.join(", "));
  });
}

function drawSure() {
  if (!page.sure) return;
  drawStated();
  drawModes();
  drawWeights();
}

function offerFiles() {
  for (const chart of document.querySelectorAll(".js-plotly-plot")) {
    const tools = document.createElement("div");
    tools.className = "files";
    for (const format of ["svg", "png"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.setAttribute("aria-label", "Save " + chart.id.replace("chart-", "").replaceAll("-", " ") + " as " + format.toUpperCase());
      button.addEventListener("click", () => Plotly.downloadImage(chart, {
        format, filename: chart.id.replace("chart-", "partita-"), width: chart.clientWidth, height: chart.clientHeight, scale: format === "png" ? 3 : 1,
      }));
      tools.append(button);
    }
    chart.after(tools);
  }
}
