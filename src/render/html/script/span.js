// A length in; the part of it that is looked at, closer or further along, out.

class Span {
  /** From 0 to `end`; never closer than `least`. */
  constructor(end, least) {
    this.end = Math.max(1, end);
    this.least = Math.min(least, this.end);
    this.reset();
  }

  reset() {
    [this.from, this.to] = [0, this.end];
  }

  get long() {
    return this.to - this.from;
  }

  get isWhole() {
    return this.long >= this.end;
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    const long = Math.min(this.end, Math.max(this.least, this.long * factor));
    this.take(at - ((at - this.from) / this.long) * long, long);
  }

  pan(by) {
    this.take(this.from + by, this.long);
  }

  /** Moves as little as it takes to have a place inside. */
  reach(at) {
    if (at < this.from || at >= this.to) this.take(at - this.long / 2, this.long);
  }

  take(from, long) {
    this.from = Math.min(Math.max(0, from), this.end - long);
    this.to = this.from + long;
  }
}
