// Modules in; tables of them, to sort and to filter, out.

/** From how many modules on a filter is of use. */
const LEAST_TO_FILTER = 8;

/** Rows of a table with the cells of a module each: heads are word, style, and what the column is sorted
 * by, as a number that is larger where there is more to look at, or as a text. */
class ModuleTable {
  constructor(label, heads, modules, row, search) {
    this.entries = modules.map((module, at) => ({ module, at, row: row(module), search: search(module).toLowerCase() }));
    // The order that the modules came in: no column's own.
    this.key = null;
    this.down = true;
    this.heads = heads.map(([word, style, of], key) => h("th", { class: style || null, scope: "col", "aria-sort": of ? "none" : null },
      of ? h("button", { type: "button", class: "link", click: () => this.sortBy(key, of) }, word) : word));
    this.body = h("tbody", {}, this.entries.map((entry) => entry.row));
    this.element = h("div", { class: "scroll" }, h("table", { class: "modules", "aria-label": label }, h("thead", {}, h("tr", {}, this.heads)), this.body));
  }

  sortBy(key, of) {
    const isText = this.entries.some(({ module }) => typeof of(module) === "string");
    this.down = this.key === key ? !this.down : !isText;
    this.key = key;
    sorted(this.entries, ({ module }) => of(module), this.down, (a, b) => a.at - b.at);
    this.heads.forEach((head, at) => markSorted(head, at === key, this.down));
    this.body.append(...this.entries.map(({ row }) => row));
  }

  /** Shows the modules that have all words; how many these are. */
  filter(words) {
    for (const { row, search } of this.entries) row.hidden = !words.every((word) => search.includes(word));
    return this.entries.filter(({ row }) => !row.hidden).length;
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
