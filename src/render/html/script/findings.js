// Findings and remedies in; the way out and a list to choose from out.

function findingsOf(module) {
  return data.report.findings.map((finding, at) => ({ finding, view: data.findings[at] }))
    .filter(({ view }) => view.module === module);
}

/** Remedies in the order to try, those before done. */
function wayOut(page) {
  const way = page.module.way_out;
  if (!way || way.paths.length === 0) return null;
  const button = (path, at) => {
    const view = page.view.paths[at];
    if (!view) return null;
    const words = view.step + 1 < path.steps.length ? `Show after ${plural(view.step + 1, "step")}` : "Show";
    return h("button", { type: "button", "aria-pressed": "false", title: "Draws memory after this over today's", click: () => page.choosePath(at) }, words);
  };
  const figure = (step) => h("span", { class: "saving" }, `${sizeAsXla(step.before_bytes)} → ${step.basis === "at-most" ? "at most " : ""}${sizeAsXla(step.required_bytes_after)}`,
    step.basis === "even-split" ? " (an even split)" : "",
    step.recomputed_bytes ? ` (+${size(step.recomputed_bytes)} at most to recompute)` : "");
  page.wayElements = way.paths.map((path, at) => {
    const last = path.steps.length - 1;
    const step = (step, number) => h("li", {}, h("div", { class: "spread" },
      h("span", {}, step.action, step.rule ? h("span", { class: "quiet" }, ` (${step.rule})`) : ""),
      h("span", {}, figure(step), number === last ? [h("span", { class: path.fits ? "fits" : "does-not-fit" }, path.fits ? ", it fits " : ", still too much "), button(path, at)] : "")));
    const or = at > 0 ? h("p", { class: "quiet small" }, "or") : null;
    return h("div", { class: "way" }, or, h("ol", { class: last === 0 ? "path single" : "path" }, path.steps.map(step)));
  });
  return h("section", { "aria-label": "The way out" }, h("h2", {}, "The way out"), page.wayElements);
}

/** Lines as they are: tables scroll where there is no room for them, sentences wrap. */
function detailsOf(lines) {
  const isTable = (line) => / {2}/.test(line.trimEnd());
  const blocks = [];
  for (const line of lines || []) {
    const last = blocks.at(-1);
    if (last && last.isTable === isTable(line)) last.lines.push(line);
    else blocks.push({ isTable: isTable(line), lines: [line] });
  }
  return blocks.map(({ isTable, lines }) => h("pre", isTable ? { class: "table", tabindex: "0" } : {}, lines.join("\n")));
}

function findingList(page) {
  page.findingElements = page.found.map(({ finding, view }, at) => findingElement(page, finding, view, at));
  if (page.found.length === 0) return h("section", {}, h("h2", {}, "Findings"), h("p", { class: "quiet" }, "None."));
  const notes = page.findingElements.filter((_, at) => page.found[at].finding.level === "note");
  const first = page.findingElements.filter((element) => !notes.includes(element));
  const folded = notes.length > 0 && first.length > 0
    ? h("details", {}, h("summary", {}, plural(notes.length, "note")), notes) : notes;
  return h("section", {}, h("h2", {}, "Findings"), first, folded);
}

function findingElement(page, finding, view, at) {
  const remedies = finding.remedies.length ? finding.remedies : finding.help ? [{ action: finding.help, required_bytes_after: null }] : [];
  const priced = (remedy) => remedy.required_bytes_after === null ? null
    : h("span", { class: "saving" }, `${sizeAsXla(finding.required_bytes)} → ${remedy.at_most ? "at most " : ""}${sizeAsXla(remedy.required_bytes_after)}`,
      remedy.recomputed_bytes ? ` (+${size(remedy.recomputed_bytes)} at most to recompute)` : "");
  const several = view.what_ifs.length > 1;
  const shows = [view.what_ifs.length && !several && "what-if curve", view.buffers.length && plural(view.buffers.length, "buffer")].filter(Boolean);
  const showButton = (words, remedy) => h("button", { type: "button", "aria-pressed": "false", "data-remedy": remedy, click: () => page.chooseFinding(at, remedy) }, words);
  const curveOf = (remedy) => several ? view.what_ifs.findIndex((whatIf) => whatIf.remedy === remedy) : -1;
  const remedyElement = (remedy, number) => h("div", { class: "spread" }, h("span", {}, h("span", { class: "quiet" }, "try "), remedy.action),
    h("span", {}, priced(remedy), curveOf(number) < 0 ? "" : [" ", showButton("Show", curveOf(number))]));
  return h("article", { class: `finding ${finding.level}`, id: `finding-${at}` },
    h("div", { class: "spread" },
      h("div", {}, h("span", { class: `level ${finding.level}` }, finding.level), h("b", {}, finding.rule), ` ${finding.message}`),
      h("span", { class: "mono" }, place(finding.source))),
    detailsOf(finding.details),
    remedies.map(remedyElement),
    finding.also_seen ? h("p", { class: "quiet small" }, `also seen here: ${finding.also_seen.join(", ")}`) : null,
    shows.length && !several ? h("div", { class: "bar-row" }, showButton(`Show ${shows.join(" and ")}`, 0)) : null,
    page.view.kernels.some((kernel) => kernel.instruction === finding.instruction)
      ? h("div", {}, h("button", { type: "button", class: "link", click: () => document.getElementById("kernels").scrollIntoView() }, "its windows")) : null);
}
