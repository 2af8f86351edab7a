// A canvas in; curves of bytes over program order upon axes out. What a module's page and the page of
// what changed draw alike.

class Plot {
  /** As many bytes upwards as `top`, the program from left to right; `feet` lines of marks below. */
  constructor(canvas, tall, top, feet = 1) {
    Object.assign(this, prepare(canvas, tall), { top, left: 74, span: null });
    this.wide = this.width - this.left - 8;
    this.bottom = this.height - 6 - 18 * feet;
  }

  /** Where a share of the program stands. */
  x(share) {
    return this.left + share * this.wide;
  }

  y(bytes) {
    return 10 + (1 - bytes / this.top) * (this.bottom - 10);
  }

  axes() {
    const { context, left, top, width } = this;
    const [unit, factor] = unitOf(top);
    const raw = top / factor / 4;
    const power = 10 ** Math.floor(Math.log10(raw));
    const tick = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= raw) || power;
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    context.textAlign = "right";
    for (let at = 0; at * factor <= top; at += tick) {
      const line = Math.round(this.y(at * factor)) + 0.5;
      context.beginPath();
      context.moveTo(left, line);
      context.lineTo(width - 8, line);
      context.stroke();
      context.fillText(`${Number(at.toPrecision(4))} ${unit}`, left - 6, line + 4);
    }
    context.textAlign = "left";
  }

  /** A curve of so many program points, over the whole width where no `span` of points is given. */
  path(curve, points) {
    const { context } = this;
    const span = this.span || points;
    context.beginPath();
    curve.forEach((live, at) => {
      const end = at + 1 < curve.length ? curve[at + 1].point : points;
      if (at === 0) context.moveTo(this.x(live.point / span), this.y(live.bytes));
      context.lineTo(this.x(live.point / span), this.y(live.bytes));
      context.lineTo(this.x(end / span), this.y(live.bytes));
    });
  }

  area(curve, points, style) {
    const { context } = this;
    this.line(curve, points, style, [], 2);
    context.lineTo(this.x(points / (this.span || points)), this.y(0));
    context.lineTo(this.x(0), this.y(0));
    context.globalAlpha = 0.18;
    context.fillStyle = style;
    context.fill();
    context.globalAlpha = 1;
  }

  line(curve, points, style, dash, width) {
    this.path(curve, points);
    this.stroke(style, dash, width);
  }

  stroke(style, dash, width) {
    const { context } = this;
    context.setLineDash(dash);
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke();
    context.setLineDash([]);
  }

  /** A line at so many bytes, over the whole width. */
  level(bytes, words, style) {
    const { context, left } = this;
    const at = this.y(bytes);
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(this.width - 8, at);
    this.stroke(style, [8, 4], 1.5);
    context.fillStyle = style;
    context.fillText(words, left + 6, at - 5);
  }

  /** A line at a share of the program, over the whole height. */
  column(share, style, dash) {
    const { context } = this;
    context.beginPath();
    context.moveTo(this.x(share), 6);
    context.lineTo(this.x(share), this.bottom + 2);
    this.stroke(style, dash, 1.5);
  }

  /** A mark below the axis, with words beside it. */
  mark(share, words, style, foot = 0) {
    const { context } = this;
    const [at, bottom] = [this.x(share), this.bottom + 18 * foot];
    context.fillStyle = style;
    context.beginPath();
    context.moveTo(at, bottom + 2);
    context.lineTo(at - 6, bottom + 12);
    context.lineTo(at + 6, bottom + 12);
    context.fill();
    const isRight = at > this.left + this.wide / 2;
    context.textAlign = isRight ? "right" : "left";
    context.fillText(words, at + (isRight ? -10 : 10), bottom + 16);
    context.textAlign = "left";
  }
}

/** Shows words beside the pointer, inside the canvas. */
function showTip(tip, canvas, event, words, down) {
  tip.textContent = words;
  tip.hidden = false;
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left;
  tip.style.left = `${Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 6))}px`;
  tip.style.top = `${Math.max(4, event.clientY - box.top + down)}px`;
}
