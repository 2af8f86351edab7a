// A module in; whether it fits, with the bar of what its memory splits into, out.

const SPLIT = [
  ["parameters_bytes", "parameter", "arguments"], ["outputs_bytes", "output", "results"],
  ["constants_bytes", "constant", "constants"], ["temporaries_bytes", "activation", "temporaries at the peak"],
  ["thread_local_bytes", "constant", "thread-local"], ["fragmentation_bytes", "gap", "fragmentation"],
  ["sparsecore_bytes", "collective", "SparseCores"],
];
const VERDICTS = {
  "does-not-fit": "DOES NOT FIT", fits: "fits", "fits-at-least": "fits as far as is known",
  "no-limit": "no limit", unknown: "capacity not known",
};

function machine(module) {
  const mesh = module.mesh.map((axis) => `"${axis.name}"=${axis.size}`).join(" x ");
  const chip = [module.backend.toUpperCase(), module.chip].filter(Boolean).join(" ");
  return [chip, plural(module.devices, "device"), mesh && `mesh ${mesh}`].filter(Boolean).join(", ");
}

/** What a bar of its own is as wide as. */
function wholeOf(hbm) {
  return Math.max(hbm.required_bytes, hbm.total_bytes, 1);
}

function splitBar(hbm, thin, whole = wholeOf(hbm)) {
  const parts = SPLIT.filter(([field]) => hbm[field] > 0);
  const words = parts.map(([field, , label]) => `${label} ${size(hbm[field])}`).join(", ");
  const bar = h("div", { class: thin ? "split thin" : "split", role: "img", "aria-label": words, title: words });
  for (const [field, name] of parts) {
    bar.append(h("i", { style: { background: `var(--${name})`, width: `${(100 * hbm[field]) / whole}%` } }));
  }
  return bar;
}

function headline(page) {
  const { hbm } = page.module;
  const available = hbm.available_bytes;
  const over = available === null ? 0 : hbm.required_bytes - available;
  const words = available === null
    ? `${sizeAsXla(hbm.required_bytes)} needed`
    : over > 0
      ? `${sizeAsXla(hbm.required_bytes)} needed, ${sizeAsXla(available)} available: ${sizeAsXla(over)} too much`
      : `${sizeAsXla(hbm.required_bytes)} of ${sizeAsXla(available)} (${share(hbm.required_bytes, available)})`;
  const parts = SPLIT.filter(([field]) => hbm[field] > 0).map(([field, name, label]) =>
    h("li", {}, h("span", { class: "swatch", style: { background: `var(--${name})` } }),
      `${label} `, h("b", {}, size(hbm[field])), ` ${share(hbm[field], hbm.total_bytes)}`));
  const quality = page.module.figures === "exact" ? null
    : h("p", { class: "notice" }, `Figures are ${page.module.figures === "estimate" ? "an estimate" : "a lower bound"}. `,
      (page.module.caveats || []).join("; "));
  const left = page.view.left_out.length ? h("p", { class: "notice", id: "left-out" }, `Left out: ${page.view.left_out.join("; ")}.`) : null;
  const padding = page.module.padding_bytes;
  const errors = over > 0 ? [] : page.found.filter(({ finding }) => finding.level === "error");
  const rules = [...new Set(errors.map(({ finding }) => finding.rule))].join(", ");
  return h("section", { "aria-label": "Headline" },
    h("p", { class: `headline ${page.module.verdict}`, id: "headline" }, h("b", {}, VERDICTS[page.module.verdict]), words),
    errors.length ? h("p", { class: "does-not-fit", id: "errors" }, h("b", {}, `But ${plural(errors.length, "error")}: ${rules}`)) : null,
    h("p", { class: "quiet" }, machine(page.module), hbm.peak_live_bytes === null ? "" : ` · peak `,
      hbm.peak_live_bytes === null ? "" : h("b", { id: "peak" }, size(hbm.peak_live_bytes)),
      padding > 0 ? ` · lost to padding at the peak ${size(padding)}` : "",
      hbm.aliased_bytes > 0 ? ` · donated ${size(hbm.aliased_bytes)}` : ""),
    splitBar(hbm, false), h("ul", { class: "legend small" }, parts), quality, left);
}

/** What is alive at the peak, by cause: the largest with their lines. */
function causes(page) {
  const { peak } = page.module;
  const groups = peak ? peak.alive.groups.filter(({ bytes }) => bytes > 0) : [];
  if (groups.length === 0) return null;
  const MOST = 4;
  const whole = groups.reduce((sum, { bytes }) => sum + bytes, 0);
  const row = ({ bytes, title, source }) => h("tr", {}, h("td", { class: "number" }, size(bytes)),
    h("td", { class: "number quiet" }, share(bytes, whole)), h("td", {}, title), h("td", { class: "mono" }, place(source)));
  const rows = groups.map(row);
  return h("section", { id: "causes" }, h("h2", {}, "Alive at the peak"),
    h("div", { class: "scroll" }, h("table", { "aria-label": "Alive at the peak, by cause" }, h("tbody", {}, rows.slice(0, MOST)))),
    rows.length > MOST ? h("details", {}, h("summary", {}, `${rows.length - MOST} smaller`), h("table", { "aria-label": "The smaller ones" }, h("tbody", {}, rows.slice(MOST)))) : null);
}
