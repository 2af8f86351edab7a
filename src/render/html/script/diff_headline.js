// A module on both sides in; what it needs more or less, its split on both sides, and why, out.

/** The parts that the bars are split into, with the words of their rows. */
const TOTALS = [
  ["sparsecore", "collective", "embedding tables of SparseCores"], ["parameters", "parameter", "parameters"], ["aliased", null, "of them donated"],
  ["outputs", "output", "results"], ["constants", "constant", "constants"], ["temporaries", "activation", "temporaries at the peak"],
  ["thread_local", "constant", "thread-local"], ["fragmentation", "gap", "packing, alignment, tuple tables"], ["padding", null, "padding at the peak"],
];
const CAUSES = {
  argument: "arguments", output: "results", constant: "constants", residual: "kept by loops for the backward pass", gradient: "gradients",
  "argument-copy": "copies of arguments", activation: "activations with a batch dimension", other: "others",
};

/** One side of a comparison, named as a module's figures are. */
function hbmOf(hbm, side) {
  const known = Object.entries(hbm).filter(([, change]) => change);
  return Object.fromEntries(known.map(([name, change]) => [`${name}_bytes`, change[`${side}_bytes`]]));
}

/** `bad → good`: the folders where they differ, else the files. */
function sidesInShort(files) {
  const parts = SIDES.map((side) => files[side].split("/"));
  const from = (count) => parts.map((part) => part.at(-count) || "");
  const names = [2, 1].map(from).find(([old, now]) => old !== now);
  return names ? names.map((name) => name || ".").join(" → ") : files.new;
}

function diffHeadline(page) {
  const { diff, view } = page;
  const { required } = diff.hbm;
  const bytes = difference(required);
  const words = bytes === 0 ? "needs as much as before" : `needs ${size(Math.abs(bytes))} ${bytes > 0 ? "more" : "less"}`;
  const sides = SIDES.map((side) => hbmOf(diff.hbm, side));
  const whole = Math.max(...sides.map(wholeOf));
  return h("section", { "aria-label": "Headline" },
    h("p", { class: "headline", id: "headline" }, h("b", { class: direction(bytes) }, words),
      `${sizeAsXla(required.old_bytes)} → ${sizeAsXla(required.new_bytes)} of ${diff.memory}`, percent(required) ? ` (${percent(required)})` : ""),
    h("p", { class: "quiet small", id: "sides" }, sidesInShort(diff.files)),
    h("p", { id: "verdicts", class: diff.verdicts.new }, verdictWords(diff)),
    gateNotice(diff), otherNotices(diff),
    SIDES.map((side, at) => h("div", { class: "side-bar" }, h("span", {}, side), splitBar(sides[at], false, whole))),
    SIDES.map((side) => view[side].caveats.length ? h("p", { class: "notice" }, `The ${side} side's figures are not exact: ${view[side].caveats.join("; ")}.`) : null),
    view.left_out.length ? h("p", { class: "notice", id: "left-out" }, `Left out: ${view.left_out.join("; ")}.`) : null);
}

function changeCells(change) {
  const bytes = difference(change);
  return [h("td", { class: "number wide" }, size(change.old_bytes)), h("td", { class: "number" }, size(change.new_bytes)),
    h("td", { class: `number ${direction(bytes)}` }, signed(bytes), h("span", { class: "small" }, ` ${percent(change)}`))];
}

const CHANGE_HEADS = [["old", "number wide"], ["new", "number"], ["change", "number"]];

/** What XLA compares with the capacity, then its parts: those that there are. */
function totals(page) {
  const { hbm, spaces } = page.diff;
  const row = (name, change, swatch, part) => h("tr", { class: part ? "part" : null }, h("td", {},
    swatch ? h("span", { class: "swatch", style: { background: `var(--${swatch})` } }) : "", name), changeCells(change));
  const isSame = (change) => SIDES.every((side) => change[`${side}_bytes`] === hbm.required[`${side}_bytes`]);
  const parts = TOTALS.filter(([field]) => SIDES.some((side) => hbm[field][`${side}_bytes`] > 0));
  return h("section", { id: "totals" }, h("h2", {}, "Totals"), plainTable("Totals", [["part"], ...CHANGE_HEADS], [
    row("required", hbm.required),
    isSame(hbm.total) ? null : row("all allocations", hbm.total),
    hbm.peak_live && !isSame(hbm.peak_live) ? row("alive at the peak", hbm.peak_live) : null,
    ...parts.map(([field, swatch, name]) => row(name, hbm[field], swatch, true)),
    ...spaces.map((space) => row(`memory space ${space.memory_space} (${space.name})`, space.total)),
  ].filter(Boolean)));
}

function why(page) {
  const { reasons, alive_at_peak: causes } = page.diff;
  const sized = (reason) => (reason.frees ? -1 : 1) * difference(reason.size);
  const list = reasons.map((reason) => h("li", { class: "spread" }, h("span", {}, reason.message), h("b", { class: direction(sized(reason)) }, signed(sized(reason)))));
  const most = causes.reduce((most, cause) => Math.max(most, Math.abs(difference(cause.alive))), 1);
  const rows = causes.map((cause) => h("tr", {}, h("td", {}, CAUSES[cause.cause] || cause.cause, h("div", {}, deltaBar(difference(cause.alive), most))), changeCells(cause.alive)));
  return h("section", { id: "why" },
    list.length ? [h("h2", {}, "Why"), h("ul", { class: "plain" }, list)] : null,
    rows.length ? [h("h2", {}, "Alive at the peak, by cause"), plainTable("Alive at the peak, by cause", [["cause"], ...CHANGE_HEADS], rows)] : null,
    list.length + rows.length === 0 && (page.unknown || difference(page.diff.hbm.required) !== 0) ? [h("h2", {}, "Why"), h("p", { class: "quiet" }, page.unknown || "The data show no reason.")] : null);
}
