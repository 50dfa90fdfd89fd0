// Draws the pictures from the data and the specifications on the page, by Vega, and lets tables sort.
"use strict";

function contentOf(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// In a specification "--ink" is that colour of page.css, "$models" the value of that name, "$x.type" a part of it.
function resolved(value, values) {
  if (typeof value === "string" && value.startsWith("--")) return colour(value.slice(2));
  if (typeof value === "string" && value.startsWith("$")) return value.slice(1).split(".").reduce((at, key) => at[key], values);
  if (Array.isArray(value)) return value.map((inner) => resolved(inner, values));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner, values)]));
}

// Rows are arrays in the page; Vega wants objects.
function rowsOf(table) {
  return table.rows.map((row) => Object.fromEntries(table.fields.map((field, i) => [field, row[i]])));
}

// Puts tables into the data, and values into the signals, of the same names.
function filled(specification, data) {
  for (const source of specification.data) {
    if (data.tables[source.name]) source.values = rowsOf(data.tables[source.name]);
  }
  for (const signal of specification.signals) {
    if (signal.name in data.values) signal.value = data.values[signal.name];
    if (signal.bind?.options && !("value" in signal)) signal.value = signal.bind.options[0];
  }
  return specification;
}

function config() {
  const text = { labelColor: colour("faint"), titleColor: colour("faint"), labelFontSize: 11, titleFontSize: 11 };
  return {
    background: null,
    font: "system-ui, sans-serif",
    axis: { ...text, titleFontWeight: "normal", domainColor: colour("line"), tickColor: colour("line"), gridColor: colour("grid") },
    legend: { ...text, titleFontWeight: "normal", symbolType: "square", symbolSize: 90 },
    title: { color: colour("ink") },
  };
}

const hover = document.getElementById("hover");

function showValues(handler, event, item, value) {
  hover.hidden = value === null || value === undefined || value === "";
  if (hover.hidden) return;
  const list = document.createElement("dl");
  for (const [name, text] of Object.entries(value)) {
    list.append(Object.assign(document.createElement("dt"), { textContent: name }));
    list.append(Object.assign(document.createElement("dd"), { textContent: text }));
  }
  hover.replaceChildren(list);
  const right = event.clientX + 14 + hover.offsetWidth < innerWidth;
  hover.style.left = Math.max(0, right ? event.clientX + 14 : event.clientX - 14 - hover.offsetWidth) + "px";
  hover.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - hover.offsetHeight)) + "px";
}

const MANY_MARKS = 2500; // above this a canvas is faster than SVG
const views = new Map(); // by element

function draw(element) {
  const name = element.dataset.picture;
  const data = contentOf("data-" + name);
  const rows = Object.values(data.tables).reduce((sum, table) => sum + table.rows.length, 0);
  const specification = filled(resolved(contentOf("drawing-" + element.dataset.drawing), data.values), data);
  specification.width = element.clientWidth;
  const figure = element.closest("figure");
  const view = new vega["vega-view"].View(vega["vega-parser"].parse(specification, config()), {
    renderer: rows > MANY_MARKS ? "canvas" : "svg",
    container: element,
    hover: true,
    tooltip: showValues,
  });
  const old = views.get(element);
  if (old) {
    for (const signal of specification.signals) if (signal.bind) view.signal(signal.name, old.signal(signal.name));
    old.finalize();
  }
  view.description(figure.querySelector("h2").textContent + ". " + figure.querySelector("figcaption").textContent);
  views.set(element, view.run());
}

function drawAll() {
  for (const element of document.querySelectorAll(".drawing")) {
    if (views.has(element)) element.replaceChildren();
    draw(element);
  }
}

function start() {
  const { transforms } = vega["vega-dataflow"];
  for (const module of ["transforms", "view-transforms", "encode", "label"]) Object.assign(transforms, vega["vega-" + module]);
  drawAll();
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", drawAll);
  addEventListener("resize", () => {
    for (const [element, view] of views) view.width(element.clientWidth).run();
  });
}

// "12.3 ms" is 0.0123, "-" comes last, and words are compared as words.
const UNITS = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15, "%": 1 };

function sortValue(text) {
  const match = /^([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(\S*)/.exec(text);
  if (!match) return text === "-" ? Infinity : text;
  return Number(match[1]) * (UNITS[match[2]] ?? 1);
}

function sortBy(table, column, descending) {
  const rows = [...table.tBodies[0].rows].map((row) => [sortValue(row.cells[column].textContent.trim()), row]);
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number" ? (a < b ? -1 : a > b ? 1 : 0) : String(a).localeCompare(String(b));
  rows.sort(([a], [b]) => (descending ? order(b, a) : order(a, b)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

function letSort(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.classList.contains("b")) return;
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: head.textContent });
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") !== "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortBy(table, column, descending);
    });
    head.replaceChildren(button);
  });
}

for (const table of document.querySelectorAll("table.sorts")) letSort(table);
if (typeof vega !== "undefined") start();
document.documentElement.dataset.drawn = views.size;
