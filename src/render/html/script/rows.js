// A page with rows in; a table that sorts, answers to keys and holds the rows in sight alone, out.

const ROW_HEIGHT = 46;
const PRINTED_ROWS = 40;

/** The page has `sort`, gives `rows()`, and is told of a choice with `select(id)`. */
class Rows {
  /** Of each head the key to sort by, the word and the style. */
  constructor(page, label, heads) {
    this.page = page;
    this.active = 0;
    this.rows = [];
    this.heads = heads.map(([key, word, style]) => h("span", { role: "columnheader", class: style || null, "data-key": key },
      h("button", { type: "button", click: () => this.sortBy(key, style === "number") }, word)));
    this.head = h("div", { class: "head", role: "row", "aria-rowindex": "1" }, this.heads);
    this.body = h("div", { class: "rows", role: "rowgroup" });
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "grid", id: "rows", "aria-label": `${label}; arrow keys move, Enter opens` },
      h("div", { role: "rowgroup", class: "heads" }, this.head), this.body);
    this.sum = h("p", { class: "small quiet", id: "sum" });
    this.cut = h("p", { class: "small" });
    this.element = h("div", {}, this.scroller, this.cut, this.sum);
    this.scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.drawRows()));
    this.scroller.addEventListener("keydown", (event) => this.key(event));
  }

  sortBy(key, isNumber) {
    const { sort } = this.page;
    this.page.sort = { key, down: sort.key === key ? !sort.down : isNumber };
    this.scroller.scrollTop = 0;
    this.update();
  }

  key(event) {
    if (event.target !== this.scroller) return;
    const last = Math.max(0, this.rows.length - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -last, End: last };
    if (event.key === "Enter" && this.rows[this.active]) this.choose(this.active);
    else if (event.key in moves) {
      this.active = Math.min(last, Math.max(0, this.active + moves[event.key]));
      // The head stays at the top of what is in sight.
      const [top, view, room] = [this.active * ROW_HEIGHT, this.scroller, this.scroller.clientHeight - this.head.clientHeight];
      if (top < view.scrollTop) view.scrollTop = top;
      if (top + ROW_HEIGHT > view.scrollTop + room) view.scrollTop = top + ROW_HEIGHT - room;
      this.drawRows();
    } else return;
    event.preventDefault();
  }

  choose(at) {
    this.active = at;
    this.page.select(this.rows[at].id, this.rows[at]);
  }

  update() {
    const { sort } = this.page;
    this.rows = this.page.rows();
    this.active = Math.min(this.active, Math.max(0, this.rows.length - 1));
    for (const head of this.heads) markSorted(head, head.dataset.key === sort.key, sort.down);
    this.scroller.setAttribute("aria-rowcount", this.rows.length + 1);
    this.drawRows();
  }

  /** What a reader asks for anew is seen from its first row on. */
  filterBy(text) {
    this.page.filter = text;
    this.scroller.scrollTop = 0;
    this.update();
  }

  /** Only the rows in sight are in the page; on paper as many as that. */
  drawRows(most) {
    this.body.style.height = `${Math.min(this.rows.length, most || Infinity) * ROW_HEIGHT}px`;
    const first = most ? 0 : Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - 3);
    const last = Math.min(this.rows.length, most || first + Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 6);
    this.body.replaceChildren(...this.rows.slice(first, last).map((row, at) => this.row(row, first + at)));
    this.cut.textContent = most && most < this.rows.length ? `The first ${most} of ${this.rows.length} are printed.` : "";
    this.scroller.setAttribute("aria-activedescendant", `row-${this.active}`);
  }

  row(row, at) {
    const isActive = at === this.active && document.activeElement === this.scroller;
    return h("div", { class: `row${row.id === this.page.selected || isActive ? " active" : ""}`, role: "row", id: `row-${at}`, "aria-rowindex": at + 2, "aria-selected": String(row.id === this.page.selected),
      style: { top: `${at * ROW_HEIGHT}px` }, click: () => this.choose(at) }, this.cells(row));
  }
}

/** Says of a column's head whether rows are sorted by it. */
function markSorted(head, isKey, down) {
  head.setAttribute("aria-sort", isKey ? (down ? "descending" : "ascending") : "none");
  const button = head.querySelector("button");
  if (button) button.textContent = button.textContent.replace(/ [▲▼]$/, "") + (isKey ? (down ? " ▼" : " ▲") : "");
}

/** Rows by what a key says of them; equal ones in the order that `otherwise` gives. */
function sorted(rows, of, down, otherwise) {
  return rows.sort((a, b) => {
    const [x, y] = [of(a), of(b)];
    return ((x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1)) || otherwise(a, b);
  });
}
