// A module page in; its memory over program order, with the point under study, out.

class Chart {
  constructor(page) {
    this.page = page;
    this.canvas = h("canvas", { tabindex: "0", role: "slider", id: "curve", "aria-label": "Memory over the program: program point" });
    this.over = h("canvas", { class: "over", "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: "" });
    this.said = h("p", { class: "said small quiet", id: "curve-said" });
    this.element = h("section", { "aria-label": "Memory over the program" }, h("h2", {}, "Memory over the program"),
      page.points === 0 ? h("p", { class: "quiet" }, "Not known: the text has no schedule.")
        : [this.controls(), h("div", { class: "plot" }, this.canvas, this.over, this.tip), this.said]);
    this.listen();
  }

  controls() {
    const { page } = this;
    const spaces = [[0, page.module.memory], ...page.module.spaces.map((space) => [space.memory_space, space.name])];
    this.space = h("select", { "aria-label": "Memory space", id: "space", change: (event) => page.lookAt(Number(event.target.value)) },
      spaces.map(([number, name]) => h("option", { value: number }, spaces.filter(([, other]) => other === name).length > 1 ? `${name} (${number})` : name)));
    const unpadded = h("label", {}, h("input", { type: "checkbox", checked: "", change: (event) => {
      page.showUnpadded = event.target.checked;
      this.draw();
    } }), "without padding");
    const to = (label, title, point) => h("button", { type: "button", "aria-label": title, title, click: () => page.movePoint(point()) }, label);
    return h("div", { class: "bar-row" }, this.space, unpadded,
      to("◀", "One step back", () => page.point - 1), to("▶", "One step on", () => page.point + 1),
      h("button", { type: "button", id: "to-peak", click: () => page.movePoint(page.peakOf(page.curve())) }, "to the peak"), zoomButtons(page));
  }

  listen() {
    const { canvas, page } = this;
    const pointOf = (event) => Math.min(page.points - 1, Math.max(0, Math.floor(this.plot.under(event).share * page.points)));
    gestures(canvas, {
      hover: (event) => {
        page.hoverAt(pointOf(event));
        showTip(this.tip, canvas, event, `${page.stepWords(page.hover)} · ${size(liveAt(page.curve(), page.hover))}`, -44);
      },
      leave: () => { page.hoverAt(null); this.tip.hidden = true; },
      tap: (event) => page.movePoint(pointOf(event)),
      drag: (dx, dy, event) => (event.type === "wheel" ? page.pan(-(dx / this.plot.wide) * page.steps.long) : page.movePoint(pointOf(event))),
      zoom: (factor, event) => page.zoom(factor, this.plot.under(event).share * page.points),
    });
    canvas.addEventListener("keydown", (event) => {
      if (isForBrowser(event)) return;
      const far = Math.max(1, Math.round(page.steps.long / 20));
      const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: far, PageDown: -far };
      const jumps = { Home: 0, End: page.points - 1, p: page.peakOf(page.curve()) };
      if (event.key in moves) page.movePoint(page.point + moves[event.key]);
      else if (event.key in jumps) page.movePoint(jumps[event.key]);
      else if (!zoomByKey(page, event)) return;
      event.preventDefault();
    });
  }

  draw() {
    const { page } = this;
    if (page.points === 0 || !this.canvas.isConnected) return;
    const [curve, whatIf, capacity] = [page.curve(), page.chosenWhatIf(), page.capacity()];
    const highest = (curve) => curve.reduce((top, live) => Math.max(top, live.bytes), 1);
    const top = Math.max(highest(curve), whatIf ? highest(whatIf.live) : 0);
    const limit = capacity !== null && capacity / 2 <= top ? capacity : null;
    const plot = new Plot(this.canvas, 264, Math.max(top, limit || 0) * 1.12, 2);
    this.plot = plot;
    plot.within(page.steps);
    plot.axes();
    plot.steps(page.points);
    plot.inside(() => {
      plot.area(curve, page.points, colour("accent"));
      const unpadded = page.showUnpadded ? page.unpaddedCurve() : null;
      if (unpadded) plot.line(unpadded, page.points, colour("quiet"), [4, 3], 1.5);
      if (whatIf) plot.line(whatIf.live, page.points, colour("what-if"), [], 3);
      if (limit !== null) plot.level(limit, `available ${sizeAsXla(limit)}`, colour("error"));
      if (page.point !== null) plot.column((page.point + 0.5) / page.points, colour("chosen"), []);
    });
    this.marks(plot, curve, whatIf);
    this.drawOver();
    this.describe(curve, whatIf);
  }

  /** What the pointer is at, above the rest. */
  drawOver() {
    const { page, plot } = this;
    if (!plot || !this.canvas.isConnected) return;
    crosshair(this.over, plot, page.hover === null ? null : (page.hover + 0.5) / page.points);
  }

  marks(plot, curve, whatIf) {
    const { page } = this;
    const mark = (point, words, style) => {
      if (point >= page.steps.from && point < page.steps.to) plot.mark((point + 0.5) / page.points, words, style, 1);
    };
    const peak = page.peakOf(curve);
    if (peak !== null) mark(peak, `peak ${size(liveAt(curve, peak))}, step ${peak}`, colour("error"));
    if (whatIf) {
      const lower = page.highestOf(whatIf.live);
      if (Math.abs(lower - peak) > page.steps.long / 4) mark(lower, `then ${size(liveAt(whatIf.live, lower))}`, colour("what-if"));
    }
  }

  describe(curve, whatIf) {
    const { page } = this;
    this.canvas.setAttribute("aria-valuemin", "0");
    this.canvas.setAttribute("aria-valuemax", String(page.points - 1));
    this.canvas.setAttribute("aria-valuenow", String(page.point ?? 0));
    this.canvas.setAttribute("aria-valuetext", `${page.stepWords(page.point ?? 0)}, ${size(liveAt(curve, page.point ?? 0))} alive`);
    this.said.textContent = whatIf ? `What if: ${whatIf.words} (the thick line; ${size(liveAt(whatIf.live, page.point ?? 0))} at this step)`
      : "Solid: padded, as it is allocated. Dashed: without padding. Click, drag, or arrow keys: another step.";
  }
}

/** A thin line over a drawing, at a share of the program; none where it is null. */
function crosshair(canvas, plot, share) {
  const over = prepare(canvas, plot.height);
  if (share === null) return;
  const { context } = over;
  context.strokeStyle = colour("quiet");
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(plot.x(share), 4);
  context.lineTo(plot.x(share), plot.bottom);
  context.stroke();
}

/** Closer, further, the whole: for the curve and the map, which look at the same steps. */
function zoomButtons(page) {
  const button = (label, title, act) => h("button", { type: "button", "aria-label": title, title, click: act }, label);
  const whole = button("whole program", "Show the whole program", () => page.showWhole());
  page.wholeButtons.push(whole);
  return [button("+", "Zoom in", () => page.zoom(0.5)), button("−", "Zoom out", () => page.zoom(2)), whole];
}

function zoomByKey(page, event) {
  if (event.key === "+" || event.key === "=") page.zoom(0.5);
  else if (event.key === "-") page.zoom(2);
  else if (event.key === "0") page.showWhole();
  else return false;
  return true;
}
