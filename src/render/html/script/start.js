// The report of several modules in; a table of them, the worst first, to sort and to filter, out.

function levels(module) {
  const found = findingsOf(module);
  return ["error", "warn", "note"].map((level) => {
    const count = found.filter(({ finding }) => finding.level === level).length;
    return count ? h("span", { class: `level ${level}` }, plural(count, level === "warn" ? "warning" : level)) : null;
  });
}

/** Of each column the word, the style, and what it is sorted by; the order of the report is the worst first. */
const MODULE_HEADS = [
  ["module", null, (module) => module.name], ["verdict", null, (module, at) => at],
  ["needs", "number", (module) => -module.hbm.required_bytes], ["in all", "number wide", (module) => -module.hbm.total_bytes],
  ["available", "number wide", (module) => -(module.hbm.available_bytes || 0)],
  ["alive at the peak", "number wide", (module) => -(module.hbm.peak_live_bytes || 0)], ["split", "wide bars"], ["findings"],
];

function startPage() {
  const modules = data.report.modules.map((module, at) => ({ module, at }));
  const rows = modules.map(({ module, at }) => moduleRow(module, at));
  const body = h("tbody", {}, rows);
  const sortBy = (of) => body.append(...modules.slice().sort((a, b) => {
    const [x, y] = [of(a.module, a.at), of(b.module, b.at)];
    return x < y ? -1 : x > y ? 1 : a.at - b.at;
  }).map(({ at }) => rows[at]));
  const heads = MODULE_HEADS.map(([word, style, of]) => h("th", { class: style || null, scope: "col" },
    of ? h("button", { type: "button", class: "link", click: () => sortBy(of) }, word) : word));
  const filter = modules.length < 8 ? null : h("input", { type: "search", id: "filter", placeholder: "Filter: name, verdict, rule", size: "30", "aria-label": "Filter modules",
    input: (event) => {
      const word = event.target.value.toLowerCase();
      modules.forEach(({ module, at }) => {
        rows[at].hidden = ![module.name, module.file, VERDICTS[module.verdict], ...findingsOf(at).map(({ finding }) => finding.rule)].join("\n").toLowerCase().includes(word);
      });
    } });
  return [
    h("section", {}, h("h2", {}, `${plural(rows.length, "module")}, the worst first`), filter ? h("div", { class: "bar-row" }, filter) : null,
      h("div", { class: "scroll" }, h("table", { class: "modules" }, h("thead", {}, h("tr", {}, heads)), body)),
      h("p", { class: "quiet small wide" }, "Each bar is as long as what is needed or available, whichever is more; the line is what is available.")),
    diagnostics(),
  ];
}

function moduleRow(module, at) {
  const { hbm } = module;
  const scale = Math.max(wholeOf(hbm), hbm.available_bytes || 0);
  const bar = splitBar(hbm, true, scale);
  if (hbm.available_bytes !== null) bar.append(h("em", { style: { left: `${(100 * hbm.available_bytes) / scale}%` } }));
  return h("tr", {},
    h("td", {}, h("a", { href: `#${at}` }, module.name), h("div", { class: "quiet small" }, folderOf(module.file)),
      h("div", { class: "quiet small" }, machine(module))),
    h("td", { class: module.verdict }, VERDICTS[module.verdict]),
    h("td", { class: "number" }, sizeAsXla(hbm.required_bytes)),
    h("td", { class: "number wide" }, size(hbm.total_bytes)),
    h("td", { class: "number wide" }, hbm.available_bytes === null ? "" : sizeAsXla(hbm.available_bytes)),
    h("td", { class: "number wide" }, hbm.peak_live_bytes === null ? "" : size(hbm.peak_live_bytes)),
    h("td", { class: "wide bars" }, bar),
    h("td", {}, levels(at)));
}
