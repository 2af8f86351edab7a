// The report of several modules in; a table of them, the worst first, out.

function levels(module) {
  const found = findingsOf(module);
  return ["error", "warn", "note"].map((level) => {
    const count = found.filter(({ finding }) => finding.level === level).length;
    return count ? h("span", { class: `level ${level}` }, `${count} ${level}`) : null;
  });
}

function startPage() {
  const rows = data.report.modules.map((module, at) => {
    const { hbm } = module;
    return h("tr", {},
      h("td", {}, h("a", { href: `#${at}` }, module.name), h("div", { class: "quiet small" }, machine(module))),
      h("td", { class: module.verdict }, VERDICTS[module.verdict]),
      h("td", { class: "number" }, sizeAsXla(hbm.required_bytes)),
      h("td", { class: "number wide" }, hbm.available_bytes === null ? "" : sizeAsXla(hbm.available_bytes)),
      h("td", { class: "number wide" }, hbm.peak_live_bytes === null ? "" : size(hbm.peak_live_bytes)),
      h("td", { class: "wide" }, splitBar(hbm, true)),
      h("td", {}, levels(at)));
  });
  const heads = [["module"], ["verdict"], ["needs", "number"], ["available", "number wide"],
    ["alive at the peak", "number wide"], ["split", "wide"], ["findings"]];
  return [
    h("section", {}, h("h2", {}, `${plural(rows.length, "module")}, the worst first`),
      h("div", { class: "scroll" }, h("table", {},
        h("thead", {}, h("tr", {}, heads.map(([word, style]) => h("th", { class: style || null, scope: "col" }, word)))),
        h("tbody", {}, rows)))),
    diagnostics(),
  ];
}
