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
    const { page, tip } = this;
    const bytes = liveAt(page.curve(), this.hover);
    tip.textContent = `${page.stepWords(this.hover)} · ${size(bytes)}`;
    tip.hidden = false;
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    tip.style.left = `${Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${Math.max(4, event.clientY - box.top - 44)}px`;
  }

  draw() {
    const { page } = this;
    if (page.points === 0 || !this.canvas.isConnected) return;
    const { context, width, height } = prepare(this.canvas, 240);
    const curve = page.curve();
    const whatIf = page.chosenWhatIf();
    const capacity = page.space === 0 ? page.module.hbm.available_bytes : null;
    let top = 1;
    for (const live of curve) top = Math.max(top, live.bytes);
    if (whatIf) for (const live of whatIf.live) top = Math.max(top, live.bytes);
    const shown = capacity !== null && capacity / 2 <= top ? capacity : null;
    top = Math.max(top, shown || 0) * 1.08;
    this.left = 74;
    this.plotWidth = width - this.left - 8;
    const plotHeight = height - 34;
    const x = (point) => this.left + (point / page.points) * this.plotWidth;
    const y = (bytes) => 10 + (1 - bytes / top) * plotHeight;
    this.axes(context, x, y, top, width);
    this.area(context, curve, x, y);
    if (page.showUnpadded && page.space === 0) this.line(context, page.view.unpadded, x, y, colour("quiet"), [4, 3], 1.5);
    if (whatIf) this.line(context, whatIf.live, x, y, colour("what-if"), [], 3);
    if (shown !== null) this.capacity(context, y(shown), width, shown);
    this.marks(context, x, y, height, curve);
    this.describe(curve, whatIf);
  }

  axes(context, x, y, top, width) {
    const [unit, factor] = unitOf(top);
    const raw = top / factor / 4;
    const power = 10 ** Math.floor(Math.log10(raw));
    const tick = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= raw) || power;
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    context.textAlign = "right";
    for (let at = 0; at * factor <= top; at += tick) {
      const line = Math.round(y(at * factor)) + 0.5;
      context.beginPath();
      context.moveTo(this.left, line);
      context.lineTo(width - 8, line);
      context.stroke();
      context.fillText(`${Number(at.toPrecision(4))} ${unit}`, this.left - 6, line + 4);
    }
    context.textAlign = "left";
  }

  path(context, curve, x, y) {
    context.beginPath();
    curve.forEach((live, at) => {
      const end = at + 1 < curve.length ? curve[at + 1].point : this.page.points;
      if (at === 0) context.moveTo(x(live.point), y(live.bytes));
      context.lineTo(x(live.point), y(live.bytes));
      context.lineTo(x(end), y(live.bytes));
    });
  }

  area(context, curve, x, y) {
    this.path(context, curve, x, y);
    context.strokeStyle = colour("accent");
    context.lineWidth = 2;
    context.stroke();
    context.lineTo(x(this.page.points), y(0));
    context.lineTo(x(0), y(0));
    context.globalAlpha = 0.18;
    context.fillStyle = colour("accent");
    context.fill();
    context.globalAlpha = 1;
  }

  line(context, curve, x, y, style, dash, width) {
    this.path(context, curve, x, y);
    context.setLineDash(dash);
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke();
    context.setLineDash([]);
  }

  capacity(context, at, width, bytes) {
    context.strokeStyle = colour("error");
    context.fillStyle = colour("error");
    context.setLineDash([8, 4]);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(this.left, at);
    context.lineTo(width - 8, at);
    context.stroke();
    context.setLineDash([]);
    context.fillText(`available ${sizeAsXla(bytes)}`, this.left + 6, at - 5);
  }

  marks(context, x, y, height, curve) {
    const { page } = this;
    const column = (point, style, dash) => {
      context.strokeStyle = style;
      context.lineWidth = 1.5;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x(point + 0.5), 6);
      context.lineTo(x(point + 0.5), height - 22);
      context.stroke();
      context.setLineDash([]);
    };
    if (this.hover !== null) column(this.hover, colour("quiet"), [2, 3]);
    if (page.point !== null) column(page.point, colour("chosen"), []);
    if (page.peak !== null && page.space === 0) {
      const at = x(page.peak + 0.5);
      context.fillStyle = colour("error");
      context.beginPath();
      context.moveTo(at, height - 22);
      context.lineTo(at - 6, height - 12);
      context.lineTo(at + 6, height - 12);
      context.fill();
      context.textAlign = at > this.left + this.plotWidth / 2 ? "right" : "left";
      context.fillText(`peak ${size(liveAt(curve, page.peak))}, step ${page.peak}`, at + (context.textAlign === "right" ? -10 : 10), height - 8);
      context.textAlign = "left";
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
