// A module in; what its kernels need of scoped VMEM out.

function kernels(page) {
  const all = page.module.kernels;
  if (all.length === 0) return null;
  const figure = (bytes) => (bytes === null || bytes === undefined ? "" : size(bytes));
  return h("section", {}, h("h2", {}, "Kernels: scoped VMEM"), h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, ["kernel", "needs at least", "may use", "recorded by XLA", "line"].map((word) => h("th", { scope: "col" }, word)))),
    h("tbody", {}, all.map((kernel) => h("tr", {}, h("td", { class: "mono" }, kernel.instruction),
      h("td", {}, figure(kernel.estimated_vmem_bytes)), h("td", {}, figure(kernel.vmem_limit_bytes)),
      h("td", {}, figure(kernel.recorded_vmem_bytes)), h("td", {}, place(kernel.source))))))));
}
