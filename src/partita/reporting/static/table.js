// The table of items: searched, sorted, a page at a time.
const perPage = 25;
const mostPrinted = 500;
const view = { step: null, key: "entropy", down: true, words: "", rows: [], page: 0 };
const fixed = page.items;
if (!fixed.entropy) Object.assign(view, { key: "own_similarity", down: false });
const number = (values) => (i) => unpack(values)[i];

function columnsOf(step) {
  const columns = [
    { key: "item", title: "Item" },
    { key: "cluster", title: "Cluster", of: (i) => numberOf(step, i), chip: true },
    { key: "own_similarity", title: "Similarity", of: number(fixed.own_similarity), digits: 3 },
    { key: "runner_up", title: "Runner-up", of: number(fixed.runner_up), chip: true },
  ];
  // Of a similarity alone there are neither.
  if (fixed.probability) {
    columns.splice(2, 0,
      { key: "probability", title: "Probability", of: number(fixed.probability), digits: 3 },
      { key: "entropy", title: "Entropy", of: number(fixed.entropy), digits: 3 });
  }
  if (fixed.truth) columns.push({ key: "truth", title: "True class", of: number(fixed.truth), digits: 0 });
  return columns;
}

const collator = new Intl.Collator(undefined, { numeric: true });

function arrange() {
  const column = columnsOf(view.step).find((c) => c.key === view.key);
  const words = view.words.trim().toLowerCase();
  const cluster = /^cluster:\s*(\d+)$/.exec(words);
  const rows = [];
  for (let i = 0; i < page.n; i++) {
    const hit = cluster ? numberOf(view.step, i) === Number(cluster[1]) : page.names[i].toLowerCase().includes(words);
    if (hit) rows.push(i);
  }
  const sign = view.down ? -1 : 1;
  if (column.of) {
    // What is not a number comes last either way.
    const rank = rows.map((i) => [column.of(i), i]);
    rank.sort((a, b) => (isNaN(a[0]) - isNaN(b[0])) || sign * (a[0] - b[0]) || a[1] - b[1]);
    view.rows = rank.map((pair) => pair[1]);
  } else {
    rows.sort((a, b) => sign * collator.compare(page.names[a], page.names[b]) || a - b);
    view.rows = rows;
  }
  const pages = Math.max(1, Math.ceil(view.rows.length / perPage));
  view.page = Math.min(view.page, pages - 1);
}

function swatch(cluster) {
  const mark = document.createElement("span");
  mark.className = "swatch";
  mark.style.background = clusterColour(cluster);
  return mark;
}

function cellOf(column, i) {
  if (!column.of) {
    const head = document.createElement("th");
    const name = document.createElement("bdi");
    head.scope = "row";
    name.textContent = page.names[i].slice(0, 300);
    if (page.names[i].length > 20) head.title = page.names[i].slice(0, 300);
    head.append(name);
    return head;
  }
  const cell = document.createElement("td");
  const value = column.of(i);
  if (column.chip) {
    if (value >= 0) cell.append(swatch(value), String(value));
    else cell.textContent = "–";
  } else {
    cell.textContent = isNaN(value) ? "–" : value.toFixed(column.digits);
  }
  return cell;
}

function drawRows(from = view.page * perPage, most = perPage) {
  const columns = columnsOf(view.step);
  const rows = view.rows.slice(from, from + most).map((i) => {
    const row = document.createElement("tr");
    row.append(...columns.map((column) => cellOf(column, i)));
    return row;
  });
  byId("table").tBodies[0].replaceChildren(...rows);
  const pages = Math.max(1, Math.ceil(view.rows.length / perPage));
  byId("found").textContent = view.rows.length.toLocaleString("en") + " of " + page.n.toLocaleString("en") + " items";
  byId("printed").textContent = view.rows.length > mostPrinted
    ? "The first " + mostPrinted + " of " + view.rows.length.toLocaleString("en") + " items, as sorted, are printed."
    : "";
  byId("page-text").textContent = "Page " + (view.page + 1) + " of " + pages;
  byId("previous").disabled = view.page === 0;
  byId("next").disabled = view.page >= pages - 1;
}

function drawHead() {
  const heads = columnsOf(view.step).map((column) => {
    const head = document.createElement("th");
    const button = document.createElement("button");
    head.scope = "col";
    head.dataset.key = column.key;
    button.type = "button";
    button.textContent = column.title;
    button.addEventListener("click", () => sortBy(column.key));
    head.append(button);
    return head;
  });
  byId("table").tHead.rows[0].replaceChildren(...heads);
  markSorted();
}

function markSorted() {
  for (const head of byId("table").tHead.rows[0].cells) {
    if (head.dataset.key === view.key) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function sortBy(key) {
  view.down = view.key === key ? !view.down : false;
  view.key = key;
  view.page = 0;
  markSorted();
  refreshTable();
}

function refreshTable(step) {
  if (step) view.step = step;
  arrange();
  drawRows();
}

function listenToTable() {
  byId("search").addEventListener("input", (event) => {
    view.words = event.target.value;
    view.page = 0;
    refreshTable();
  });
  for (const [id, by] of [["previous", -1], ["next", 1]]) {
    byId(id).addEventListener("click", () => {
      view.page += by;
      drawRows();
    });
  }
}
