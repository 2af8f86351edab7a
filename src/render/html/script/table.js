// A module page in; the buffers alive at the point under study, sorted, filtered, grouped, out.

const ROW_HEIGHT = 46;
const CATEGORIES = {
  parameter: "arguments", output: "results", activation: "activations", gradient: "gradients and backward pass",
  collective: "collectives", constant: "constants", temporary: "other temporaries",
};

function aliveSection(page) {
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter: name, op_name, file, shape",
    "aria-label": "Filter buffers", size: "30",
    input: (event) => { page.filter = event.target.value; page.table.update(); } });
  const group = h("label", {}, h("input", { type: "checkbox", id: "group",
    change: (event) => { page.grouped = event.target.checked; page.table.update(); } }), "group equal");
  const present = new Set(page.buffers.filter((buffer) => buffer.bytes > 0).map((buffer) => buffer.view.category));
  const toggles = Object.entries(CATEGORIES).filter(([name]) => present.has(name)).map(([name, label]) =>
    h("button", { type: "button", "aria-pressed": "true", "data-category": name, click: (event) => {
      const isShown = page.hidden.delete(name) || !page.hidden.add(name);
      event.currentTarget.setAttribute("aria-pressed", String(isShown));
      page.update();
    } }, h("span", { class: "swatch", style: { background: `var(--${name})` } }), label));
  page.chips = h("span", {});
  return h("section", { id: "alive" }, h("h2", {}, "Buffers alive"), page.pointWords,
    h("div", { class: "bar-row" }, filter, group, page.chips),
    h("div", { class: "bar-row", role: "group", "aria-label": "Categories shown" }, toggles),
    h("div", { class: "columns" }, page.table.element, page.card));
}

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
