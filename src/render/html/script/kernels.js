// A module's kernels in; what each needs of scoped VMEM, window by window, against its limit, out.

const PARTS = [["operand windows", "parameter"], ["result windows", "output"], ["scratch", "activation"], ["run_scoped", "gradient"], ["compiler's own", "temporary"]];

function kernels(page) {
  const all = page.view.kernels;
  if (all.length === 0) return null;
  const MOST = 40;
  const list = h("div", {}, all.slice(0, MOST).map((kernel, at) => kernelElement(page, kernel, at === 0)));
  const more = all.length > MOST ? h("button", { type: "button", click: (event) => {
    list.append(...all.slice(MOST).map((kernel) => kernelElement(page, kernel, false)));
    event.currentTarget.remove();
  } }, `Show ${all.length - MOST} more`) : null;
  const present = PARTS.filter((_, at) => all.some((kernel) => partsOf(kernel)[at] > 0));
  const legend = present.map(([words, style]) => h("li", {}, h("span", { class: "swatch", style: { background: `var(--${style})` } }), words));
  return h("section", { id: "kernels", "aria-label": "Kernels" }, h("h2", {}, "Kernels: scoped VMEM"),
    h("ul", { class: "legend small" }, legend), list, more);
}

/** What a kernel needs, by part; windows and scratch that the compiler deletes are no part. */
function partsOf(kernel) {
  const windows = (role) => kernel.windows.filter((window) => window.role === role && !window.deleted).reduce((sum, window) => sum + window.bytes, 0);
  const scratch = kernel.scratch.filter((one) => !one.deleted).reduce((sum, one) => sum + one.bytes, 0);
  return [windows("operand"), windows("result"), scratch, kernel.run_scoped_bytes || 0, kernel.internal_scratch_bytes || 0];
}

function kernelElement(page, kernel, isOpen) {
  const { limit_bytes: limit, need_bytes: need } = kernel;
  const words = need === null ? (kernel.unknown || "not known")
    : `${kernel.lower_bound ? "at least " : ""}${size(need)}${limit === null ? "" : ` of ${size(limit)}`}`;
  const verdict = kernel.exceeds ? h("b", { class: "does-not-fit" }, kernel.exceeds === "limit" ? " exceeds its limit (E1001)" : " exceeds the chip's VMEM") : null;
  const buffer = page.byName.get(kernel.instruction);
  return h("details", { class: "kernel", open: isOpen || null },
    h("summary", {}, h("span", { class: "spread" }, h("span", {}, h("b", { class: "mono" }, kernel.name), ` ${words}`, verdict), h("span", { class: "mono" }, place(kernel.source)))),
    need === null ? null : kernelBar(kernel),
    h("p", { class: "small quiet" }, [kernel.grid.length ? `grid ${kernel.grid.map((steps) => steps ?? "?").join(" × ")}` : "",
      kernel.limit_source ? `limit from ${LIMITS[kernel.limit_source]}` : "", kernel.vmem_bytes === null ? "" : `VMEM ${size(kernel.vmem_bytes)}`,
      kernel.used_bytes === null ? "" : `recorded by XLA ${size(kernel.used_bytes)}`,
      kernel.coloured_bytes ? `operands and results kept in VMEM beside it ${size(kernel.coloured_bytes)}` : ""].filter(Boolean).join(" · "),
    " ", linkTo(page, buffer, kernel.instruction)),
    remedyOf(kernel), windowTable(kernel));
}

const LIMITS = { kernel: "the kernel's vmem_limit_bytes", flag: "xla_tpu_scoped_vmem_limit_kib", default: "the compiler's default" };

function kernelBar(kernel) {
  const parts = partsOf(kernel);
  const whole = Math.max(kernel.limit_bytes || 0, kernel.need_bytes, 1) * 1.04;
  const words = parts.map((bytes, at) => (bytes > 0 ? `${PARTS[at][0]} ${size(bytes)}` : "")).filter(Boolean).join(", ");
  const bar = h("div", { class: "split limited", role: "img", "aria-label": words, title: words },
    parts.map((bytes, at) => (bytes > 0 ? h("i", { style: { background: `var(--${PARTS[at][1]})`, width: `${(100 * bytes) / whole}%` } }) : null)));
  if (kernel.limit_bytes !== null) bar.append(h("em", { style: { left: `${(100 * kernel.limit_bytes) / whole}%` }, title: `limit ${size(kernel.limit_bytes)}` }));
  return bar;
}

function remedyOf({ suggestion, suggested_limit_bytes: limit }) {
  const block = ({ role, operand, from, to }) => `${role} ${operand}: ${from.join(" × ")} → ${to.join(" × ")}`;
  return [
    suggestion ? h("p", {}, h("span", { class: "quiet" }, "try "), `blocks ${suggestion.blocks.map(block).join("; ")}`, suggestion.scratch_changes ? ", scratch alike" : "",
      h("span", { class: "saving" }, ` → ${size(suggestion.total_bytes)}`)) : null,
    limit ? h("p", {}, h("span", { class: "quiet" }, suggestion ? "or " : "try "), `vmem_limit_bytes=${limit}`) : null,
  ];
}

function windowTable(kernel) {
  const windows = kernel.windows.map((window) => [`${window.role} ${window.operand}`, window.shape.split("{")[0], window.block.join(" × "),
    window.buffers > 0 ? `${window.buffers} × ${size(window.padded_bytes)}` : "", window.padding_bytes > 0 ? size(window.padding_bytes) : "", size(window.bytes),
    window.deleted ? "deleted by the compiler" : window.in_vmem ? "lies in VMEM already" : ""]);
  const scratch = kernel.scratch.map((one, at) => [`scratch ${at}`, `${one.element_bits} bits`, one.shape.join(" × "), "", "", size(one.bytes), one.deleted ? "deleted by the compiler" : ""]);
  if (windows.length + scratch.length === 0) return null;
  const heads = ["window", "array", "block", "buffers", "padding", "bytes", ""];
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Windows of ${kernel.name}` }, h("table", { class: "nowrap" },
    h("thead", {}, h("tr", {}, heads.map((word) => (word ? h("th", { scope: "col" }, word) : h("td"))))),
    h("tbody", {}, [...windows, ...scratch].map((cells) => h("tr", {}, cells.map((cell, at) => h("td", { class: at === 1 || at === 2 ? "mono" : null }, cell)))))));
}
