// Modules in; tables of them, to sort and to filter, out.

/** From how many modules on a filter is of use. */
const LEAST_TO_FILTER = 8;

/** Rows that a table shows at most: browsers take seconds for ten thousand. */
const MOST_MODULES = 500;

/** A row a module: heads are word, style, and what the column is sorted by, as a number that is larger
 * where there is more to look at, or as a text. */
class ModuleTable {
  constructor(label, heads, modules, row, search) {
    this.row = row;
    this.entries = modules.map((module, at) => ({ module, at, search: search(module).toLowerCase() }));
    this.words = [];
    // The order that the modules came in: no column's own.
    this.key = null;
    this.down = true;
    this.heads = heads.map(([word, style, of], key) => h("th", { class: style || null, scope: "col", "aria-sort": of ? "none" : null },
      of ? h("button", { type: "button", class: "link", click: () => this.sortBy(key, of) }, word) : word));
    this.body = h("tbody", {});
    this.rest = h("p", { class: "quiet small" });
    this.element = h("div", {}, h("div", { class: "scroll" }, h("table", { class: "modules", "aria-label": label }, h("thead", {}, h("tr", {}, this.heads)), this.body)), this.rest);
    this.draw();
  }

  sortBy(key, of) {
    const isText = this.entries.some(({ module }) => typeof of(module) === "string");
    this.down = this.key === key ? !this.down : !isText;
    this.key = key;
    sorted(this.entries, ({ module }) => of(module), this.down, (a, b) => a.at - b.at);
    this.heads.forEach((head, at) => markSorted(head, at === key, this.down));
    this.draw();
  }

  /** Shows the modules that have all words; how many these are. */
  filter(words) {
    this.words = words;
    return this.draw();
  }

  draw() {
    const fitting = this.entries.filter(({ search }) => this.words.every((word) => search.includes(word)));
    this.body.replaceChildren(...fitting.slice(0, MOST_MODULES).map((entry) => (entry.row ||= this.row(entry.module))));
    this.rest.textContent = fitting.length > MOST_MODULES ? `The first ${MOST_MODULES} of ${fitting.length}: filter or sort to see others.` : "";
    return fitting.length;
  }
}

/** An input that filters tables, where there is much in them. */
function moduleFilter(tables, placeholder) {
  const count = tables.reduce((sum, table) => sum + table.entries.length, 0);
  if (count < LEAST_TO_FILTER) return null;
  const said = h("span", { class: "quiet small", role: "status", id: "filtered" });
  const input = h("input", { type: "search", id: "filter", placeholder, size: "34", "aria-label": "Filter modules", input: (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = tables.reduce((sum, table) => sum + table.filter(words), 0);
    said.textContent = words.length ? `${shown} of ${plural(count, "module")}` : "";
  } });
  return h("div", { class: "bar-row" }, input, said);
}
