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
    this.hover = null;
    this.steps = new Span(this.points, 8);
    this.wholeButtons = [];
    this.wayElements = [];
    this.space = 0;
    this.found = findingsOf(at);
    this.finding = null;
    // Which of the finding's what-ifs is drawn.
    this.remedy = 0;
    this.wayPath = null;
    this.sort = { key: "bytes", down: true };
    this.filter = "";
    this.path = null;
    this.hidden = new Set();
    this.grouped = false;
    this.group = null;
    this.selected = null;
    this.showUnpadded = true;
    this.tree = "op_name";
    this.buffers = this.module.buffers.map((buffer, id) => ({ ...buffer, id, view: this.view.buffers[id] }));
    for (const buffer of this.buffers) {
      buffer.lost = Math.max(0, buffer.bytes - buffer.unpadded_bytes);
      buffer.search = searchOf(buffer);
    }
    this.byName = new Map(this.buffers.map((buffer) => [buffer.instruction, buffer.id]).reverse());
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
    if (!isKnown(buffer.start)) return true;
    return rangesOf(buffer).some(([start, end]) => start <= point && point <= end);
  }

  /** The curve of the memory space that is looked at. */
  curve() {
    return this.space === 0 ? this.module.live : this.otherSpace().live;
  }

  unpaddedCurve() {
    return this.space === 0 ? this.view.unpadded : this.otherSpace().unpadded;
  }

  otherSpace() {
    return this.view.spaces.find((other) => other.memory_space === this.space) || { live: [], unpadded: [] };
  }

  /** What there is of the memory space; null where that is not known. */
  capacity() {
    return this.space === 0 ? this.module.hbm.available_bytes : null;
  }

  peakOf(curve) {
    return this.space === 0 ? this.peak : this.highestOf(curve);
  }

  highestOf(curve) {
    return curve.reduce((most, live) => (live.bytes > most.bytes ? live : most), { point: 0, bytes: -1 }).point;
  }

  stepWords(point) {
    const { name, source } = stepOf(this.view.steps, point);
    return [`step ${point} of ${this.points}`, name, source].filter(Boolean).join(" · ");
  }

  /** The curve that is drawn beside today's, with the words for it: a finding's, or that of a way out. */
  chosenWhatIf() {
    if (this.space !== 0) return null;
    const before = sizeAsXla(this.module.hbm.required_bytes);
    if (this.wayPath !== null) {
      const { live, after, step, required_bytes: required } = this.view.paths[this.wayPath];
      const atMost = this.module.way_out.paths[this.wayPath].steps[step].basis === "at-most" ? "at most " : "";
      const actions = this.module.way_out.paths[this.wayPath].steps.slice(0, step + 1).map(({ action }) => action);
      return { live, after: afterOf(after), words: `${actions.join(", then ")}: ${before} → ${atMost}${sizeAsXla(required)}` };
    }
    if (this.finding === null) return null;
    const { finding, view } = this.found[this.finding];
    const whatIf = view.what_ifs[this.remedy];
    const atMost = whatIf && finding.remedies[whatIf.remedy].at_most ? "at most " : "";
    return whatIf ? { live: whatIf.live, after: afterOf(whatIf.after), words: `${finding.rule}: ${finding.remedies[whatIf.remedy].action}: `
      + `${before} → ${atMost}${sizeAsXla(whatIf.required_bytes)}` } : null;
  }

  /** The buffers that the chosen finding speaks of; null where there is none, or it speaks of none. */
  marked() {
    const ids = this.finding === null ? [] : this.found[this.finding].view.buffers;
    return ids.length > 0 ? new Set(ids) : null;
  }

  /** Buffers of the table: alive at the point, and what filters leave of them. */
  rows() {
    const [fits, marked] = [filterOf(this.filter), this.marked()];
    let rows = this.alive().filter((buffer) => (!marked || marked.has(buffer.id)) && !this.hidden.has(buffer.view.category)
      && (!this.path || this.isBelow(buffer)) && fits(buffer));
    if (this.grouped) rows = groupEqual(rows);
    const { key, down } = this.sort;
    const of = {
      bytes: (b) => b.bytes, lost: (b) => b.lost, order: (b) => b.start ?? -1, kind: (b) => b.view.category,
      what: (b) => b.op_name || b.instruction, source: (b) => placeInOrder(b.source),
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
    this.card = h("aside", { class: "card", "aria-label": "Buffer", "aria-live": "polite", tabindex: "-1" });
    this.treemap = h("div", { class: "treemap", role: "group", "aria-label": "Treemap of what is alive" });
    this.pointWords = h("p", { class: "said", role: "status", "aria-live": "polite" });
    const workspace = h("div", { class: "workspace" },
      h("div", { class: "stack" }, this.chart.element, this.map.element, aliveSection(this), treeSection(this)), this.card);
    const isKernelWorst = this.view.kernels.some((kernel) => kernel.exceeds);
    const rest = isKernelWorst ? [kernels(this), workspace] : [workspace, kernels(this)];
    return [headline(this), causes(this), wayOut(this), findingList(this), rest, parameters(this), facts(this), diagnostics()].flat();
  }

  /** What an address says of the page: what is not as it is at first. */
  state() {
    return { step: this.point === this.peak ? null : this.point, buffer: this.selected, space: this.space || null };
  }

  /** Brings the page to the state of an address. */
  restore({ step, buffer, space }) {
    if (this.module.spaces.some((known) => known.memory_space === space)) this.lookAt(space);
    if (step < this.points) this.movePoint(step);
    if (buffer < this.buffers.length) this.select(buffer);
    // A link means what it names, not the headline.
    if (step !== undefined || buffer !== undefined) this.chart.element.scrollIntoView();
  }

  /** Draws what depends on the state again. */
  update() {
    this.map.draw();
    drawCard(this);
    this.updatePoint();
    const press = (chosen) => (element, at) => {
      element.classList.toggle("chosen", at === chosen);
      for (const button of element.querySelectorAll("button[aria-pressed]")) {
        button.setAttribute("aria-pressed", String(at === chosen && Number(button.dataset.remedy || 0) === this.remedy));
      }
    };
    this.findingElements.forEach(press(this.finding));
    this.wayElements.forEach(press(this.wayPath));
  }

  /** The same for what depends on the program point. */
  updatePoint() {
    this.chart.draw();
    this.map.drawOver();
    this.table.update();
    drawTree(this);
    this.pointWords.replaceChildren(this.point === null ? "The program has no schedule: all buffers are listed."
      : `Alive at ${this.stepWords(this.point)}: ${size(liveAt(this.curve(), this.point))}`
        + (this.point === this.peakOf(this.curve()) ? ", the peak" : ""));
    for (const button of this.wholeButtons) button.hidden = this.steps.isWhole && this.map.offsets.isWhole;
    keepState(this);
  }

  movePoint(point) {
    if (this.points === 0) return;
    this.point = Math.min(this.points - 1, Math.max(0, Math.round(point)));
    const [from, to] = [this.steps.from, this.steps.to];
    this.steps.reach(this.point);
    if (this.steps.from !== from || this.steps.to !== to) this.map.draw();
    this.updatePoint();
  }

  hoverAt(point) {
    if (this.hover === point) return;
    this.hover = point;
    this.chart.drawOver();
    this.map.drawOver();
  }

  // The curve and the map look at the same steps.

  zoom(factor, at = this.point ?? undefined) {
    this.steps.zoom(factor, at);
    this.drawSteps();
  }

  pan(by) {
    this.steps.pan(by);
    this.drawSteps();
  }

  showWhole() {
    this.steps.reset();
    this.map.offsets.reset();
    this.drawSteps();
  }

  drawSteps() {
    this.chart.draw();
    this.map.draw();
    for (const button of this.wholeButtons) button.hidden = this.steps.isWhole && this.map.offsets.isWhole;
  }

  lookAt(space) {
    this.space = space;
    if (this.chart.space) this.chart.space.value = String(space);
    this.map.reset();
    this.update();
  }

  /** Chooses a buffer; `row` is its group where the table groups. */
  select(id, row) {
    this.selected = id;
    if (row) this.group = row.members || null;
    this.table.drawRows();
    this.map.drawOver();
    drawCard(this);
    keepState(this);
  }

  chooseFinding(at, remedy = 0) {
    const isChosen = this.finding === at && this.remedy === remedy;
    this.showChosen(isChosen ? null : at, null, remedy);
  }

  choosePath(at) {
    this.showChosen(null, this.wayPath === at ? null : at, 0);
  }

  /** Draws what a remedy of a finding or a path of the way out has to show; one of them at most. */
  showChosen(finding, path, remedy) {
    [this.finding, this.wayPath, this.remedy] = [finding, path, remedy];
    if (this.space !== 0) this.lookAt(0);
    else this.update();
    if (finding !== null || path !== null) this.chart.element.scrollIntoView({ block: "nearest" });
  }
}

/** What becomes of buffers, by buffer. */
function afterOf(list) {
  return new Map(list.map((after) => [after.buffer, after]));
}

/** The same in words. */
function afterWords({ bytes, ends_at: point }) {
  if (bytes === 0) return "gone";
  return isKnown(bytes) ? size(bytes) : isKnown(point) ? `to step ${point}` : "donated";
}
