// A report in; where its figures come from, and what could not be read, out.

function facts(page) {
  const pair = (name, value) => value ? [h("dt", {}, name), h("dd", {}, value)] : [];
  return h("section", {}, h("h2", {}, "Where the figures come from"), h("dl", {},
    pair("text", page.module.file), pair("stage", page.module.stage), pair("compiler", page.module.compiler),
    pair("spaces", page.module.spaces.map((space) => `${space.name} ${size(space.total_bytes)}`).join(", "))));
}

function diagnostics() {
  const all = (data.report || data.diff).diagnostics;
  if (all.length === 0) return null;
  return h("section", {}, h("h2", {}, "About the input"),
    h("ul", {}, all.map((said) => h("li", {}, `${said.file}: ${said.message}`, said.help ? ` (${said.help})` : ""))));
}
