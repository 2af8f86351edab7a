"use strict";
// The viewer of a report: reads the page's data block, draws, answers. What a dump says reaches the
// page as text nodes and attributes, never as markup.

const KIB = 1024;
const ROW_HEIGHT = 46;
const CATEGORIES = {
  parameter: "arguments", output: "results", activation: "activations", gradient: "gradients and backward pass",
  collective: "collectives", constant: "constants", temporary: "other temporaries",
};
const SPLIT = [
  ["parameters_bytes", "parameter", "arguments"], ["outputs_bytes", "output", "results"],
  ["constants_bytes", "constant", "constants"], ["temporaries_bytes", "activation", "temporaries at the peak"],
  ["thread_local_bytes", "constant", "thread-local"], ["fragmentation_bytes", "gap", "fragmentation"],
  ["sparsecore_bytes", "collective", "SparseCores"],
];
const VERDICTS = {
  "does-not-fit": "DOES NOT FIT", fits: "fits", "fits-at-least": "fits as far as is known",
  "no-limit": "no limit", unknown: "capacity not known",
};

let data = null;
const app = document.getElementById("app");

// ---- small tools ----

/** An element: attributes (functions become listeners), then children; strings become text. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function unitOf(bytes) {
  if (bytes < KIB) return ["B", 1];
  if (bytes < KIB ** 2) return ["KiB", KIB];
  return bytes < KIB ** 3 ? ["MiB", KIB ** 2] : ["GiB", KIB ** 3];
}

/** `15.75 GiB`. */
function size(bytes) {
  const [unit, factor] = unitOf(bytes);
  return factor === 1 ? `${bytes} B` : `${(bytes / factor).toFixed(2)} ${unit}`;
}

/** The same as XLA's messages round it: what is below a thousandth of the unit is cut off. */
function sizeAsXla(bytes) {
  const [unit, factor] = unitOf(bytes);
  return factor === 1 ? `${bytes} B` : `${(Math.floor(bytes / (factor / KIB)) / KIB).toFixed(2)} ${unit}`;
}

function share(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  return percent >= 9.95 || part === 0 ? `${percent.toFixed(0)}%` : `${percent.toFixed(1)}%`;
}

function place(source) {
  return source ? `${source.file.split("/").pop()}:${source.line}` : "";
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** The last entry whose point is at or before a point; -1 where there is none. */
function indexAt(list, point, of) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) <= point) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function liveAt(curve, point) {
  const at = indexAt(curve, point, (live) => live.point);
  return at < 0 ? 0 : curve[at].bytes;
}

const colours = new Map();
/** A colour of the style sheet as the page has it now. */
function colour(name) {
  if (!colours.has(name)) {
    const probe = h("span", { style: { color: `var(--${name})`, display: "none" } });
    document.body.append(probe);
    colours.set(name, getComputedStyle(probe).color);
    probe.remove();
  }
  return colours.get(name);
}

/** A canvas as wide as its place, at the screen's resolution. */
function prepare(canvas, height) {
  const width = Math.max(200, canvas.parentElement.clientWidth - 2);
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
}

function splitBar(hbm, thin) {
  const whole = Math.max(hbm.required_bytes, hbm.total_bytes, 1);
  const parts = SPLIT.filter(([field]) => hbm[field] > 0);
  const words = parts.map(([field, , label]) => `${label} ${size(hbm[field])}`).join(", ");
  const bar = h("div", { class: thin ? "split thin" : "split", role: "img", "aria-label": words, title: words });
  for (const [field, name] of parts) {
    bar.append(h("i", { style: { background: `var(--${name})`, width: `${(100 * hbm[field]) / whole}%` } }));
  }
  return bar;
}

// ---- start page ----

function findingsOf(module) {
  return data.report.findings.map((finding, at) => ({ finding, view: data.findings[at] }))
    .filter(({ view }) => view.module === module);
}

function levels(module) {
  const found = findingsOf(module);
  return ["error", "warn", "note"].map((level) => {
    const count = found.filter(({ finding }) => finding.level === level).length;
    return count ? h("span", { class: `level ${level}` }, `${count} ${level}`) : null;
  });
}

function startPage() {
  const rows = data.report.modules.map((module, at) => {
    const { hbm } = module;
    return h("tr", {},
      h("td", {}, h("a", { href: `#${at}` }, module.name), h("div", { class: "quiet small" }, machine(module))),
      h("td", { class: module.verdict }, VERDICTS[module.verdict]),
      h("td", { class: "number" }, sizeAsXla(hbm.required_bytes)),
      h("td", { class: "number wide" }, hbm.available_bytes === null ? "" : sizeAsXla(hbm.available_bytes)),
      h("td", { class: "number wide" }, hbm.peak_live_bytes === null ? "" : size(hbm.peak_live_bytes)),
      h("td", { class: "wide" }, splitBar(hbm, true)),
      h("td", {}, levels(at)));
  });
  const heads = [["module"], ["verdict"], ["needs", "number"], ["available", "number wide"],
    ["alive at the peak", "number wide"], ["split", "wide"], ["findings"]];
  return [
    h("section", {}, h("h2", {}, `${plural(rows.length, "module")}, the worst first`),
      h("div", { class: "scroll" }, h("table", {},
        h("thead", {}, h("tr", {}, heads.map(([word, style]) => h("th", { class: style || null, scope: "col" }, word)))),
        h("tbody", {}, rows)))),
    diagnostics(),
  ];
}

function machine(module) {
  const mesh = module.mesh.map((axis) => `"${axis.name}"=${axis.size}`).join(" x ");
  const chip = [module.backend.toUpperCase(), module.chip].filter(Boolean).join(" ");
  return [chip, plural(module.devices, "device"), mesh && `mesh ${mesh}`].filter(Boolean).join(", ");
}

function diagnostics() {
  const all = data.report.diagnostics;
  if (all.length === 0) return null;
  return h("section", {}, h("h2", {}, "About the input"),
    h("ul", {}, all.map((said) => h("li", {}, `${said.file}: ${said.message}`, said.help ? ` (${said.help})` : ""))));
}

// ---- a module ----

/** What is shown of a module, and how. */
class ModulePage {
  constructor(at) {
    this.at = at;
    this.module = data.report.modules[at];
    this.view = data.modules[at];
    this.points = this.view.steps.points;
    this.peak = this.module.peak ? this.module.peak.point : null;
    this.point = this.peak;
    this.space = 0;
    this.found = findingsOf(at);
    this.finding = null;
    this.sort = { key: "bytes", down: true };
    this.filter = "";
    this.path = null;
    this.hidden = new Set();
    this.grouped = false;
    this.selected = null;
    this.showUnpadded = true;
    this.tree = "op_name";
    this.buffers = this.module.buffers.map((buffer, id) => ({ ...buffer, id, view: this.view.buffers[id] }));
    for (const buffer of this.buffers) {
      buffer.lost = Math.max(0, buffer.bytes - buffer.unpadded_bytes);
      buffer.search = [buffer.instruction, buffer.op_name, buffer.shape, buffer.source && buffer.source.file,
        place(buffer.source), buffer.source && buffer.source.function].join("\n").toLowerCase();
    }
    this.bases = this.allocationBases();
  }

  /** Where each allocation starts when those of one memory space stand on one another. */
  allocationBases() {
    const ends = new Map();
    return this.view.allocations.map(({ memory_space: space, bytes }) => {
      const base = ends.get(space) || 0;
      ends.set(space, base + bytes);
      return base;
    });
  }

  isAliveAt(buffer, point) {
    if (buffer.memory_space !== this.space || buffer.bytes === 0) return false;
    if (point === null) return true;
    if (buffer.kind === "thread-local") return false;
    if (buffer.start === undefined || buffer.start === null) return true;
    if (buffer.view.ranges) return buffer.view.ranges.some(([start, end]) => start <= point && point <= end);
    return buffer.start <= point && point <= buffer.end;
  }

  /** The curve of the memory space that is looked at. */
  curve() {
    return this.space === 0 ? this.module.live : this.sumOfBuffers();
  }

  /** Other spaces have no curve in the report: what their buffers' live ranges sum to. */
  sumOfBuffers() {
    const changes = new Map([[0, 0]]);
    const add = (point, bytes) => changes.set(point, (changes.get(point) || 0) + bytes);
    for (const buffer of this.buffers) {
      if (buffer.memory_space !== this.space || buffer.start === null || buffer.start === undefined) continue;
      for (const [start, end] of buffer.view.ranges || [[buffer.start, buffer.end]]) {
        add(start, buffer.bytes);
        add(end + 1, -buffer.bytes);
      }
    }
    let bytes = 0;
    const points = [...changes.entries()].sort((a, b) => a[0] - b[0]);
    return points.map(([point, change]) => ({ point, bytes: (bytes += change) })).filter((live) => live.point < this.points);
  }

  step(point) {
    const { at, instructions, sources, lines } = this.view.steps;
    const index = at ? indexAt(at, point, (known) => known) : point;
    const isOther = at && at[index] !== point;
    return { name: (isOther ? "near " : "") + (instructions[index] || ""), source: lines[sources[index]] || "" };
  }

  stepWords(point) {
    const { name, source } = this.step(point);
    return [`step ${point} of ${this.points}`, name, source].filter(Boolean).join(" · ");
  }

  chosenWhatIf() {
    return this.finding === null || this.space !== 0 ? null : this.found[this.finding].view.what_if;
  }

  /** Buffers of the table: alive at the point, and what filters leave of them. */
  rows() {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const only = this.finding === null ? null : new Set(this.found[this.finding].view.buffers);
    const limited = only && only.size > 0 ? only : null;
    let rows = this.alive().filter((buffer) =>
      (!limited || limited.has(buffer.id)) && !this.hidden.has(buffer.view.category)
      && (!this.path || this.isBelow(buffer)) && words.every((word) => buffer.search.includes(word)));
    if (this.grouped) rows = groupEqual(rows);
    const { key, down } = this.sort;
    const of = {
      bytes: (b) => b.bytes, unpadded: (b) => b.unpadded_bytes, lost: (b) => b.lost,
      order: (b) => b.start ?? -1, kind: (b) => b.view.category, what: (b) => b.op_name || b.instruction,
      source: (b) => place(b.source),
    }[key];
    return rows.sort((a, b) => {
      const [x, y] = [of(a), of(b)];
      return ((x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1)) || b.bytes - a.bytes || a.id - b.id;
    });
  }

  alive() {
    return this.buffers.filter((buffer) => this.isAliveAt(buffer, this.point));
  }

  isBelow(buffer) {
    const parts = treePath(buffer, this.path.tree);
    return this.path.parts.every((part, at) => parts[at] === part);
  }

  // Parts of the page.

  render() {
    this.chart = new Chart(this);
    this.map = new AllocationMap(this);
    this.table = new Table(this);
    this.card = h("aside", { class: "card", "aria-label": "Buffer", "aria-live": "polite" });
    this.treemap = h("div", { class: "treemap", role: "group", "aria-label": "Treemap of what is alive" });
    this.pointWords = h("p", { class: "said", role: "status", "aria-live": "polite" });
    const sections = [this.headline(), this.wayOut(), this.findingList(), this.chart.element, this.map.element,
      this.aliveSection(), this.treeSection(), this.parameters(), this.kernels(), this.facts(), diagnostics()];
    return sections;
  }

  /** Draws what depends on the state again. */
  update() {
    this.chart.draw();
    this.map.draw();
    this.table.update();
    this.drawCard();
    this.drawTree();
    const hasPoint = this.point !== null;
    this.pointWords.replaceChildren(hasPoint
      ? `Alive at ${this.stepWords(this.point)}: ${size(liveAt(this.curve(), this.point))}`
        + (this.point === this.peak && this.space === 0 ? ", the peak" : "")
      : "The program has no schedule: all buffers are listed.");
    this.findingElements.forEach((element, at) => {
      element.classList.toggle("chosen", at === this.finding);
      const button = element.querySelector("button");
      if (button) button.setAttribute("aria-pressed", String(at === this.finding));
    });
  }

  movePoint(point) {
    if (this.points === 0) return;
    this.point = Math.min(this.points - 1, Math.max(0, Math.round(point)));
    this.update();
  }

  select(id) {
    this.selected = id;
    this.update();
  }

  chooseFinding(at) {
    this.finding = this.finding === at ? null : at;
    if (this.finding !== null) {
      this.space = 0;
      this.chart.space.value = "0";
    }
    this.update();
    if (this.finding !== null) this.chart.element.scrollIntoView({ block: "nearest" });
  }

  headline() {
    const { hbm } = this.module;
    const available = hbm.available_bytes;
    const over = available === null ? 0 : hbm.required_bytes - available;
    const words = available === null
      ? `${sizeAsXla(hbm.required_bytes)} needed`
      : over > 0
        ? `${sizeAsXla(hbm.required_bytes)} needed, ${sizeAsXla(available)} available: ${sizeAsXla(over)} too much`
        : `${sizeAsXla(hbm.required_bytes)} of ${sizeAsXla(available)} (${share(hbm.required_bytes, available)})`;
    const parts = SPLIT.filter(([field]) => hbm[field] > 0).map(([field, name, label]) =>
      h("li", {}, h("span", { class: "swatch", style: { background: `var(--${name})` } }),
        `${label} `, h("b", {}, size(hbm[field])), ` ${share(hbm[field], hbm.total_bytes)}`));
    const quality = this.module.figures === "exact" ? null
      : h("p", { class: "notice" }, `Figures are ${this.module.figures === "estimate" ? "an estimate" : "a lower bound"}. `,
        (this.module.caveats || []).join("; "));
    const left = this.view.left_out.length ? h("p", { class: "notice", id: "left-out" }, `Left out: ${this.view.left_out.join("; ")}.`) : null;
    const padding = this.module.padding_bytes;
    return h("section", { "aria-label": "Headline" },
      h("p", { class: `headline ${this.module.verdict}`, id: "headline" }, h("b", {}, VERDICTS[this.module.verdict]), words),
      h("p", { class: "quiet" }, machine(this.module), hbm.peak_live_bytes === null ? "" : ` · peak `,
        hbm.peak_live_bytes === null ? "" : h("b", { id: "peak" }, size(hbm.peak_live_bytes)),
        padding > 0 ? ` · lost to padding at the peak ${size(padding)}` : "",
        hbm.aliased_bytes > 0 ? ` · donated ${size(hbm.aliased_bytes)}` : ""),
      splitBar(hbm, false), h("ul", { class: "legend small" }, parts), quality, left);
  }

  /** Remedies in the order to try, those before done. */
  wayOut() {
    const way = this.module.way_out;
    if (!way || way.paths.length === 0) return null;
    const step = (step) => h("li", {}, h("div", { class: "spread" },
      h("span", {}, step.action, step.rule ? h("span", { class: "quiet" }, ` (${step.rule})`) : ""),
      h("span", { class: "saving" }, `${sizeAsXla(step.before_bytes)} → ${step.basis === "at-most" ? "at most " : ""}${sizeAsXla(step.required_bytes_after)}`,
        step.basis === "even-split" ? " (an even split)" : "",
        step.recomputed_bytes ? ` (+${size(step.recomputed_bytes)} at most to recompute)` : "")));
    return h("section", {}, h("h2", {}, "The way out"), way.paths.map((path, at) => [
      h("p", {}, at > 0 ? "Or: " : "", path.fits ? "with this it fits" : "with this it still does not fit"),
      h("ol", { class: "path" }, path.steps.map(step))]));
  }

  findingList() {
    this.findingElements = this.found.map(({ finding, view }, at) => this.findingElement(finding, view, at));
    if (this.found.length === 0) return h("section", {}, h("h2", {}, "Findings"), h("p", { class: "quiet" }, "None."));
    const notes = this.findingElements.filter((_, at) => this.found[at].finding.level === "note");
    const first = this.findingElements.filter((element) => !notes.includes(element));
    const folded = notes.length > 0 && first.length > 0
      ? h("details", {}, h("summary", {}, plural(notes.length, "note")), notes) : notes;
    return h("section", {}, h("h2", {}, "Findings"), first, folded);
  }

  findingElement(finding, view, at) {
    const remedies = finding.remedies.length ? finding.remedies : finding.help ? [{ action: finding.help, required_bytes_after: null }] : [];
    const priced = (remedy) => remedy.required_bytes_after === null ? null
      : h("span", { class: "saving" }, `${sizeAsXla(finding.required_bytes)} → ${remedy.at_most ? "at most " : ""}${sizeAsXla(remedy.required_bytes_after)}`,
        remedy.recomputed_bytes ? ` (+${size(remedy.recomputed_bytes)} at most to recompute)` : "");
    const shows = [view.what_if && "what-if curve", view.buffers.length && plural(view.buffers.length, "buffer")].filter(Boolean);
    return h("article", { class: `finding ${finding.level}`, id: `finding-${at}` },
      h("div", { class: "spread" },
        h("div", {}, h("span", { class: `level ${finding.level}` }, finding.level), h("b", {}, finding.rule), ` ${finding.message}`),
        h("span", { class: "mono" }, place(finding.source))),
      finding.details && finding.details.length ? h("pre", {}, finding.details.join("\n")) : null,
      remedies.map((remedy) => h("div", { class: "spread" }, h("span", {}, h("span", { class: "quiet" }, "try "), remedy.action), priced(remedy))),
      finding.also_seen ? h("p", { class: "quiet small" }, `also seen here: ${finding.also_seen.join(", ")}`) : null,
      shows.length ? h("div", { class: "bar-row" },
        h("button", { type: "button", "aria-pressed": "false", click: () => this.chooseFinding(at) }, `Show ${shows.join(" and ")}`)) : null);
  }

  aliveSection() {
    const filter = h("input", { type: "search", id: "filter", placeholder: "Filter: name, op_name, file, shape",
      "aria-label": "Filter buffers", size: "30",
      input: (event) => { this.filter = event.target.value; this.table.update(); } });
    const group = h("label", {}, h("input", { type: "checkbox", id: "group",
      change: (event) => { this.grouped = event.target.checked; this.table.update(); } }), "group equal");
    const present = new Set(this.buffers.filter((buffer) => buffer.bytes > 0).map((buffer) => buffer.view.category));
    const toggles = Object.entries(CATEGORIES).filter(([name]) => present.has(name)).map(([name, label]) =>
      h("button", { type: "button", "aria-pressed": "true", "data-category": name, click: (event) => {
        const isShown = this.hidden.delete(name) || !this.hidden.add(name);
        event.currentTarget.setAttribute("aria-pressed", String(isShown));
        this.update();
      } }, h("span", { class: "swatch", style: { background: `var(--${name})` } }), label));
    this.chips = h("span", {});
    return h("section", { id: "alive" }, h("h2", {}, "Buffers alive"), this.pointWords,
      h("div", { class: "bar-row" }, filter, group, this.chips),
      h("div", { class: "bar-row", role: "group", "aria-label": "Categories shown" }, toggles),
      h("div", { class: "columns" }, this.table.element, this.card));
  }

  drawCard() {
    const buffer = this.selected === null ? null : this.buffers[this.selected];
    if (!buffer) {
      this.card.replaceChildren(h("p", { class: "quiet" }, "Choose a buffer in the table, the map or the treemap."));
      return;
    }
    const { view } = buffer;
    const pair = (name, value) => value === null || value === "" || value === undefined ? [] : [h("dt", {}, name), h("dd", {}, value)];
    const list = (names, more) => names && names.length ? h("span", { class: "mono" }, names.join(", "), more ? ` and ${more} more` : "") : null;
    const lost = buffer.lost > 0 ? `${size(buffer.bytes)}, ${size(buffer.unpadded_bytes)} without padding (${(buffer.bytes / Math.max(1, buffer.unpadded_bytes)).toFixed(1)} times as much)` : size(buffer.bytes);
    const live = buffer.start === undefined || buffer.start === null ? "not known"
      : view.ranges ? `steps ${view.ranges.map(([a, b]) => `${a}–${b}`).slice(0, 6).join(", ")}` : `steps ${buffer.start}–${buffer.end} of ${this.points}`;
    const stack = (buffer.stack || []).map((frame) => h("div", { class: "mono" }, `${frame.file}:${frame.line} ${frame.function || ""}`));
    this.card.replaceChildren(
      h("h3", { id: "card-title" }, nameOf(buffer)),
      h("div", {}, h("span", { class: "swatch", style: { background: `var(--${view.category})` } }), CATEGORIES[view.category],
        buffer.is_donated ? ", donated" : "", buffer.parameter !== undefined ? `, parameter ${buffer.parameter}` : ""),
      h("dl", {},
        pair("size", lost), pair("alive", live), pair("op_name", buffer.op_name), pair("line", place(buffer.source)),
        pair("shape", h("span", { class: "mono" }, buffer.shape)), pair("layout", view.layout || ""),
        pair("memory", `${this.spaceName(buffer.memory_space)}, allocation ${buffer.allocation}` + (buffer.offset_bytes === null || buffer.offset_bytes === undefined ? "" : `, offset ${buffer.offset_bytes}`)),
        pair("values", buffer.values > 1 ? `${buffer.values} values share it` : ""),
        pair("aliases", list(view.aliases)), pair("users", list(view.users, view.more_users)),
        pair("stack", stack.length ? h("details", {}, h("summary", {}, plural(stack.length, "frame")), stack) : ""),
        pair("HLO", view.text ? h("span", { class: "mono", id: "hlo" }, view.text) : ""),
        pair("", view.line ? `line ${view.line} of ${this.module.file.split("/").pop()}` : "")));
  }

  spaceName(space) {
    const known = this.module.spaces.find((other) => other.memory_space === space);
    return space === 0 ? this.module.memory : known ? known.name : `memory space ${space}`;
  }

  treeSection() {
    const by = (tree, label) => h("button", { type: "button", "aria-pressed": String(this.tree === tree), click: (event) => {
      this.tree = tree;
      for (const other of event.currentTarget.parentElement.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      this.drawTree();
    } }, label);
    return h("section", {}, h("div", { class: "bar-row" }, h("h2", {}, "What holds it"),
      h("span", { role: "group", "aria-label": "Tree by" }, by("op_name", "by op_name"), " ", by("source", "by source line"))),
    this.treemap, h("p", { class: "quiet small no-print" }, "Choose a part to filter the table above by it."));
  }

  drawTree() {
    const alive = this.alive().filter((buffer) => !this.hidden.has(buffer.view.category));
    drawTreemap(this.treemap, treeOf(alive, this.tree), (parts) => {
      this.path = { tree: this.tree, parts };
      this.table.update();
      document.getElementById("alive").scrollIntoView({ block: "nearest" });
    });
  }

  parameters() {
    const all = this.module.parameters;
    if (all.length === 0) return null;
    const MOST = 200;
    const row = (parameter) => h("tr", {}, h("td", { class: "number" }, size(parameter.bytes)),
      h("td", {}, parameter.path), h("td", { class: "mono wide" }, parameter.shape),
      h("td", {}, parameter.is_donated ? "donated" : ""), h("td", { class: "mono" }, parameter.sharding || ""));
    const sorted = [...all].sort((a, b) => b.bytes - a.bytes || a.number - b.number);
    const body = h("tbody", {}, sorted.slice(0, MOST).map(row));
    const more = all.length > MOST ? h("button", { type: "button", click: (event) => {
      body.append(...sorted.slice(MOST).map(row));
      event.currentTarget.remove();
    } }, `Show ${all.length - MOST} more`) : null;
    const heads = [["bytes", "number"], ["argument"], ["shape on one device", "wide"], ["donation"], ["sharding"]];
    return h("section", {}, h("details", { open: all.length <= 12 || null },
      h("summary", {}, h("b", {}, `${plural(all.length, "parameter")}, on one device`)),
      h("div", { class: "scroll" }, h("table", { id: "parameters" },
        h("thead", {}, h("tr", {}, heads.map(([word, style]) => h("th", { class: style || null, scope: "col" }, word)))), body)), more));
  }

  kernels() {
    const all = this.module.kernels;
    if (all.length === 0) return null;
    const figure = (bytes) => (bytes === null || bytes === undefined ? "" : size(bytes));
    return h("section", {}, h("h2", {}, "Kernels: scoped VMEM"), h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, ["kernel", "needs at least", "may use", "recorded by XLA", "line"].map((word) => h("th", { scope: "col" }, word)))),
      h("tbody", {}, all.map((kernel) => h("tr", {}, h("td", { class: "mono" }, kernel.instruction),
        h("td", {}, figure(kernel.estimated_vmem_bytes)), h("td", {}, figure(kernel.vmem_limit_bytes)),
        h("td", {}, figure(kernel.recorded_vmem_bytes)), h("td", {}, place(kernel.source))))))));
  }

  facts() {
    const pair = (name, value) => value ? [h("dt", {}, name), h("dd", {}, value)] : [];
    return h("section", {}, h("h2", {}, "Where the figures come from"), h("dl", {},
      pair("text", this.module.file), pair("stage", this.module.stage), pair("compiler", this.module.compiler),
      pair("spaces", this.module.spaces.map((space) => `${space.name} ${size(space.total_bytes)}`).join(", "))));
  }
}

function groupEqual(rows) {
  const groups = new Map();
  for (const buffer of rows) {
    const key = [buffer.shape, buffer.op_name, place(buffer.source), buffer.bytes, buffer.view.category].join("\u0000");
    const group = groups.get(key);
    if (!group) groups.set(key, { ...buffer, count: 1 });
    else {
      group.count += 1;
      for (const field of ["bytes", "unpadded_bytes", "lost"]) group[field] += buffer[field];
      group.start = Math.min(group.start, buffer.start);
      group.end = Math.max(group.end, buffer.end);
    }
  }
  return [...groups.values()];
}

// ---- the curve ----

class Chart {
  constructor(page) {
    this.page = page;
    this.hover = null;
    this.canvas = h("canvas", { tabindex: "0", role: "slider", id: "curve", "aria-label": "Memory over the program: program point" });
    this.tip = h("div", { class: "tip", hidden: "" });
    this.said = h("p", { class: "said small quiet", id: "curve-said" });
    const spaces = [[0, page.module.memory], ...page.module.spaces.map((space) => [space.memory_space, space.name])];
    this.space = h("select", { "aria-label": "Memory space", id: "space", change: (event) => {
      page.space = Number(event.target.value);
      page.map.reset();
      page.update();
    } }, spaces.map(([number, name]) => h("option", { value: number }, name)));
    const unpadded = h("label", {}, h("input", { type: "checkbox", checked: "", change: (event) => {
      page.showUnpadded = event.target.checked;
      this.draw();
    } }), "without padding");
    const to = (label, title, point) => h("button", { type: "button", "aria-label": title, title, click: () => page.movePoint(point()) }, label);
    this.element = h("section", {}, h("h2", {}, "Memory over the program"),
      h("div", { class: "bar-row" }, this.space, unpadded,
        to("◀", "One step back", () => page.point - 1), to("▶", "One step on", () => page.point + 1),
        h("button", { type: "button", id: "to-peak", click: () => page.movePoint(page.peak) }, "to the peak")),
      h("div", { class: "plot" }, this.canvas, this.tip), this.said);
    if (page.points === 0) this.element.replaceChildren(h("h2", {}, "Memory over the program"), h("p", { class: "quiet" }, "Not known: the text has no schedule."));
    this.listen();
  }

  listen() {
    const { canvas, page } = this;
    const pointOf = (event) => {
      const box = canvas.getBoundingClientRect();
      return Math.min(page.points - 1, Math.max(0, Math.floor(((event.clientX - box.left - this.left) / this.plotWidth) * page.points)));
    };
    canvas.addEventListener("pointermove", (event) => { this.hover = pointOf(event); this.draw(); this.showTip(event); });
    canvas.addEventListener("pointerleave", () => { this.hover = null; this.tip.hidden = true; this.draw(); });
    canvas.addEventListener("click", (event) => page.movePoint(pointOf(event)));
    canvas.addEventListener("keydown", (event) => {
      const page5 = Math.max(1, Math.round(page.points / 20));
      const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: page5, PageDown: -page5 };
      const jumps = { Home: 0, End: page.points - 1, p: page.peak };
      if (event.key in moves) page.movePoint(page.point + moves[event.key]);
      else if (event.key in jumps) page.movePoint(jumps[event.key]);
      else return;
      event.preventDefault();
    });
  }

  showTip(event) {
    const { page, tip } = this;
    const bytes = liveAt(page.curve(), this.hover);
    tip.textContent = `${page.stepWords(this.hover)} · ${size(bytes)}`;
    tip.hidden = false;
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    tip.style.left = `${Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${Math.max(4, event.clientY - box.top - 44)}px`;
  }

  draw() {
    const { page } = this;
    if (page.points === 0 || !this.canvas.isConnected) return;
    const { context, width, height } = prepare(this.canvas, 240);
    const curve = page.curve();
    const whatIf = page.chosenWhatIf();
    const capacity = page.space === 0 ? page.module.hbm.available_bytes : null;
    let top = 1;
    for (const live of curve) top = Math.max(top, live.bytes);
    if (whatIf) for (const live of whatIf.live) top = Math.max(top, live.bytes);
    const shown = capacity !== null && capacity / 2 <= top ? capacity : null;
    top = Math.max(top, shown || 0) * 1.08;
    this.left = 74;
    this.plotWidth = width - this.left - 8;
    const plotHeight = height - 34;
    const x = (point) => this.left + (point / page.points) * this.plotWidth;
    const y = (bytes) => 10 + (1 - bytes / top) * plotHeight;
    this.axes(context, x, y, top, width);
    this.area(context, curve, x, y);
    if (page.showUnpadded && page.space === 0) this.line(context, page.view.unpadded, x, y, colour("quiet"), [4, 3], 1.5);
    if (whatIf) this.line(context, whatIf.live, x, y, colour("what-if"), [], 3);
    if (shown !== null) this.capacity(context, y(shown), width, shown);
    this.marks(context, x, y, height, curve);
    this.describe(curve, whatIf);
  }

  axes(context, x, y, top, width) {
    const [unit, factor] = unitOf(top);
    const raw = top / factor / 4;
    const power = 10 ** Math.floor(Math.log10(raw));
    const tick = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= raw) || power;
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    context.textAlign = "right";
    for (let at = 0; at * factor <= top; at += tick) {
      const line = Math.round(y(at * factor)) + 0.5;
      context.beginPath();
      context.moveTo(this.left, line);
      context.lineTo(width - 8, line);
      context.stroke();
      context.fillText(`${Number(at.toPrecision(4))} ${unit}`, this.left - 6, line + 4);
    }
    context.textAlign = "left";
  }

  path(context, curve, x, y) {
    context.beginPath();
    curve.forEach((live, at) => {
      const end = at + 1 < curve.length ? curve[at + 1].point : this.page.points;
      if (at === 0) context.moveTo(x(live.point), y(live.bytes));
      context.lineTo(x(live.point), y(live.bytes));
      context.lineTo(x(end), y(live.bytes));
    });
  }

  area(context, curve, x, y) {
    this.path(context, curve, x, y);
    context.strokeStyle = colour("accent");
    context.lineWidth = 2;
    context.stroke();
    context.lineTo(x(this.page.points), y(0));
    context.lineTo(x(0), y(0));
    context.globalAlpha = 0.18;
    context.fillStyle = colour("accent");
    context.fill();
    context.globalAlpha = 1;
  }

  line(context, curve, x, y, style, dash, width) {
    this.path(context, curve, x, y);
    context.setLineDash(dash);
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke();
    context.setLineDash([]);
  }

  capacity(context, at, width, bytes) {
    context.strokeStyle = colour("error");
    context.fillStyle = colour("error");
    context.setLineDash([8, 4]);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(this.left, at);
    context.lineTo(width - 8, at);
    context.stroke();
    context.setLineDash([]);
    context.fillText(`available ${sizeAsXla(bytes)}`, this.left + 6, at - 5);
  }

  marks(context, x, y, height, curve) {
    const { page } = this;
    const column = (point, style, dash) => {
      context.strokeStyle = style;
      context.lineWidth = 1.5;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x(point + 0.5), 6);
      context.lineTo(x(point + 0.5), height - 22);
      context.stroke();
      context.setLineDash([]);
    };
    if (this.hover !== null) column(this.hover, colour("quiet"), [2, 3]);
    if (page.point !== null) column(page.point, colour("chosen"), []);
    if (page.peak !== null && page.space === 0) {
      const at = x(page.peak + 0.5);
      context.fillStyle = colour("error");
      context.beginPath();
      context.moveTo(at, height - 22);
      context.lineTo(at - 6, height - 12);
      context.lineTo(at + 6, height - 12);
      context.fill();
      context.textAlign = at > this.left + this.plotWidth / 2 ? "right" : "left";
      context.fillText(`peak ${size(liveAt(curve, page.peak))}, step ${page.peak}`, at + (context.textAlign === "right" ? -10 : 10), height - 8);
      context.textAlign = "left";
    }
  }

  describe(curve, whatIf) {
    const { page } = this;
    this.canvas.setAttribute("aria-valuemin", "0");
    this.canvas.setAttribute("aria-valuemax", String(page.points - 1));
    this.canvas.setAttribute("aria-valuenow", String(page.point ?? 0));
    this.canvas.setAttribute("aria-valuetext", `${page.stepWords(page.point ?? 0)}, ${size(liveAt(curve, page.point ?? 0))} alive`);
    const finding = page.finding === null ? null : page.found[page.finding].finding;
    this.said.textContent = whatIf
      ? `What if (${finding.rule}): ${finding.remedies[whatIf.remedy].action}: ${sizeAsXla(finding.required_bytes)} → ${sizeAsXla(whatIf.required_bytes)} (the thick line)`
      : "Solid: padded, as it is allocated. Dashed: without padding. Hover for the instruction; click, or arrow keys, to look at another step.";
  }
}

// ---- the allocation map ----

class AllocationMap {
  constructor(page) {
    this.page = page;
    this.canvas = h("canvas", { tabindex: "0", role: "img", id: "map",
      "aria-label": "Allocation map: program order from left to right, offset upwards, one box a buffer. The table below lists the same buffers." });
    this.tip = h("div", { class: "tip", hidden: "" });
    const zoom = (label, title, act) => h("button", { type: "button", "aria-label": title, title, click: act }, label);
    this.note = h("p", { class: "said small quiet" });
    this.element = h("section", {}, h("h2", {}, "Allocation map"),
      h("div", { class: "bar-row" }, zoom("+", "Zoom in", () => this.zoom(0.5)), zoom("−", "Zoom out", () => this.zoom(2)),
        zoom("whole", "Show the whole map", () => { this.reset(); this.draw(); })),
      h("div", { class: "plot" }, this.canvas, this.tip), this.note);
    this.reset();
    this.listen();
  }

  reset() {
    const { page } = this;
    const bytes = page.view.allocations.reduce((sum, allocation) => sum + (allocation.memory_space === page.space ? allocation.bytes : 0), 0);
    this.whole = { x0: 0, x1: Math.max(1, page.points), y0: 0, y1: Math.max(1, bytes) };
    this.window = { ...this.whole };
    this.boxes = [];
    for (const buffer of page.buffers) {
      const { offset_bytes: offset, start, end } = buffer;
      if (buffer.memory_space !== page.space || buffer.bytes === 0 || offset === null || offset === undefined) continue;
      if (start === null || start === undefined) continue;
      const low = page.bases[buffer.allocation] + offset;
      for (const [from, to] of buffer.view.ranges || [[start, end]]) {
        this.boxes.push({ buffer, x0: from, x1: Math.min(to + 1, page.points), y0: low, y1: low + buffer.bytes });
      }
    }
  }

  /** Keeps a span inside the whole. */
  static within(low, high, end) {
    const span = Math.min(high - low, end);
    const start = Math.min(Math.max(0, low), end - span);
    return [start, start + span];
  }

  zoom(factor, cx, cy) {
    const w = this.window;
    const [mx, my] = [cx ?? (w.x0 + w.x1) / 2, cy ?? (w.y0 + w.y1) / 2];
    [w.x0, w.x1] = AllocationMap.within(mx - (mx - w.x0) * factor, mx + (w.x1 - mx) * factor, this.whole.x1);
    [w.y0, w.y1] = AllocationMap.within(my - (my - w.y0) * factor, my + (w.y1 - my) * factor, this.whole.y1);
    this.draw();
  }

  pan(dx, dy) {
    const w = this.window;
    [w.x0, w.x1] = AllocationMap.within(w.x0 + dx, w.x1 + dx, this.whole.x1);
    [w.y0, w.y1] = AllocationMap.within(w.y0 + dy, w.y1 + dy, this.whole.y1);
    this.draw();
  }

  /** Program point and offset under the pointer. */
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const w = this.window;
    return [w.x0 + ((event.clientX - box.left) / box.width) * (w.x1 - w.x0), w.y1 - ((event.clientY - box.top) / box.height) * (w.y1 - w.y0)];
  }

  boxAt(event) {
    const [x, y] = this.under(event);
    return this.boxes.findLast((box) => box.x0 <= x && x < box.x1 && box.y0 <= y && y < box.y1 && !this.page.hidden.has(box.buffer.view.category));
  }

  listen() {
    const { canvas, page } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => { drag = { at: this.under(event), x: event.clientX, y: event.clientY, moved: false }; });
    canvas.addEventListener("pointermove", (event) => {
      if (drag && event.buttons) {
        drag.moved = drag.moved || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4;
        const [x, y] = this.under(event);
        if (drag.moved) this.pan(drag.at[0] - x, drag.at[1] - y);
        return;
      }
      this.showTip(event);
    });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; drag = null; });
    canvas.addEventListener("click", (event) => {
      const box = !drag || !drag.moved ? this.boxAt(event) : null;
      drag = null;
      if (box) page.select(box.buffer.id);
    });
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, ...this.under(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const w = this.window;
      const [dx, dy] = [(w.x1 - w.x0) / 10, (w.y1 - w.y0) / 10];
      const pans = { ArrowLeft: [-dx, 0], ArrowRight: [dx, 0], ArrowUp: [0, dy], ArrowDown: [0, -dy] };
      if (event.key in pans) this.pan(...pans[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(0.5);
      else if (event.key === "-") this.zoom(2);
      else if (event.key === "0") { this.reset(); this.draw(); }
      else return;
      event.preventDefault();
    });
  }

  showTip(event) {
    const box = this.boxAt(event);
    this.tip.hidden = !box;
    if (!box) return;
    const { buffer } = box;
    this.tip.textContent = `${size(buffer.bytes)} ${buffer.instruction} ${buffer.shape.split("{")[0]} ${place(buffer.source)} · steps ${box.x0}–${box.x1 - 1}`;
    const place2 = this.canvas.getBoundingClientRect();
    const x = event.clientX - place2.left;
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, place2.width - this.tip.offsetWidth - 6))}px`;
    this.tip.style.top = `${Math.max(4, event.clientY - place2.top + 14)}px`;
  }

  draw() {
    const { page } = this;
    this.element.hidden = page.points === 0;
    if (page.points === 0 || !this.canvas.isConnected) return;
    const { context, width, height } = prepare(this.canvas, 340);
    const w = this.window;
    const x = (point) => ((point - w.x0) / (w.x1 - w.x0)) * width;
    const y = (bytes) => height - ((bytes - w.y0) / (w.y1 - w.y0)) * height;
    context.fillStyle = colour("gap");
    context.fillRect(0, 0, width, height);
    const marked = page.finding === null ? null : new Set(page.found[page.finding].view.buffers);
    const dims = marked && marked.size > 0;
    for (const box of this.boxes) {
      if (box.x1 < w.x0 || box.x0 > w.x1 || box.y1 < w.y0 || box.y0 > w.y1) continue;
      if (page.hidden.has(box.buffer.view.category)) continue;
      const [left, top] = [x(box.x0), y(box.y1)];
      const [wide, high] = [Math.max(0.7, x(box.x1) - left), Math.max(0.7, y(box.y0) - top)];
      context.globalAlpha = dims && !marked.has(box.buffer.id) ? 0.25 : 1;
      context.fillStyle = colour(box.buffer.view.category);
      context.fillRect(left, top, wide, high);
      this.outline(context, box, left, top, wide, high);
    }
    context.globalAlpha = 1;
    if (page.point !== null) {
      context.fillStyle = colour("chosen");
      context.fillRect(x(page.point + 0.5) - 0.75, 0, 1.5, height);
    }
    this.note.textContent = this.boxes.length === 0
      ? "The compiler placed these buffers before buffer assignment: their offsets are not in the text."
      : "Program order from left to right, offset upwards; grey is what packing leaves unused. Drag to pan; wheel (with Ctrl, or once the map has the focus) to zoom; click a box for its card.";
  }

  outline(context, box, left, top, wide, high) {
    const isSelected = box.buffer.id === this.page.selected;
    if (isSelected || (wide > 3 && high > 3)) {
      context.strokeStyle = colour(isSelected ? "chosen" : "page");
      context.lineWidth = isSelected ? 3 : 0.7;
      context.strokeRect(left + 0.5, top + 0.5, Math.max(1, wide - 1), Math.max(1, high - 1));
    }
    if (wide > 90 && high > 18) {
      context.fillStyle = colour("page");
      const words = `${size(box.buffer.bytes)} ${nameOf(box.buffer)}`;
      context.fillText(words.slice(0, Math.floor(wide / 7)), Math.max(left, 0) + 6, Math.min(top + 15, top + high - 4));
    }
  }
}

// ---- the table ----

class Table {
  constructor(page) {
    this.page = page;
    this.active = 0;
    const heads = [["bytes", "size", "number"], ["lost", "padding", "number"], ["kind", "kind"], ["order", "steps"], ["what", "what"], ["source", "line"]];
    this.heads = heads.map(([key, label, style]) => h("span", { role: "columnheader", class: style || null, "data-key": key },
      h("button", { type: "button", click: () => this.sortBy(key) }, label)));
    this.body = h("div", { class: "rows", role: "rowgroup" });
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "rowgroup", id: "rows", "aria-label": "Buffers; arrow keys move, Enter opens" }, this.body);
    this.sum = h("p", { class: "small quiet", id: "sum" });
    this.element = h("div", {}, h("div", { role: "table", "aria-label": "Buffers alive" },
      h("div", { class: "head", role: "row" }, this.heads), this.scroller), this.sum);
    this.scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.drawRows()));
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("beforeprint", () => this.drawRows(60));
  }

  sortBy(key) {
    const { sort } = this.page;
    const text = ["what", "source", "kind", "order"].includes(key);
    this.page.sort = { key, down: sort.key === key ? !sort.down : !text };
    this.update();
  }

  key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key === "Enter" && this.rows[this.active]) this.page.select(this.rows[this.active].id);
    else if (event.key in moves) {
      this.active = Math.min(this.rows.length - 1, Math.max(0, this.active + moves[event.key]));
      const [top, view] = [this.active * ROW_HEIGHT, this.scroller];
      if (top < view.scrollTop) view.scrollTop = top;
      if (top + ROW_HEIGHT > view.scrollTop + view.clientHeight) view.scrollTop = top + ROW_HEIGHT - view.clientHeight;
      this.drawRows();
    } else return;
    event.preventDefault();
  }

  update() {
    const { page } = this;
    this.rows = page.rows();
    this.active = Math.min(this.active, Math.max(0, this.rows.length - 1));
    for (const head of this.heads) {
      const isKey = head.dataset.key === page.sort.key;
      head.setAttribute("aria-sort", isKey ? (page.sort.down ? "descending" : "ascending") : "none");
      const button = head.firstChild;
      button.textContent = button.textContent.replace(/ [▲▼]$/, "") + (isKey ? (page.sort.down ? " ▼" : " ▲") : "");
    }
    this.body.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    const bytes = this.rows.reduce((sum, row) => sum + row.bytes, 0);
    this.sum.textContent = `${plural(this.rows.length, page.grouped ? "group" : "buffer")}, ${size(bytes)}`;
    this.drawChips();
    this.drawRows();
  }

  drawChips() {
    const { page } = this;
    const chip = (label, clear) => h("button", { type: "button", class: "chip", click: clear }, `${label} ✕`);
    page.chips.replaceChildren(
      ...(page.path ? [chip(`in ${page.path.parts.join("/")}`, () => { page.path = null; this.update(); })] : []),
      ...(page.finding !== null && page.found[page.finding].view.buffers.length ? [chip(`of ${page.found[page.finding].finding.rule}`, () => page.chooseFinding(page.finding))] : []));
  }

  /** Only the rows in sight are in the page. */
  drawRows(most) {
    const first = most ? 0 : Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - 3);
    const last = Math.min(this.rows.length, most || first + Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 6);
    this.body.replaceChildren(...this.rows.slice(first, last).map((buffer, at) => this.row(buffer, first + at)));
    this.scroller.setAttribute("aria-activedescendant", `row-${this.active}`);
  }

  row(buffer, at) {
    const { page } = this;
    const steps = buffer.start === null || buffer.start === undefined ? "" : `${buffer.start}–${buffer.end}`;
    const isActive = at === this.active && document.activeElement === this.scroller;
    return h("div", { class: `row${buffer.id === page.selected || isActive ? " active" : ""}`, role: "row", id: `row-${at}`,
      style: { top: `${at * ROW_HEIGHT}px` }, click: () => { this.active = at; page.select(buffer.id); } },
    h("span", { class: "number", role: "cell" }, size(buffer.bytes)),
    h("span", { class: "number quiet", role: "cell" }, buffer.lost ? `+${size(buffer.lost)}` : ""),
    h("span", { class: "cut small", role: "cell" }, h("span", { class: "swatch", style: { background: `var(--${buffer.view.category})` } }),
      buffer.is_donated ? "donated" : buffer.kind === "temporary" ? buffer.view.category : buffer.kind),
    h("span", { class: "small", role: "cell" }, steps),
    h("span", { class: "what", role: "cell", title: `${buffer.instruction} ${buffer.op_name}` },
      h("div", { class: "cut mono" }, buffer.count > 1 ? h("b", {}, `${buffer.count} × `) : "", `${buffer.shape.split("{")[0]} ${nameOf(buffer)}`),
      h("div", { class: "cut small quiet" }, buffer.op_name)),
    h("span", { class: "cut small", role: "cell" }, place(buffer.source)));
  }
}

// ---- the treemap ----

/** `while.4{6}`: which part of an instruction's result it is. */
function nameOf(buffer) {
  return buffer.instruction + (buffer.index ? `{${buffer.index.join(",")}}` : "");
}

function treePath(buffer, tree) {
  if (tree === "source") {
    if (!buffer.source) return [buffer.view.category === "parameter" ? "arguments" : "no line", buffer.op_name || nameOf(buffer)];
    return [buffer.source.file.split("/").pop(), `${place(buffer.source)} ${buffer.source.function || ""}`.trim(), nameOf(buffer)];
  }
  if (buffer.view.category === "parameter") return ["arguments", buffer.op_name];
  const parts = buffer.op_name.split("/").filter(Boolean);
  return [...(parts.length ? parts : ["no op_name"]), nameOf(buffer)];
}

function treeOf(buffers, tree) {
  const root = { parts: [], bytes: 0, children: new Map(), buffer: null };
  for (const buffer of buffers) {
    let node = root;
    node.bytes += buffer.bytes;
    for (const part of treePath(buffer, tree)) {
      if (!node.children.has(part)) node.children.set(part, { parts: [...node.parts, part], bytes: 0, children: new Map(), buffer: null });
      node = node.children.get(part);
      node.bytes += buffer.bytes;
      node.buffer = node.buffer && node.buffer.bytes >= buffer.bytes ? node.buffer : buffer;
    }
  }
  return root;
}

/** Places parts in a rectangle, each row's parts as square as they get. */
function squarify(parts, box) {
  const placed = [];
  let { x, y, w, h: high } = box;
  let rest = parts.reduce((sum, part) => sum + part.bytes, 0);
  for (let at = 0; at < parts.length && rest > 0;) {
    const short = Math.min(w, high);
    const scale = (w * high) / rest;
    let [row, sum, worst] = [[], 0, Infinity];
    while (at + row.length < parts.length) {
      const next = parts[at + row.length];
      const total = sum + next.bytes;
      const thick = (total * scale) / short;
      const ratios = [...row, next].map((part) => { const long = (part.bytes * scale) / thick; return Math.max(long / thick, thick / long); });
      const ratio = Math.max(...ratios);
      if (row.length > 0 && ratio > worst) break;
      [worst, sum] = [ratio, total];
      row.push(next);
    }
    const thick = (sum * scale) / short;
    let along = 0;
    for (const part of row) {
      const long = (part.bytes * scale) / thick;
      placed.push(w >= high ? { part, x, y: y + along, w: thick, h: long } : { part, x: x + along, y, w: long, h: thick });
      along += long;
    }
    if (w >= high) { x += thick; w -= thick; } else { y += thick; high -= thick; }
    rest -= sum;
    at += row.length;
  }
  return placed;
}

function drawTreemap(element, root, choose) {
  const MOST = 400;
  element.replaceChildren();
  const whole = { x: 0, y: 0, w: element.clientWidth, h: element.clientHeight };
  const place2 = (node, box) => {
    const parts = [...node.children.values()].filter((part) => part.bytes > 0).sort((a, b) => b.bytes - a.bytes).slice(0, 60);
    for (const { part, x, y, w, h: high } of squarify(parts, box)) {
      if (w < 4 || high < 4 || element.childElementCount >= MOST) continue;
      let [inner, label] = [part, part.parts[part.parts.length - 1]];
      while (inner.children.size === 1) {
        inner = inner.children.values().next().value;
        label += `/${inner.parts[inner.parts.length - 1]}`;
      }
      const isLeaf = inner.children.size === 0 || w < 40 || high < 40;
      element.append(h("button", { type: "button", class: isLeaf ? "leaf" : null, title: `${inner.parts.join("/")}: ${size(part.bytes)}`,
        "aria-label": `${inner.parts.join("/")}: ${size(part.bytes)}`, click: () => choose(part.parts),
        style: { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${high}px`, "--shade": `var(--${part.buffer.view.category})` } },
      `${size(part.bytes)} ${label}`));
      if (!isLeaf) place2(inner, { x: x + 4, y: y + 20, w: w - 8, h: high - 24 });
    }
  };
  place2(root, whole);
}

// ---- the page ----

let current = null;

function themeButton() {
  const root = document.documentElement;
  const button = h("button", { type: "button", id: "theme", click: () => {
    const isDark = getComputedStyle(root).colorScheme === "dark"
      || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset.theme = isDark ? "light" : "dark";
    remember(root.dataset.theme);
    colours.clear();
    if (current) current.update();
  } }, "light / dark");
  return button;
}

/** Pages from files may not keep anything: then nothing is kept. */
function remember(theme) {
  try { localStorage.setItem("hlolint-theme", theme); } catch { /* not kept */ }
}

function show() {
  const modules = data.report.modules;
  const asked = /^#\d+$/.test(location.hash) ? Number(location.hash.slice(1)) : null;
  const at = asked !== null && asked < modules.length ? asked : modules.length === 1 ? 0 : null;
  current = at === null ? null : new ModulePage(at);
  const title = at === null ? "Memory of the program's modules" : modules[at].name;
  const back = at !== null && modules.length > 1 ? h("a", { href: "#" }, "All modules") : null;
  const content = current ? current.render() : startPage();
  app.replaceChildren(h("header", {}, h("b", {}, "hlolint"), back, h("h1", {}, title), h("span", { class: "grow" }), themeButton()),
    h("main", {}, content.filter(Boolean)));
  document.title = `${title} · hlolint`;
  if (current) current.update();
  window.scrollTo(0, 0);
}

async function unpack() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function main() {
  try { document.documentElement.dataset.theme = localStorage.getItem("hlolint-theme") || ""; } catch { /* not kept */ }
  try {
    data = await unpack();
    show();
  } catch (error) {
    app.replaceChildren(h("p", { class: "notice", role: "alert" }, `The report cannot be shown: ${error.message}`));
    throw error;
  }
  window.addEventListener("hashchange", show);
  let waiting = 0;
  window.addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => current && current.update()); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours.clear(); if (current) current.update(); });
}

main();
