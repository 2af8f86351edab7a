// A module on both sides in; the state of its page, and what is drawn again when that changes, out.

class DiffPage {
  constructor(at) {
    this.at = at;
    this.diff = data.diff.modules[at];
    this.view = data.modules[at];
    this.sort = { key: "change", down: true };
    this.filter = "";
    this.hidden = new Set();
    // HBM, where anything changed in it.
    this.firstSpace = this.diff.buffers.some((change) => SIDES.some((side) => change[side] && change[side].memory_space === 0)) ? 0 : null;
    this.space = this.firstSpace;
    this.atPeak = false;
    this.by = "source";
    this.part = null;
    this.selected = null;
    this.unknown = this.diff.hbm.peak_live ? null : "Not known: not both sides have a schedule.";
    this.changes = this.diff.buffers.map((change, id) => ({ ...change, id, places: this.view.buffers[id], search: searchOfChange(change) }));
  }

  /** Changes in the memory space that is looked at. */
  there() {
    const isThere = (change) => SIDES.some((side) => change[side] && (this.space === null || change[side].memory_space === this.space)
      && (!this.atPeak || change[side].alive > 0));
    return this.changes.filter(isThere);
  }

  /** Those of the kinds that are shown, with their bytes there. */
  shown() {
    return this.there().filter(({ change }) => !this.hidden.has(change)).map((change) => {
      const sizes = changeIn(change, this.space);
      return { ...change, sizes, bytes: difference(sizes) };
    });
  }

  rows() {
    const fits = filterOf(this.filter);
    const rows = this.shown().filter((change) => (this.part === null || partOf(change, this.by) === this.part)
      && fits({ search: change.search, bytes: Math.abs(change.bytes) }));
    const of = {
      change: (c) => Math.abs(c.bytes), size: (c) => Math.max(c.sizes.old_bytes, c.sizes.new_bytes),
      what: (c) => c.op_name || c.opcode, source: (c) => placeInOrder(c.source),
    }[this.sort.key];
    return sorted(rows, of, this.sort.down, (a, b) => a.id - b.id);
  }

  choosePart(part) {
    this.part = part;
    this.table.update();
    drawParts(this);
  }

  select(id) {
    this.selected = this.selected === id ? null : id;
    this.update();
  }

  render() {
    this.chart = new DiffChart(this);
    this.table = new ChangeTable(this);
    this.card = h("aside", { class: "card", "aria-label": "Buffer", "aria-live": "polite" });
    return [diffHeadline(this), findingChanges(this), this.chart.element, h("div", { class: "halves" }, totals(this), why(this)),
      changesSection(this), partsSection(this), kernelChanges(this),
      alone("Only on the new side", data.diff.added), alone("Only on the old side", data.diff.removed), sidesOf(this), diagnostics()];
  }

  /** What an address says of the page: what is not as it is at first. */
  state() {
    const { point, lead } = this.chart;
    return { step: lead && point !== this.view[lead].peak ? point : null, buffer: this.selected, space: this.space !== this.firstSpace && this.space !== null ? this.space : null };
  }

  /** Brings the page to the state of an address. */
  restore({ step, buffer, space }) {
    if (this.spaces && this.spaces.includes(space)) this.lookAt(space);
    if (this.chart.lead && step < this.chart.span(this.chart.lead)) this.chart.move(step);
    if (buffer < this.changes.length) this.select(buffer);
  }

  /** Looks at one memory space; at all, where it is null. */
  lookAt(space) {
    this.space = space;
    this.spaceChoice.value = String(space ?? "all");
    this.update();
  }

  /** Draws what depends on the state again. */
  update() {
    keepState(this);
    this.chart.draw();
    if (this.changes.length === 0) return;
    this.table.update();
    drawParts(this);
    drawChangeCard(this);
  }
}

/** What came or got worse first; notes folded where there is more to read than notes. */
function findingChanges(page) {
  const { findings } = page.diff;
  if (findings.length === 0) return null;
  const element = (finding) => h("article", { class: `finding ${isWorse(finding.change) ? finding.level : "went"}` }, h("div", { class: "spread" },
    h("div", {}, h("b", { class: isWorse(finding.change) ? "grew" : "shrank" }, `${finding.change} `), finding.old_level ? `${finding.old_level} → ` : "",
      h("span", { class: `level ${finding.level}` }, finding.level), h("b", {}, finding.rule), ` ${finding.message}`),
    h("span", { class: "mono" }, place(finding.source))));
  const isNote = (finding) => finding.level === "note" && (finding.old_level || "note") === "note";
  const notes = findings.filter(isNote).map(element);
  return h("section", { id: "findings" }, h("h2", {}, "Findings"), findings.filter((finding) => !isNote(finding)).map(element),
    notes.length ? h("details", { open: notes.length === findings.length || null }, h("summary", {}, plural(notes.length, "note")), notes) : null);
}

function kernelChanges(page) {
  const { kernels } = page.diff;
  if (kernels.length === 0) return null;
  const row = (kernel) => h("tr", {}, h("td", { class: "mono" }, kernel.op_name, h("div", { class: "quiet small" }, place(kernel.source))),
    h("td", { class: "wide" }, kernel.old_count === kernel.new_count ? plural(kernel.new_count, "call") : `${kernel.old_count} → ${plural(kernel.new_count, "call")}`),
    changeCells(kernel.vmem));
  return h("section", { id: "kernels" }, h("h2", {}, "Kernels: scoped VMEM"), plainTable("Kernels", [["kernel"], ["calls", "wide"], ...CHANGE_HEADS], kernels.map(row)));
}

function sidesOf(page) {
  const { diff, view } = page;
  const pair = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
  return h("section", {}, h("h2", {}, "Where the figures come from"), h("dl", {},
    SIDES.map((side) => pair(side, `${diff.files[side]} (${view[side].stage})`)), diff.old_name ? pair("old name", diff.old_name) : []));
}
