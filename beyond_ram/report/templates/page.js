// Views, filters and what is unpacked when it is shown. The points of all runs are Plotly's, tables DataTables'.
const root = document.documentElement, byId = id => document.getElementById(id);

// A pack is gzip in base64; nothing is fetched.
async function unpacked(id) {
  const letters = atob(byId("pack-" + id).textContent), bytes = new Uint8Array(letters.length);
  for (let n = 0; n < letters.length; n++) bytes[n] = letters.charCodeAt(n);  // Uint8Array.from takes far longer
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
const once = make => { let made; return () => made ??= make(); };
const explorerData = once(async () => JSON.parse(await unpacked("explorer")));
const plotly = once(async () => {
  const script = document.createElement("script");
  script.textContent = await unpacked("plotly");
  document.head.append(script);
  return window.Plotly;
});
const dataTables = once(async () => {
  const style = document.createElement("style");
  style.textContent = await unpacked("style");
  document.head.prepend(style);
  const url = URL.createObjectURL(new Blob([await unpacked("datatables")], { type: "text/javascript" }));
  const { default: DataTable } = await import(url);
  DataTable.ext.search.push((settings, _, row) => matches(settings.aoData[row].nTr));
  return DataTable;
});

// Filters by stack, data and experiment: whatever says what it is of.
const form = byId("filters"), chosen = () => form ? Object.fromEntries(new FormData(form)) : {};
const tagsOf = element => JSON.parse(element.dataset.tags ?? "{}");
function fits(tags) {
  return Object.entries(chosen()).every(([kind, value]) => !value || !tags[kind] || tags[kind].includes(value));
}
const matches = element => fits(tagsOf(element));
async function filter() {
  for (const element of document.querySelectorAll("[data-tags]")) {
    if (!element.closest("table.dataTable")) element.toggleAttribute("data-filtered", !matches(element));
  }
  for (const grid of madeGrids) grid.draw();
  count();
  if (byId("cells")?.classList.contains("current")) explore();
}
function count() {
  const view = document.querySelector(".view.current"), told = byId("shown");
  if (!view || !told) return;
  const all = [...view.querySelectorAll("[data-tags]")].filter(one => !one.closest("table.dataTable"));
  const left = all.filter(one => !one.hasAttribute("data-filtered")).length;
  told.textContent = all.length && left < all.length ? `${left} of ${all.length} shown` : "";
}

// Figures in the colours of the page.
function themed(layout) {
  const style = getComputedStyle(document.body), font = { color: style.color, family: style.fontFamily, size: 13 };
  const grid = { gridcolor: "rgba(128,136,144,0.3)", zerolinecolor: "rgba(128,136,144,0.5)", automargin: true };
  const modebar = { bgcolor: style.backgroundColor, color: style.color, activecolor: getComputedStyle(byId("theme")).color };
  return { ...layout, font, modebar, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: { bgcolor: style.backgroundColor, font }, xaxis: { ...grid, ...layout.xaxis }, yaxis: { ...grid, ...layout.yaxis } };
}
let drawn;
async function draw(element, figure) {
  drawn = [element, figure];
  await (await plotly()).react(element, figure.data, themed(figure.layout), { responsive: true, displaylogo: false });
}
const inLines = (text, letters) => text.match(new RegExp(`.{1,${letters}}(?= |$)|[^ ]+`, "g")).join("<br>");

// One metric of every run. A box has no mark in the legend where only its points are drawn: a point beside it has.
const COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"];
async function explore() {
  const known = await explorerData(), metric = known.metrics[byId("metric").value], element = byId("explorer");
  const shown = known.cell.map((_, n) => n).filter(n => metric.values[n] !== null &&
    fits({ stack: [known.stack[n]], data: known.data[n] ? [known.data[n]] : undefined, experiment: [known.experiment[n]] }));
  const data = [...new Set(shown.map(n => known.stack[n]))].flatMap((stack, place) => {
    const own = shown.filter(n => known.stack[n] === stack), color = COLOURS[place % COLOURS.length];
    const common = { name: known.shown[stack], legendgroup: stack };
    return [{ ...common, type: "box", orientation: "h", boxpoints: "all", jitter: 0.5, pointpos: 0, fillcolor: "rgba(0,0,0,0)", line: { width: 0 },
      showlegend: false, x: own.map(n => metric.values[n]), y: own.map(n => known.shown[known.experiment[n]]),
      text: own.map(n => known.label[n]), customdata: own.map(n => known.cell[n]), marker: { size: 7, color }, hoveron: "points",
      hovertemplate: `%{x:,.6~g} ${metric.unit}<br>%{text}` },
      { ...common, type: "scatter", mode: "markers", x: [null], y: [null], marker: { size: 9, color }, hoverinfo: "skip" }];
  });
  const values = shown.map(n => metric.values[n]), wide = Math.min(...values) > 0 && Math.max(...values) > 50 * Math.min(...values);
  const experiments = new Set(shown.map(n => known.experiment[n])).size;
  const layout = { height: Math.max(560, 120 + 26 * experiments), boxmode: "group", margin: { l: 10, r: 12, t: 34, b: 44 }, hovermode: "closest",
    xaxis: { title: { text: inLines(metric.label + (metric.unit ? ` (${metric.unit})` : ""), Math.floor(element.clientWidth / 12)), standoff: 8 }, type: wide ? "log" : "linear", rangemode: "tozero",
      dtick: wide ? "D2" : undefined },
    yaxis: { autorange: "reversed", tickson: "boundaries", zeroline: false }, legend: { orientation: "h", y: 1.01, yanchor: "bottom" } };
  await draw(element, { data, layout });
  element.removeAllListeners?.("plotly_click");
  element.on("plotly_click", event => { location.hash = "cell/" + encodeURIComponent(event.points[0].customdata); });
}

const madeGrids = [], filled = new Map();
async function fill(table) {
  const lines = "lines-" + table.dataset.name;
  if (!byId("pack-" + lines)) return;
  const text = JSON.parse(await unpacked(lines));
  table.hidden = true;  // else all lines are laid out, of which the first page has fifty
  table.tBodies[0].innerHTML = text;
}
async function grids(place) {
  for (const table of place.querySelectorAll("table.grid:not(.dataTable)")) {
    const DataTable = await dataTables();
    if (!filled.has(table)) filled.set(table, fill(table));
    await filled.get(table);
    if (!table.classList.contains("dataTable")) madeGrids.push(new DataTable(table, { order: [], pageLength: 50, autoWidth: false, layout: { topStart: "search", topEnd: { buttons: [{ extend: "csv", text: "CSV", title: table.dataset.name }] },
      bottomStart: "info", bottomEnd: "paging" } }));
    table.hidden = false;
  }
}

// Which view is shown: #NAME, #cell/PATH, or the one that holds an element.
async function show() {
  const place = decodeURIComponent(location.hash.slice(1)), views = [...document.querySelectorAll(".view")];
  if (!views.length) return;
  const isCell = place.startsWith("cell/"), target = isCell ? byId("cell") : byId(place) ?? views[0];
  const view = target.closest(".view") ?? views[0];
  for (const one of views) one.classList.toggle("current", one === view);
  for (const link of document.querySelectorAll("nav a")) {
    link.toggleAttribute("aria-current", link.hash === "#" + (isCell ? "cells" : view.id));
  }
  byId("cell").hidden = !isCell;
  for (let open = target.closest("details"); open; open = open.parentElement.closest("details")) open.open = true;
  if (isCell) await showCell(place.slice(5));
  else if (target !== view) target.scrollIntoView();
  else requestAnimationFrame(() => scrollTo(0, 0));
  await grids(view);
  if (view.id === "cells") await explore();
  count();
}
async function showCell(path) {
  const place = byId("cell"), { pack } = await explorerData();
  place.textContent = "";
  if (!(path in pack)) return place.append("This page has no such cell.");
  place.innerHTML = JSON.parse(await unpacked("cells-" + pack[path]))[path];
  scrollTo(0, 0);
  readings(place);
}

form?.addEventListener("change", filter);
form?.addEventListener("reset", () => setTimeout(filter));
byId("metric")?.addEventListener("change", explore);
byId("theme").addEventListener("click", () => {
  const dark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.style.colorScheme = dark ? "light" : "dark";
  redraw();
});
function redraw() {
  const dark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.classList.toggle("dark", dark);
  if (drawn) draw(...drawn);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
for (const paper of document.querySelectorAll(".paper")) paper.addEventListener("dblclick", () => paper.classList.toggle("large"));
addEventListener("hashchange", show);
redraw();
show();
readings(document);
