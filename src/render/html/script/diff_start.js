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
  const exceeded = gate.exceeded.filter(({ name, increase_bytes: bytes }) => !module || (name === module.name && bytes === difference(module.hbm.required)));
  if (exceeded.length === 0) return h("p", { class: "notice", id: "gate" }, h("b", { class: "fits" }, "holds "), `${module ? module.name : "No module"} grew by ${module ? "no " : ""}more than ${gate.max_increase}.`);
  const said = exceeded.slice(0, MOST).map((over) => h("p", {}, h("b", { class: "does-not-fit" }, "FAILED "),
    `${over.name} grew by ${size(over.increase_bytes)}; --max-increase ${gate.max_increase} allows ${size(over.allowed_bytes)}`));
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

function diffStart() {
  const { modules, added, removed } = data.diff;
  const isAmbiguous = (name) => modules.filter((module) => module.name === name).length > 1;
  const row = (module) => {
    const { required } = module.hbm;
    const bytes = difference(required);
    return h("tr", {},
      h("td", {}, h("a", { href: `#${modules.indexOf(module)}` }, module.name),
        h("div", { class: `narrow small ${module.verdicts.new}` }, verdictWords(module)),
        h("div", { class: "quiet small" }, module.old_name ? `was ${module.old_name}` : isAmbiguous(module.name) ? folderOf(module.files.new) : "")),
      h("td", { class: `wide ${module.verdicts.new}` }, verdictWords(module)),
      h("td", { class: "number wide" }, sizeAsXla(required.old_bytes)), h("td", { class: "number" }, sizeAsXla(required.new_bytes)),
      h("td", { class: `number ${direction(bytes)}` }, signed(bytes), h("div", { class: "small" }, percent(required))),
      h("td", { class: "wide bar" }, deltaBar(bytes, Math.max(required.old_bytes, required.new_bytes))),
      h("td", { class: "wide" }, counts(module)));
  };
  const heads = [["module"], ["verdict", "wide"], ["needed", "number wide"], ["needs", "number"], ["change", "number"], ["of the larger side", "wide bar"], ["what changed", "wide"]];
  const changed = modules.filter((module) => !isUnchanged(module));
  const same = modules.filter(isUnchanged);
  return [
    gateNotice(), otherNotices({ compilers: modules.map((module) => module.compilers).find(Boolean) }),
    h("section", { id: "changed" }, h("h2", {}, changed.length ? `${plural(changed.length, "module")} changed, grown most first` : modules.length ? "No module changed" : "No module is on both sides"),
      changed.length ? plainTable("Modules that changed", heads, changed.map(row)) : null),
    alone("Only on the new side", added), alone("Only on the old side", removed),
    same.length === 0 ? null : h("section", {}, h("details", { open: changed.length === 0 || null },
      h("summary", {}, h("b", {}, `${plural(same.length, "module")} unchanged`)), plainTable("Modules that did not change", heads, same.map(row)))),
    diagnostics(),
  ];
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
