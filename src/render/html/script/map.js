// A module page in; its buffers by program order and offset out.

class AllocationMap {
  constructor(page) {
    this.page = page;
    this.canvas = h("canvas", { tabindex: "0", role: "img", id: "map",
      "aria-label": "Allocation map: program order from left to right, offset upwards, one box a buffer. The table below lists the same buffers." });
    this.over = h("canvas", { class: "over", "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: "" });
    this.note = h("p", { class: "said small quiet" });
    this.element = h("section", { "aria-label": "Allocation map" },
      h("div", { class: "bar-row" }, h("h2", {}, "Allocation map"), zoomButtons(page)),
      h("div", { class: "plot" }, this.canvas, this.over, this.tip), legend(page), this.note);
    this.reset();
    this.listen();
  }

  /** The boxes of the memory space that is looked at. */
  reset() {
    const { page } = this;
    const ofSpace = page.view.allocations.filter((allocation) => allocation.memory_space === page.space);
    this.offsets = new Span(ofSpace.reduce((sum, allocation) => sum + allocation.bytes, 0), KIB);
    this.boxes = [];
    for (const buffer of page.buffers) {
      const { offset_bytes: offset, start } = buffer;
      if (buffer.memory_space !== page.space || buffer.bytes === 0 || !isKnown(offset) || !isKnown(start)) continue;
      const low = page.bases[buffer.allocation] + offset;
      for (const [from, to] of rangesOf(buffer)) {
        this.boxes.push({ buffer, x0: from, x1: Math.min(to + 1, page.points), y0: low, y1: low + buffer.bytes });
      }
    }
  }

  boxAt(event) {
    const { share, bytes } = this.plot.under(event);
    const x = share * this.page.points;
    return this.boxes.findLast((box) => box.x0 <= x && x < box.x1 && box.y0 <= bytes && bytes < box.y1 && !this.page.hidden.has(box.buffer.view.category));
  }

  listen() {
    const { canvas, page } = this;
    gestures(canvas, {
      hover: (event) => this.showTip(event),
      leave: () => { page.hoverAt(null); this.tip.hidden = true; },
      tap: (event) => {
        const box = this.boxAt(event);
        if (box) page.select(box.buffer.id);
      },
      drag: (dx, dy) => this.pan(-dx / this.plot.wide, dy / (this.plot.bottom - 10)),
      zoom: (factor, event) => {
        const { share, bytes } = this.plot.under(event);
        this.offsets.zoom(factor, bytes);
        page.zoom(factor, share * page.points);
      },
    });
    canvas.addEventListener("keydown", (event) => {
      if (isForBrowser(event)) return;
      const pans = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
      if (event.key in pans) this.pan(...pans[event.key]);
      else if (event.key === "+" || event.key === "=" || event.key === "-") {
        this.offsets.zoom(event.key === "-" ? 2 : 0.5);
        page.zoom(event.key === "-" ? 2 : 0.5);
      } else if (!zoomByKey(page, event)) return;
      event.preventDefault();
    });
  }

  /** By shares of what is in sight. */
  pan(right, up) {
    this.offsets.pan(up * this.offsets.long);
    this.page.pan(right * this.page.steps.long);
  }

  showTip(event) {
    const { page } = this;
    const point = Math.floor(this.plot.under(event).share * page.points);
    page.hoverAt(point >= 0 && point < page.points ? point : null);
    const box = this.boxAt(event);
    this.tip.hidden = !box;
    if (!box) return;
    const { buffer } = box;
    showTip(this.tip, this.canvas, event, `${size(buffer.bytes)} ${nameOf(buffer)} ${buffer.shape.split("{")[0]} ${place(buffer.source)} · steps ${box.x0}–${box.x1 - 1}`, 14);
  }

  draw() {
    const { page } = this;
    this.element.hidden = page.points === 0;
    if (page.points === 0 || !this.canvas.isConnected) return;
    const plot = new Plot(this.canvas, 340, this.offsets.to, 1);
    plot.low = this.offsets.from;
    this.plot = plot;
    plot.within(page.steps);
    plot.axes();
    plot.steps(page.points);
    plot.inside(() => this.drawBoxes(plot));
    this.drawOver();
    this.note.textContent = this.boxes.length === 0
      ? "The compiler placed these buffers before buffer assignment: their offsets are not in the text."
      : "Drag to move; wheel (with Ctrl, or once the map has the focus) or two fingers to zoom; click a box for its card.";
  }

  drawBoxes(plot) {
    const { page } = this;
    const { context } = plot;
    context.fillStyle = colour("gap");
    context.fillRect(plot.left, plot.y(this.offsets.end), plot.wide, plot.y(0) - plot.y(this.offsets.end));
    const marked = page.marked();
    const x = (point) => plot.x(point / page.points);
    for (const box of this.boxes) {
      if (box.x1 < page.steps.from || box.x0 > page.steps.to || box.y1 < this.offsets.from || box.y0 > this.offsets.to) continue;
      if (page.hidden.has(box.buffer.view.category)) continue;
      const [left, top] = [x(box.x0), plot.y(box.y1)];
      const [wide, high] = [Math.max(0.7, x(box.x1) - left), Math.max(0.7, plot.y(box.y0) - top)];
      context.globalAlpha = marked && !marked.has(box.buffer.id) ? 0.25 : 1;
      context.fillStyle = colour(box.buffer.view.category);
      context.fillRect(left, top, wide, high);
      if (wide > 3 && high > 3) this.outline(plot, box, left, top, wide, high);
    }
    context.globalAlpha = 1;
  }

  outline({ context, left: edge }, box, left, top, wide, high) {
    context.strokeStyle = colour("page");
    context.lineWidth = 0.7;
    context.strokeRect(left + 0.5, top + 0.5, Math.max(1, wide - 1), Math.max(1, high - 1));
    const start = Math.max(left, edge);
    const room = left + wide - start;
    if (room > 90 && high > 18) {
      context.fillStyle = colour("page");
      const words = `${size(box.buffer.bytes)} ${nameOf(box.buffer)}`;
      context.fillText(words.slice(0, Math.floor(room / 7)), start + 6, Math.min(top + 15, top + high - 4));
    }
  }

  /** The step under study, the pointer's, and the chosen buffer, above the boxes. */
  drawOver() {
    const { page, plot } = this;
    if (!plot || !this.canvas.isConnected) return;
    const share = (point) => (point + 0.5) / page.points;
    crosshair(this.over, plot, page.hover === null ? null : share(page.hover));
    const context = this.over.getContext("2d");
    context.save();
    context.beginPath();
    context.rect(plot.left, 2, plot.wide, plot.bottom);
    context.clip();
    context.setLineDash([]);
    context.strokeStyle = colour("chosen");
    if (page.point !== null) {
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(plot.x(share(page.point)), 4);
      context.lineTo(plot.x(share(page.point)), plot.bottom);
      context.stroke();
    }
    context.lineWidth = 3;
    for (const box of page.selected === null ? [] : this.boxes.filter((box) => box.buffer.id === page.selected)) {
      const [left, top] = [plot.x(box.x0 / page.points), plot.y(box.y1)];
      context.strokeRect(left, top, plot.x(box.x1 / page.points) - left, plot.y(box.y0) - top);
    }
    context.restore();
  }
}

/** What the colours mean; each can be hidden, in the map, the table and the treemap. */
function legend(page) {
  const present = new Set(page.buffers.filter((buffer) => buffer.bytes > 0).map((buffer) => buffer.view.category));
  const toggles = Object.entries(CATEGORIES).filter(([name]) => present.has(name)).map(([name, label]) =>
    h("button", { type: "button", "aria-pressed": "true", "data-category": name, click: (event) => {
      const isShown = page.hidden.delete(name) || !page.hidden.add(name);
      event.currentTarget.setAttribute("aria-pressed", String(isShown));
      page.update();
    } }, h("span", { class: "swatch", style: { background: `var(--${name})` } }), label));
  return h("div", { class: "bar-row legend-row", role: "group", "aria-label": "Categories shown" }, toggles,
    h("span", { class: "small" }, h("span", { class: "swatch", style: { background: "var(--gap)" } }), "unused: fragmentation"));
}
