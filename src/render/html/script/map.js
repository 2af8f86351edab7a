// A module page in; its buffers by program order and offset out.

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
    const words = `${size(buffer.bytes)} ${buffer.instruction} ${buffer.shape.split("{")[0]} ${place(buffer.source)} · steps ${box.x0}–${box.x1 - 1}`;
    showTip(this.tip, this.canvas, event, words, 14);
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
