// A module page in; its memory over program order, with the point under study, out.

class Chart {
  constructor(page) {
    this.page = page;
    this.hover = null;
    this.canvas = h("canvas", { tabindex: "0", role: "slider", id: "curve", "aria-label": "Memory over the program: program point" });
    this.tip = h("div", { class: "tip", hidden: "" });
    this.said = h("p", { class: "said small quiet", id: "curve-said" });
    const spaces = [[0, page.module.memory], ...page.module.spaces.map((space) => [space.memory_space, space.name])];
    this.space = h("select", { "aria-label": "Memory space", id: "space", change: (event) => {
      page.space = Number(event.target.value);
      page.map.reset();
      page.update();
    } }, spaces.map(([number, name]) => h("option", { value: number }, name)));
    const unpadded = h("label", {}, h("input", { type: "checkbox", checked: "", change: (event) => {
      page.showUnpadded = event.target.checked;
      this.draw();
    } }), "without padding");
    const to = (label, title, point) => h("button", { type: "button", "aria-label": title, title, click: () => page.movePoint(point()) }, label);
    this.element = h("section", {}, h("h2", {}, "Memory over the program"),
      h("div", { class: "bar-row" }, this.space, unpadded,
        to("◀", "One step back", () => page.point - 1), to("▶", "One step on", () => page.point + 1),
        h("button", { type: "button", id: "to-peak", click: () => page.movePoint(page.peak) }, "to the peak")),
      h("div", { class: "plot" }, this.canvas, this.tip), this.said);
    if (page.points === 0) this.element.replaceChildren(h("h2", {}, "Memory over the program"), h("p", { class: "quiet" }, "Not known: the text has no schedule."));
    this.listen();
  }

  listen() {
    const { canvas, page } = this;
    const pointOf = (event) => {
      const box = canvas.getBoundingClientRect();
      return Math.min(page.points - 1, Math.max(0, Math.floor(((event.clientX - box.left - this.left) / this.plotWidth) * page.points)));
    };
    canvas.addEventListener("pointermove", (event) => { this.hover = pointOf(event); this.draw(); this.showTip(event); });
    canvas.addEventListener("pointerleave", () => { this.hover = null; this.tip.hidden = true; this.draw(); });
    canvas.addEventListener("click", (event) => page.movePoint(pointOf(event)));
    canvas.addEventListener("keydown", (event) => {
      const page5 = Math.max(1, Math.round(page.points / 20));
      const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: page5, PageDown: -page5 };
      const jumps = { Home: 0, End: page.points - 1, p: page.peak };
      if (event.key in moves) page.movePoint(page.point + moves[event.key]);
      else if (event.key in jumps) page.movePoint(jumps[event.key]);
      else return;
      event.preventDefault();
    });
  }

  showTip(event) {
    const { page } = this;
    showTip(this.tip, this.canvas, event, `${page.stepWords(this.hover)} · ${size(liveAt(page.curve(), this.hover))}`, -44);
  }

  draw() {
    const { page } = this;
    if (page.points === 0 || !this.canvas.isConnected) return;
    const curve = page.curve();
    const whatIf = page.chosenWhatIf();
    const capacity = page.space === 0 ? page.module.hbm.available_bytes : null;
    let top = 1;
    for (const live of curve) top = Math.max(top, live.bytes);
    if (whatIf) for (const live of whatIf.live) top = Math.max(top, live.bytes);
    const shown = capacity !== null && capacity / 2 <= top ? capacity : null;
    top = Math.max(top, shown || 0) * 1.08;
    const plot = new Plot(this.canvas, 240, top);
    [this.left, this.plotWidth] = [plot.left, plot.wide];
    plot.axes();
    plot.area(curve, page.points, colour("accent"));
    if (page.showUnpadded && page.space === 0) plot.line(page.view.unpadded, page.points, colour("quiet"), [4, 3], 1.5);
    if (whatIf) plot.line(whatIf.live, page.points, colour("what-if"), [], 3);
    if (shown !== null) plot.level(shown, `available ${sizeAsXla(shown)}`, colour("error"));
    this.marks(plot, curve);
    this.describe(curve, whatIf);
  }

  marks(plot, curve) {
    const { page } = this;
    const at = (point) => (point + 0.5) / page.points;
    if (this.hover !== null) plot.column(at(this.hover), colour("quiet"), [2, 3]);
    if (page.point !== null) plot.column(at(page.point), colour("chosen"), []);
    if (page.peak !== null && page.space === 0) {
      plot.mark(at(page.peak), `peak ${size(liveAt(curve, page.peak))}, step ${page.peak}`, colour("error"));
    }
  }

  describe(curve, whatIf) {
    const { page } = this;
    this.canvas.setAttribute("aria-valuemin", "0");
    this.canvas.setAttribute("aria-valuemax", String(page.points - 1));
    this.canvas.setAttribute("aria-valuenow", String(page.point ?? 0));
    this.canvas.setAttribute("aria-valuetext", `${page.stepWords(page.point ?? 0)}, ${size(liveAt(curve, page.point ?? 0))} alive`);
    const finding = page.finding === null ? null : page.found[page.finding].finding;
    this.said.textContent = whatIf
      ? `What if (${finding.rule}): ${finding.remedies[whatIf.remedy].action}: ${sizeAsXla(finding.required_bytes)} → ${sizeAsXla(whatIf.required_bytes)} (the thick line)`
      : "Solid: padded, as it is allocated. Dashed: without padding. Hover for the instruction; click, or arrow keys, to look at another step.";
  }
}
