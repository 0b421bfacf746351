// One step of the slider is shown at a time, everywhere.
let present = page.chosen;
let waiting = false;
let later = 0;

function drawSizes(step) {
  const sizes = sizesOf(step);
  const chips = sizes.slice(0, 40).map(([cluster, size]) => {
    const chip = document.createElement("li");
    chip.append(swatch(cluster), cluster + ": " + size.toLocaleString("en"));
    return chip;
  });
  if (sizes.length > 40) {
    const more = document.createElement("li");
    more.textContent = "and " + (sizes.length - 40) + " more";
    chips.push(more);
  }
  byId("sizes").replaceChildren(...chips);
}

function say(step) {
  const filled = step.n_clusters === step.rank ? "" : " (" + step.n_clusters + " with items)";
  const is = present === page.chosen ? ", the estimate" : "";
  const text = "K = " + step.rank + filled + ", expected " + page.loss + " " + lossText(step) + is;
  byId("rank-text").textContent = text;
  byId("rank").setAttribute("aria-valuetext", text);
  byId("rank-reset").disabled = present === page.chosen;
}

// What is quick comes first; what is slow comes later, and only for the last of many steps.
function show() {
  waiting = false;
  const step = page.steps[present];
  say(step);
  drawSizes(step);
  drawLoss(step);
  drawPosterior(step);
  drawMemberships(step);
  refreshTable(step);
  clearTimeout(later);
  later = setTimeout(() => {
    drawStrip(step);
    drawData(step);
  }, 60);
}

function goTo(index) {
  present = index;
  byId("rank").value = index;
  say(page.steps[present]);
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(show);
  }
}

function redraw() {
  drawMatrix(page.steps[present]);
  show();
  drawData(page.steps[present]);
  drawTraces();
  drawSure();
  // A figure is read out by its own label, not by the marks inside it.
  for (const inside of document.querySelectorAll(".chart .plot-container, #js-plotly-tester")) {
    inside.setAttribute("aria-hidden", "true");
  }
}

function listenToSlider() {
  const slider = byId("rank");
  slider.max = page.steps.length - 1;
  slider.value = present;
  slider.disabled = page.steps.length < 2;
  slider.addEventListener("input", () => goTo(Number(slider.value)));
  byId("rank-reset").addEventListener("click", () => goTo(page.chosen));
  byId("chart-loss").on("plotly_click", (event) => {
    const point = event.points.find((p) => p.curveNumber === 0);
    if (point) goTo(point.pointNumber);
  });
}

// Paper has another width than the screen, and a figure is told of it too late to follow.
function fitToPaper() {
  for (const chart of document.querySelectorAll(".js-plotly-plot")) {
    const height = chart.classList.contains("square") ? 640 : chart.clientHeight;
    Plotly.relayout(chart, { width: chart.closest(".pair") ? 345 : 700, height });
  }
}

function listenToPrinter() {
  window.addEventListener("beforeprint", () => {
    printing = true;
    redraw();
    fitToPaper();
    drawRows(0, mostPrinted);
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    redraw();
  });
}

byId("figure-data").hidden = !page.data;
if (page.data) {
  const count = unpack(page.data.shown).length;
  const some = count < page.n ? " " + count.toLocaleString("en") + " of the items are shown." : "";
  byId("data-note").textContent = (page.data.note ? " " + page.data.note : "") + some;
}
byId("draws-note").textContent = page.similarity.note ? " Averaged over " + page.similarity.note + "." : "";
byId("width-note").hidden = page.steps.every((step) => step.numbers.length <= step.width);
byId("truth-note").hidden = page.similarity.truth.length === 0;
view.step = page.steps[present];
drawHead();
redraw();
offerFiles();
listenToMatrix();
listenToSlider();
listenToTable();
listenToPrinter();
dark.addEventListener("change", redraw);
document.documentElement.dataset.ready = "yes";
