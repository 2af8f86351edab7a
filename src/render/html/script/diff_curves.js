// A module on both sides in; both curves over program order against one another out.

class DiffChart {
  constructor(page) {
    this.page = page;
    this.hover = null;
    this.bySteps = false;
    this.showUnpadded = false;
    this.sides = SIDES.filter((side) => page.view[side].points > 0);
    this.lead = this.sides.at(-1);
    this.wholeButtons = [];
    // The part of the program that is in sight, in shares of it.
    this.window = new Span(1, 0.001);
    this.point = this.lead ? page.view[this.lead].peak : null;
    this.canvas = h("canvas", { tabindex: "0", role: "slider", id: "curve", "aria-label": "Memory over the program on both sides: place in the program" });
    this.over = h("canvas", { class: "over", "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: "" });
    this.said = h("p", { class: "said", id: "curve-said", role: "status" });
    this.note = h("p", { class: "quiet small", id: "curve-note" });
    this.element = h("section", { id: "over-program" }, h("h2", {}, "Memory over the program"),
      this.lead ? [this.controls(), h("div", { class: "plot" }, this.canvas, this.over, this.tip), this.said, this.note]
        : h("p", { class: "quiet" }, "Not known: neither side has a schedule."));
    if (this.lead) this.listen();
  }

  controls() {
    const { view } = this.page;
    const canUnpad = this.sides.some((side) => view[side].unpadded);
    const unpadded = canUnpad ? h("label", {}, h("input", { type: "checkbox", id: "unpadded", change: (event) => {
      this.showUnpadded = event.target.checked;
      this.draw();
    } }), "without padding") : null;
    const peaks = this.sides.map((side) => h("button", { type: "button", id: `to-${side}-peak`, click: () => this.move(this.placeOf(side, view[side].peak)) }, `to the ${side} peak`));
    const key = (side) => h("span", { class: "key" }, h("i", { class: side }), side);
    return h("div", { class: "bar-row" }, this.sides.map(key),
      this.sides.length === 2 ? choices("Program order as", [[false, "share of the program"], [true, "steps"]], this.bySteps, (bySteps) => { this.bySteps = bySteps; this.draw(); }) : null,
      unpadded, peaks, zoomButtons(this));
  }

  /** Program points from the left edge to the right one. */
  span(side) {
    const points = (side) => this.page.view[side].points;
    return this.bySteps ? Math.max(...this.sides.map(points)) : points(side);
  }

  /** The step of the leading side that stands over a step of any side. */
  placeOf(side, point) {
    return side === this.lead ? point : Math.floor(((point + 0.5) / this.span(side)) * this.span(this.lead));
  }

  /** The step of a side at a place of the leading side; null beyond its end. */
  stepAt(side, place) {
    const step = side === this.lead ? place : Math.floor(((place + 0.5) / this.span(this.lead)) * this.span(side));
    return step < this.page.view[side].points ? step : null;
  }

  move(place) {
    this.point = Math.min(this.span(this.lead) - 1, Math.max(0, place));
    this.window.reach(this.shareOf(this.point));
    this.draw();
    keepState(this.page);
  }

  /** Where a place of the leading side stands. */
  shareOf(place) {
    return (place + 0.5) / this.span(this.lead);
  }

  zoom(factor, share = this.shareOf(this.point)) {
    this.window.zoom(factor, share);
    this.draw();
  }

  showWhole() {
    this.window.reset();
    this.draw();
  }

  listen() {
    const { canvas } = this;
    const placeOf = (event) => Math.min(this.span(this.lead) - 1, Math.max(0, Math.floor(this.plot.under(event).share * this.span(this.lead))));
    gestures(canvas, {
      hover: (event) => {
        this.hover = placeOf(event);
        this.drawOver();
        showTip(this.tip, canvas, event, this.words(this.hover), -60);
      },
      leave: () => { this.hover = null; this.tip.hidden = true; this.drawOver(); },
      tap: (event) => this.move(placeOf(event)),
      drag: (dx, dy, event) => {
        if (event.type !== "wheel") return this.move(placeOf(event));
        this.window.pan(-(dx / this.plot.wide) * this.window.long);
        return this.draw();
      },
      zoom: (factor, event) => this.zoom(factor, this.plot.under(event).share),
    });
    canvas.addEventListener("keydown", (event) => {
      if (isForBrowser(event)) return;
      const far = Math.max(1, Math.round((this.window.long * this.span(this.lead)) / 20));
      const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: far, PageDown: -far };
      const jumps = { Home: 0, End: this.span(this.lead) - 1, p: this.page.view[this.lead].peak };
      if (event.key in moves) this.move(this.point + moves[event.key]);
      else if (event.key in jumps) this.move(jumps[event.key]);
      else if (!zoomByKey(this, event)) return;
      event.preventDefault();
    });
  }

  drawOver() {
    if (this.plot) crosshair(this.over, this.plot, this.hover === null ? null : this.shareOf(this.hover));
  }

  /** Both sides at a place: step, instruction and line where they are known, bytes, the difference. */
  words(place) {
    const { view } = this.page;
    const bytes = {};
    const said = this.sides.map((side) => {
      const step = this.stepAt(side, place);
      if (step === null) return `${side}: has ended`;
      bytes[side] = liveAt(view[side].live, step);
      return `${side}: ${size(bytes[side])} · ${stepWords(view[side], step)}`;
    });
    if ("old" in bytes && "new" in bytes) said.push(signed(bytes.new - bytes.old));
    return said.join("\n");
  }

  draw() {
    if (!this.lead || !this.canvas.isConnected) return;
    const { view } = this.page;
    const limits = this.limits();
    let top = limits.reduce((top, [bytes]) => Math.max(top, bytes), 1);
    for (const side of this.sides) for (const live of view[side].live) top = Math.max(top, live.bytes);
    const plot = new Plot(this.canvas, 280, top * 1.12, 2);
    this.plot = plot;
    plot.within(this.window);
    plot.axes();
    plot.inside(() => {
      for (const side of this.sides) this.curve(plot, side);
      for (const [bytes, words] of limits) plot.level(bytes, words, colour("error"));
      for (const [at, side] of this.sides.entries()) this.alive(plot, side, at);
      plot.column(this.shareOf(this.point), colour("chosen"), []);
    });
    for (const side of this.sides) this.peak(plot, side);
    for (const button of this.wholeButtons) button.hidden = this.window.isWhole;
    this.drawOver();
    this.describe();
  }

  peak(plot, side) {
    const { peak, live } = this.page.view[side];
    const share = (peak + 0.5) / this.span(side);
    if (share < this.window.from || share > this.window.to) return;
    plot.mark(share, `${side} peak ${size(liveAt(live, peak))}, step ${peak}`, colour(side), side === "old" ? 1 : 0);
  }

  /** What is available, where a curve comes near it; one line where both sides have as much. */
  limits() {
    const { view } = this.page;
    const highest = Math.max(...this.sides.map((side) => view[side].live.reduce((top, live) => Math.max(top, live.bytes), 0)));
    const near = SIDES.filter((side) => view[side].available_bytes !== null && view[side].available_bytes / 2 <= highest);
    const isOne = view.old.available_bytes === view.new.available_bytes;
    return (isOne ? near.slice(0, 1) : near).map((side) => [view[side].available_bytes,
      `available ${sizeAsXla(view[side].available_bytes)}${isOne ? "" : ` (${side})`}`]);
  }

  curve(plot, side) {
    const { live, points, unpadded } = this.page.view[side];
    plot.span = this.span(side);
    if (side === "new") plot.area(live, points, colour("new"));
    else plot.line(live, points, colour("old"), [7, 3], 2);
    if (this.showUnpadded && unpadded) plot.line(unpadded, points, colour(side), [1, 3], 1.5);
  }

  /** Where the chosen buffers are alive: a bar a side above the curves, and how much they are. */
  alive(plot, side, at) {
    const change = this.page.selected === null ? null : this.page.changes[this.page.selected];
    const place = change && change.places[side];
    if (!place) return;
    const { context } = plot;
    const ranges = joined(place.members);
    context.fillStyle = colour(side);
    for (const [start, end] of ranges) {
      const [from, to] = [plot.x(start / this.span(side)), plot.x((end + 1) / this.span(side))];
      context.fillRect(from, 2 + at * 8, Math.max(2, to - from), 6);
    }
    const { points } = this.page.view[side];
    plot.span = this.span(side);
    plot.line(sumOf(place.members, points), points, colour(side), [], 3);
  }

  describe() {
    const { canvas } = this;
    canvas.setAttribute("aria-valuemin", "0");
    canvas.setAttribute("aria-valuemax", String(this.span(this.lead) - 1));
    canvas.setAttribute("aria-valuenow", String(this.point));
    const words = this.words(this.point).split("\n");
    canvas.setAttribute("aria-valuetext", words.join("; "));
    this.said.replaceChildren(...words.map((line) => h("span", { class: "line" }, line)));
    const { selected, changes } = this.page;
    const missing = SIDES.filter((side) => !this.sides.includes(side)).map((side) => ` The ${side} side has no schedule, so no curve.`).join("");
    this.note.textContent = (selected === null
      ? "New solid, old dashed, each over its own program; the triangles are their peaks. Click, or arrow keys, to compare another place."
      : `The bars on top and the thick lines: when ${nameOfChange(changes[selected])} is alive, and how much of it.`) + missing;
  }
}

function stepWords({ steps, points }, step) {
  const words = [`step ${step} of ${points}`];
  if (steps) {
    const { name, source } = stepOf(steps, step);
    words.push(name, source);
  }
  return words.filter(Boolean).join(" · ");
}

/** Live ranges as one list without overlaps. */
function joined(members) {
  const ranges = members.flatMap(rangesOf).sort((a, b) => a[0] - b[0]).map(([start, end]) => [start, end]);
  const all = [];
  for (const [start, end] of ranges) {
    const last = all.at(-1);
    if (last && start <= last[1] + 1) last[1] = Math.max(last[1], end);
    else all.push([start, end]);
  }
  return all;
}
