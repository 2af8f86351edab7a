// A module page in; the buffers alive at the point under study, sorted, filtered, grouped, out.

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

class Table extends Rows {
  constructor(page) {
    super(page, "Buffers alive", [["bytes", "size", "number"], ["lost", "padding", "number"], ["kind", "kind"], ["order", "steps"],
      ["what", "what"], ["source", "line"]]);
  }

  update() {
    super.update();
    const { page } = this;
    const bytes = this.rows.reduce((sum, row) => sum + row.bytes, 0);
    this.sum.textContent = `${plural(this.rows.length, page.grouped ? "group" : "buffer")}, ${size(bytes)}`;
    this.drawChips();
  }

  drawChips() {
    const { page } = this;
    const chip = (label, clear) => h("button", { type: "button", class: "chip", click: clear }, `${label} ✕`);
    page.chips.replaceChildren(
      ...(page.path ? [chip(`in ${page.path.parts.join("/")}`, () => { page.path = null; this.update(); })] : []),
      ...(page.finding !== null && page.found[page.finding].view.buffers.length ? [chip(`of ${page.found[page.finding].finding.rule}`, () => page.chooseFinding(page.finding))] : []));
  }

  cells(buffer) {
    const steps = buffer.start === null || buffer.start === undefined ? "" : `${buffer.start}–${buffer.end}`;
    return [
      h("span", { class: "number", role: "gridcell" }, size(buffer.bytes)),
      h("span", { class: "number quiet", role: "gridcell" }, buffer.lost ? `+${size(buffer.lost)}` : ""),
      h("span", { class: "cut small", role: "gridcell" }, h("span", { class: "swatch", style: { background: `var(--${buffer.view.category})` } }),
        buffer.is_donated ? "donated" : buffer.kind === "temporary" ? buffer.view.category : buffer.kind),
      h("span", { class: "small", role: "gridcell" }, steps),
      h("span", { class: "what", role: "gridcell", title: `${buffer.instruction} ${buffer.op_name}` },
        h("div", { class: "cut mono" }, buffer.count > 1 ? h("b", {}, `${buffer.count} × `) : "", `${buffer.shape.split("{")[0]} ${nameOf(buffer)}`),
        h("div", { class: "cut small quiet" }, buffer.op_name)),
      h("span", { class: "cut small", role: "gridcell" }, place(buffer.source))];
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
