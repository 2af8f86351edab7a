// A comparison in; its modules, those that grew most first, with what one side alone has, out.

function isUnchanged(module) {
  const { hbm } = module;
  const figures = Object.values(hbm).filter(Boolean);
  return figures.every((change) => change.old_bytes === change.new_bytes) && !module.old_name && !module.machines
    && ["spaces", "alive_at_peak", "buffers", "kernels", "findings"].every((list) => module[list].length === 0);
}

/** Whether any module grew by more than was allowed, or this one; nothing where nothing was said. */
function gateNotice(module) {
  const { gate } = data.diff;
  if (!gate) return null;
  const MOST = 5;
  const exceeded = gate.exceeded.filter(({ file }) => !module || file === module.files.new);
  if (exceeded.length === 0) return h("p", { class: "notice", id: "gate" }, h("b", { class: "fits" }, "holds "), `${module ? module.name : "No module"} grew by ${module ? "no " : ""}more than ${gate.max_increase}.`);
  const said = exceeded.slice(0, MOST).map((over) => h("p", {}, h("b", { class: "does-not-fit" }, "FAILED "),
    `${over.name}${!module && isAmbiguous(over.name) ? ` (${over.file})` : ""} grew by ${size(over.increase_bytes)}; --max-increase ${gate.max_increase} allows ${size(over.allowed_bytes)}`));
  return h("div", { class: "notice", role: "alert", id: "gate" }, said, exceeded.length > MOST ? h("p", {}, `and ${exceeded.length - MOST} more`) : "");
}

/** What may be another compiler's doing, or another machine's. */
function otherNotices({ compilers, machines }) {
  const differ = (name, said, remark) => said ? h("p", { class: "notice" }, h("b", {}, `other ${name}: `), `${said.new} now, ${said.old} before${remark}`) : null;
  return [differ("compiler", compilers, ": what differs may be their doing, not the program's"), differ("machine", machines, "")];
}

function verdictWords({ verdicts }) {
  const [old, now] = [VERDICTS[verdicts.old], VERDICTS[verdicts.new]];
  return old === now ? `${now}, as before` : `${now}; before: ${old}`;
}

/** `12 buffers`, `2 new findings`: what else changed. */
function counts(module) {
  const count = (became) => module.findings.filter((finding) => finding.change === became).length;
  return [module.buffers.length ? h("div", {}, plural(module.buffers.length, "buffer")) : null,
    module.kernels.length ? h("div", {}, plural(module.kernels.length, "kernel")) : null,
    ...["new", "worse", "better", "gone"].filter((became) => count(became) > 0).map((became) =>
      h("div", { class: isWorse(became) ? "grew" : "shrank" }, `${plural(count(became), "finding")} ${became}`))];
}

/** Whether a finding that became this asks for a look. */
function isWorse(became) {
  return became === "new" || became === "worse";
}

const VERDICT_ORDER = ["does-not-fit", "unknown", "no-limit", "fits-at-least", "fits"];

/** Of each column the word, the style, and what it is sorted by. */
const CHANGED_HEADS = [
  ["module", null, (module) => module.name],
  ["verdict", "wide", ({ verdicts }) => -VERDICT_ORDER.indexOf(verdicts.new)],
  ["needed", "number wide", ({ hbm }) => hbm.required.old_bytes], ["needs", "number", ({ hbm }) => hbm.required.new_bytes],
  ["change", "number", ({ hbm }) => difference(hbm.required)], ["of the larger side", "wide bar"],
  ["what changed", "wide", (module) => module.buffers.length + module.kernels.length + module.findings.length],
];

function diffStart() {
  const { modules, added, removed } = data.diff;
  const numbers = new Map(modules.map((module, at) => [module, at]));
  const row = (module) => changedRow(module, numbers.get(module));
  const table = (label, modules) => new ModuleTable(label, CHANGED_HEADS, modules, row, searchOfPair);
  const changed = table("Modules that changed", modules.filter((module) => !isUnchanged(module)));
  const same = table("Modules that did not change", modules.filter(isUnchanged));
  const heading = changed.entries.length ? `${plural(changed.entries.length, "module")} changed, grown most first` : modules.length ? "No module changed" : "No module is on both sides";
  return [
    gateNotice(), otherNotices({ compilers: modules.map((module) => module.compilers).find(Boolean) }),
    h("section", { id: "changed" }, h("h2", {}, heading), moduleFilter([changed, same], "Filter: name, verdict, rule"), changed.entries.length ? changed.element : null),
    alone("Only on the new side", added), alone("Only on the old side", removed),
    same.entries.length === 0 ? null : h("section", {}, h("details", { open: changed.entries.length === 0 || null },
      h("summary", {}, h("b", {}, `${plural(same.entries.length, "module")} unchanged`)), same.element)),
    diagnostics(),
  ];
}

function changedRow(module, at) {
  const { required } = module.hbm;
  const bytes = difference(required);
  const where = module.old_name ? `was ${module.old_name}` : isAmbiguous(module.name) ? folderOf(module.files.new) : "";
  return h("tr", {},
    h("td", {}, h("a", { href: `#${at}` }, module.name),
      h("div", { class: `narrow small ${module.verdicts.new}` }, verdictWords(module)), h("div", { class: "quiet small" }, where)),
    h("td", { class: `wide ${module.verdicts.new}` }, verdictWords(module)),
    h("td", { class: "number wide" }, sizeAsXla(required.old_bytes)), h("td", { class: "number" }, sizeAsXla(required.new_bytes)),
    h("td", { class: `number ${direction(bytes)}` }, signed(bytes), h("div", { class: "small" }, percent(required))),
    h("td", { class: "wide bar" }, deltaBar(bytes, Math.max(required.old_bytes, required.new_bytes))),
    h("td", { class: "wide" }, counts(module)));
}

function searchOfPair(module) {
  return [module.name, module.old_name, module.files.new, verdictWords(module), ...module.findings.map(({ rule }) => rule)].join("\n");
}

/** How many modules have a name. */
let namesakes = null;
function isAmbiguous(name) {
  if (!namesakes) {
    namesakes = new Map();
    for (const module of data.diff.modules) namesakes.set(module.name, (namesakes.get(module.name) || 0) + 1);
  }
  return namesakes.get(name) > 1;
}

/** The last folder of a path: tells modules of one name apart. */
function folderOf(file) {
  return file.split("/").slice(-2, -1).join("");
}

/** Modules that have no other side to compare with. */
function alone(title, modules) {
  if (modules.length === 0) return null;
  const row = (module) => h("tr", {}, h("td", {}, module.name, h("div", { class: "quiet small" }, module.file)),
    h("td", { class: "number" }, sizeAsXla(module.required_bytes)));
  return h("section", {}, h("h2", {}, title), plainTable(title, [["module"], ["needs", "number"]], modules.map(row)));
}
