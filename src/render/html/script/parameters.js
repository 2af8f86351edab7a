// A module in; its parameters with their shardings out.

function parameters(page) {
  const all = page.module.parameters;
  if (all.length === 0) return null;
  const MOST = 200;
  const row = (parameter) => h("tr", {}, h("td", { class: "number" }, size(parameter.bytes)),
    h("td", {}, parameter.path), h("td", { class: "mono wide" }, parameter.shape),
    h("td", {}, parameter.is_donated ? "donated" : ""), h("td", {}, h("div", {}, shardingWords(parameter.sharding, page.module)), h("div", { class: "mono quiet" }, page.module.devices === 1 ? "" : parameter.sharding || "")));
  const sorted = [...all].sort((a, b) => b.bytes - a.bytes || a.number - b.number);
  const body = h("tbody", {}, sorted.slice(0, MOST).map(row));
  const more = all.length > MOST ? h("button", { type: "button", click: (event) => {
    for (const parameter of sorted.slice(MOST)) body.append(row(parameter));
    event.currentTarget.remove();
  } }, `Show ${all.length - MOST} more`) : null;
  const heads = [["bytes", "number"], ["argument"], ["shape on one device", "wide"], ["donation"], ["sharding"]];
  return h("section", {}, h("details", { open: all.length <= 12 || null },
    h("summary", {}, h("b", {}, `${plural(all.length, "parameter")}, on one device`)),
    h("div", { class: "scroll" }, h("table", { id: "parameters" },
      h("thead", {}, h("tr", {}, heads.map(([word, style]) => h("th", { class: style || null, scope: "col" }, word)))), body)), more));
}

/** `dimension 0 over "data" (4 parts), replicated over "model" (2)`; empty where the text is of another form. */
function shardingWords(sharding, { mesh, devices }) {
  if (!sharding || devices === 1) return "";
  if (sharding === "{replicated}") return `replicated on all ${devices} devices`;
  const sizes = new Map(mesh.map((axis) => [axis.name, axis.size]));
  const dimensions = [...sharding.matchAll(/\{([^{}]*)\}/g)].map(([, axes]) => [...axes.matchAll(/"([^"]+)"/g)].map(([, name]) => name));
  const used = dimensions.flat();
  if (!sharding.startsWith("[") || used.some((name) => !sizes.has(name))) return "";
  const split = dimensions.map((axes, at) => (axes.length === 0 ? "" : `dimension ${at} over ${axes.map((name) => `"${name}"`).join(" and ")} `
    + `(${axes.reduce((parts, name) => parts * sizes.get(name), 1)} parts)`)).filter(Boolean);
  if (split.length === 0) return `replicated on all ${devices} devices`;
  const rest = mesh.filter(({ name, size }) => size > 1 && !used.includes(name)).map(({ name, size }) => `"${name}" (${size})`);
  return split.join(", ") + (rest.length > 0 ? `, replicated over ${rest.join(" and ")}` : "");
}
