// Views, a filter, and what is unpacked when it is shown.
const root = document.documentElement, byId = id => document.getElementById(id);

// A pack is gzip in base64; nothing is fetched.
async function unpacked(id) {
  const letters = atob(byId("pack-" + id).textContent), bytes = new Uint8Array(letters.length);
  for (let n = 0; n < letters.length; n++) bytes[n] = letters.charCodeAt(n);  // Uint8Array.from takes far longer
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
let places;  // the pack of each cell

// The filter leaves lines and findings that have its text.
const wanted = document.querySelector("#filter input");
function filter() {
  const text = wanted?.value.trim().toLowerCase() ?? "";
  for (const one of document.querySelectorAll("tbody tr, article.finding")) {
    one.toggleAttribute("data-filtered", !one.textContent.toLowerCase().includes(text));
  }
}

async function fill(view) {
  for (const lines of view.querySelectorAll("[data-pack]")) {
    const text = JSON.parse(await unpacked(lines.dataset.pack));
    lines.removeAttribute("data-pack");
    lines.innerHTML = text;
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
  await fill(view);
  filter();
}
async function showCell(path) {
  const place = byId("cell"), pack = places ??= JSON.parse(await unpacked("places"));
  place.textContent = "";
  if (!(path in pack)) return place.append("This page has no such cell.");
  place.innerHTML = JSON.parse(await unpacked("cells-" + pack[path]))[path];
  scrollTo(0, 0);
  readings(place);
}

wanted?.addEventListener("input", filter);
byId("theme").addEventListener("click", () => {
  const dark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.style.colorScheme = dark ? "light" : "dark";
  redraw();
});
function redraw() {
  const dark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.classList.toggle("dark", dark);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
for (const paper of document.querySelectorAll(".paper")) paper.addEventListener("dblclick", () => paper.classList.toggle("large"));
addEventListener("hashchange", show);
redraw();
show();
readings(document);
