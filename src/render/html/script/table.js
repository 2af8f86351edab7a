// A module page in; the buffers alive at the point under study, sorted, filtered, grouped, out.

const CATEGORIES = {
  parameter: "arguments", output: "results", activation: "activations", gradient: "gradients and backward pass",
  collective: "collectives", constant: "constants", temporary: "other temporaries",
};

function aliveSection(page) {
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter: words, op:, file:, shape:, >64MiB",
    "aria-label": "Filter buffers", title: FILTER_HELP, size: "34",
    input: (event) => { page.table.filterBy(event.target.value); } });
  const group = h("label", {}, h("input", { type: "checkbox", id: "group",
    change: (event) => { page.grouped = event.target.checked; page.table.update(); } }), "group equal");
  page.chips = h("span", {});
  return h("section", { id: "alive", "aria-label": "Buffers alive" }, h("h2", {}, "Buffers alive"), page.pointWords,
    h("div", { class: "bar-row" }, filter, group, page.chips), page.table.element);
}

class Table extends Rows {
  constructor(page) {
    super(page, "Buffers alive", [["bytes", "size", "number"], ["lost", "padding", "number"], ["kind", "kind"], ["order", "steps"],
      ["what", "what"], ["source", "line"]]);
  }

  update() {
    const { page } = this;
    const whatIf = page.chosenWhatIf();
    this.after = whatIf ? whatIf.after : new Map();
    super.update();
    const bytes = occupied(this.rows.flatMap((row) => row.members || [row]));
    this.sum.textContent = `${plural(this.rows.length, page.grouped ? "group" : "buffer")}, ${size(bytes)}${this.rest()}`;
    this.drawChips();
  }

  /** What is alive in buffers that are too small for the page. */
  rest() {
    const { page } = this;
    if (page.view.left_out.length === 0 || page.point === null) return "";
    const rest = liveAt(page.curve(), page.point) - occupied(page.alive());
    return rest > 0 ? `; ${size(rest)} more in smaller buffers that are not on this page` : "";
  }

  drawChips() {
    const { page } = this;
    const chip = (label, clear) => h("button", { type: "button", class: "chip", click: clear }, `${label} ✕`);
    page.chips.replaceChildren(
      ...(page.path ? [chip(`in ${page.path.parts.join("/")}`, () => { page.path = null; this.update(); })] : []),
      ...(page.finding !== null && page.found[page.finding].view.buffers.length ? [chip(`of ${page.found[page.finding].finding.rule}`, () => page.chooseFinding(page.finding))] : []));
  }

  /** What becomes of a buffer, or of all of a group alike, after what was chosen. */
  becomes(buffer) {
    const said = new Set((buffer.members || [buffer]).map(({ id }) => (this.after.has(id) ? afterWords(this.after.get(id)) : "")));
    const [words] = said;
    return said.size === 1 && words ? h("div", { class: "small saving" }, `→ ${words}`) : null;
  }

  cells(buffer) {
    const steps = isKnown(buffer.start) ? `${buffer.start}–${buffer.end}` : "";
    return [
      h("span", { class: "number", role: "gridcell" }, size(buffer.bytes), this.becomes(buffer)),
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

/** The bytes that buffers take together: what lies at one place counts once. */
function occupied(buffers) {
  const placed = buffers.filter((buffer) => isKnown(buffer.offset_bytes));
  placed.sort((a, b) => a.allocation - b.allocation || a.offset_bytes - b.offset_bytes);
  let [bytes, allocation, end] = [0, -1, 0];
  for (const buffer of placed) {
    if (buffer.allocation !== allocation) [allocation, end] = [buffer.allocation, 0];
    const last = buffer.offset_bytes + buffer.bytes;
    bytes += Math.max(0, last - Math.max(end, buffer.offset_bytes));
    end = Math.max(end, last);
  }
  return buffers.reduce((sum, buffer) => sum + (isKnown(buffer.offset_bytes) ? 0 : buffer.bytes), bytes);
}

function groupEqual(rows) {
  const groups = new Map();
  for (const buffer of rows) {
    const key = [buffer.shape, buffer.op_name, place(buffer.source), buffer.bytes, buffer.view.category].join("\u0000");
    const group = groups.get(key);
    if (!group) groups.set(key, { ...buffer, count: 1, members: [buffer] });
    else {
      group.count += 1;
      group.members.push(buffer);
      for (const field of ["bytes", "unpadded_bytes", "lost"]) group[field] += buffer[field];
      group.start = Math.min(group.start, buffer.start);
      group.end = Math.max(group.end, buffer.end);
    }
  }
  return [...groups.values()];
}
