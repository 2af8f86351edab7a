// A canvas in; curves of bytes over program order upon axes out. What a module's page and the page of
// what changed draw alike.

class Plot {
  /** As many bytes upwards as `top`, the program from left to right; `feet` lines of marks below. */
  constructor(canvas, tall, top, feet = 1) {
    Object.assign(this, prepare(canvas, tall), { top, low: 0, left: 74, span: null, from: 0, to: 1 });
    this.wide = this.width - this.left - 8;
    this.bottom = this.height - 6 - 18 * feet;
  }

  /** Looks at a part of the program only. */
  within(span) {
    [this.from, this.to] = [span.from / span.end, span.to / span.end];
  }

  /** Where a share of the program stands. */
  x(share) {
    return this.left + ((share - this.from) / (this.to - this.from)) * this.wide;
  }

  /** The share of the program under the pointer, and the bytes. */
  under(event) {
    const box = event.target.getBoundingClientRect();
    const [right, down] = [event.clientX - box.left - this.left, event.clientY - box.top - 10];
    return {
      share: this.from + (right / this.wide) * (this.to - this.from),
      bytes: this.low + (1 - down / (this.bottom - 10)) * (this.top - this.low),
    };
  }

  y(bytes) {
    return 10 + (1 - (bytes - this.low) / (this.top - this.low)) * (this.bottom - 10);
  }

  /** What `draw` draws is cut off at the axes. */
  inside(draw) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(this.left, 2, this.wide, this.bottom);
    context.clip();
    draw();
    context.restore();
  }

  /** Round numbers of program points below the axis. */
  steps(points) {
    const { context, bottom } = this;
    const tick = Math.max(1, roundTick((this.to - this.from) * points, 8));
    context.fillStyle = colour("quiet");
    context.textAlign = "right";
    context.fillText("step", this.left - 10, bottom + 16);
    context.textAlign = "center";
    for (let at = Math.ceil((this.from * points) / tick) * tick; at <= this.to * points; at += tick) {
      const x = this.x(at / points);
      context.fillRect(x, bottom, 1, 4);
      if (x < this.width - 16) context.fillText(String(at), x, bottom + 16);
    }
    context.textAlign = "left";
  }

  axes() {
    const { context, left, top, width } = this;
    const [unit, factor] = unitOf(top);
    const tick = roundTick((top - this.low) / factor, 4);
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    context.textAlign = "right";
    for (let at = Math.ceil(this.low / factor / tick) * tick; at * factor <= top; at += tick) {
      const line = Math.round(this.y(at * factor)) + 0.5;
      context.beginPath();
      context.moveTo(left, line);
      context.lineTo(width - 8, line);
      context.stroke();
      context.fillText(`${Number(at.toFixed(Math.max(0, Math.min(9, Math.ceil(-Math.log10(tick)) + 1))))} ${unit}`, left - 6, Math.min(line + 4, this.bottom - 1));
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
    const wide = context.measureText(words).width;
    context.fillStyle = colour("page");
    context.fillRect(left + 4, at - 18, wide + 6, 15);
    context.fillStyle = style;
    context.fillText(words, left + 7, at - 6);
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
    const isRight = at + 10 + context.measureText(words).width > this.width;
    context.textAlign = isRight ? "right" : "left";
    context.fillText(words, at + (isRight ? -10 : 10), bottom + 16);
    context.textAlign = "left";
  }
}

/** The step between about `count` round numbers over a length. */
function roundTick(long, count) {
  const power = 10 ** Math.floor(Math.log10(long / count));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= long / count) || power;
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
