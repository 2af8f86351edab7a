// A module in; its parameters with their shardings out.

function parameters(page) {
  const all = page.module.parameters;
  if (all.length === 0) return null;
  const MOST = 200;
  const row = (parameter) => h("tr", {}, h("td", { class: "number" }, size(parameter.bytes)),
    h("td", {}, parameter.path), h("td", { class: "mono wide" }, parameter.shape),
    h("td", {}, parameter.is_donated ? "donated" : ""), h("td", { class: "mono" }, parameter.sharding || ""));
  const sorted = [...all].sort((a, b) => b.bytes - a.bytes || a.number - b.number);
  const body = h("tbody", {}, sorted.slice(0, MOST).map(row));
  const more = all.length > MOST ? h("button", { type: "button", click: (event) => {
    body.append(...sorted.slice(MOST).map(row));
    event.currentTarget.remove();
  } }, `Show ${all.length - MOST} more`) : null;
  const heads = [["bytes", "number"], ["argument"], ["shape on one device", "wide"], ["donation"], ["sharding"]];
  return h("section", {}, h("details", { open: all.length <= 12 || null },
    h("summary", {}, h("b", {}, `${plural(all.length, "parameter")}, on one device`)),
    h("div", { class: "scroll" }, h("table", { id: "parameters" },
      h("thead", {}, h("tr", {}, heads.map(([word, style]) => h("th", { class: style || null, scope: "col" }, word)))), body)), more));
}
