// A module in; the state of its page, and what is drawn again when that changes, out.

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
    return sumOf(this.buffers.filter((buffer) => buffer.memory_space === this.space), this.points);
  }

  stepWords(point) {
    const { name, source } = stepOf(this.view.steps, point);
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
    return sorted(rows, of, down, (a, b) => b.bytes - a.bytes || a.id - b.id);
  }

  alive() {
    return this.buffers.filter((buffer) => this.isAliveAt(buffer, this.point));
  }

  isBelow(buffer) {
    const parts = treePath(buffer, this.path.tree);
    return this.path.parts.every((part, at) => parts[at] === part);
  }

  render() {
    this.chart = new Chart(this);
    this.map = new AllocationMap(this);
    this.table = new Table(this);
    this.card = h("aside", { class: "card", "aria-label": "Buffer", "aria-live": "polite" });
    this.treemap = h("div", { class: "treemap", role: "group", "aria-label": "Treemap of what is alive" });
    this.pointWords = h("p", { class: "said", role: "status", "aria-live": "polite" });
    const sections = [headline(this), wayOut(this), findingList(this), this.chart.element, this.map.element,
      aliveSection(this), treeSection(this), parameters(this), kernels(this), facts(this), diagnostics()];
    return sections;
  }

  /** Draws what depends on the state again. */
  update() {
    this.chart.draw();
    this.map.draw();
    this.table.update();
    drawCard(this);
    drawTree(this);
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
}
