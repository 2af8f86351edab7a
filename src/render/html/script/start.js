// The report of several modules in; a table of them, the worst first, to sort and to filter, out.

const LEVELS = ["error", "warn", "note"];

function countOf(found, level) {
  return found.filter((finding) => finding.level === level).length;
}

function levels(found) {
  return LEVELS.map((level) => {
    const count = countOf(found, level);
    return count ? h("span", { class: `level ${level}` }, plural(count, level === "warn" ? "warning" : level)) : null;
  });
}

/** Of each column the word, the style, and what it is sorted by. */
const MODULE_HEADS = [
  ["module", null, ({ module }) => module.name], ["verdict", null, ({ at }) => -at],
  ["needs", "number", ({ module }) => module.hbm.required_bytes], ["in all", "number wide", ({ module }) => module.hbm.total_bytes],
  ["available", "number wide", ({ module }) => module.hbm.available_bytes || 0],
  ["alive at the peak", "number wide", ({ module }) => module.hbm.peak_live_bytes || 0], ["split", "wide bars"],
  ["findings", null, ({ found }) => LEVELS.reduce((sum, level, at) => sum + countOf(found, level) / 1000 ** at, 0)],
];

function startPage() {
  const found = data.report.modules.map(() => []);
  for (const [at, finding] of data.report.findings.entries()) (found[data.findings[at].module] || []).push(finding);
  const modules = data.report.modules.map((module, at) => ({ module, at, found: found[at] }));
  const table = new ModuleTable("Modules", MODULE_HEADS, modules, moduleRow, searchOfModule);
  return [
    h("section", {}, h("h2", {}, `${plural(modules.length, "module")}, the worst first`), moduleFilter([table], "Filter: name, verdict, chip, rule"), table.element,
      h("p", { class: "quiet small wide" }, "Each bar is as long as what is needed or available, whichever is more; the line is what is available.")),
    diagnostics(),
  ];
}

function searchOfModule({ module, found }) {
  return [module.name, module.file, VERDICTS[module.verdict], machine(module), ...new Set(found.map(({ rule }) => rule))].join("\n");
}

function moduleRow({ module, at, found }) {
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
    h("td", {}, levels(found)));
}
