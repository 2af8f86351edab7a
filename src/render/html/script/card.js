// A buffer in; all that is known of it, in words, out.

/** `while.4{6}`: which part of an instruction's result it is. */
function nameOf(buffer) {
  return buffer.instruction + (buffer.index ? `{${buffer.index.join(",")}}` : "");
}

function drawCard(page) {
  const buffer = page.selected === null ? null : page.buffers[page.selected];
  if (!buffer) {
    page.card.replaceChildren(h("p", { class: "quiet" }, "Choose a buffer in the table, the map or the treemap."));
    return;
  }
  const { view } = buffer;
  const pair = (name, value) => value === null || value === "" || value === undefined ? [] : [h("dt", {}, name), h("dd", {}, value)];
  const list = (names, more) => names && names.length ? h("span", { class: "mono" }, names.join(", "), more ? ` and ${more} more` : "") : null;
  const lost = buffer.lost > 0 ? `${size(buffer.bytes)}, ${size(buffer.unpadded_bytes)} without padding (${(buffer.bytes / Math.max(1, buffer.unpadded_bytes)).toFixed(1)} times as much)` : size(buffer.bytes);
  const live = buffer.start === undefined || buffer.start === null ? "not known"
    : view.ranges ? `steps ${view.ranges.map(([a, b]) => `${a}–${b}`).slice(0, 6).join(", ")}` : `steps ${buffer.start}–${buffer.end} of ${page.points}`;
  const stack = (buffer.stack || []).map((frame) => h("div", { class: "mono" }, `${frame.file}:${frame.line} ${frame.function || ""}`));
  page.card.replaceChildren(
    h("h3", { id: "card-title" }, nameOf(buffer)),
    h("div", {}, h("span", { class: "swatch", style: { background: `var(--${view.category})` } }), CATEGORIES[view.category],
      buffer.is_donated ? ", donated" : "", buffer.parameter !== undefined ? `, parameter ${buffer.parameter}` : ""),
    h("dl", {},
      pair("size", lost), pair("alive", live), pair("op_name", buffer.op_name), pair("line", place(buffer.source)),
      pair("shape", h("span", { class: "mono" }, buffer.shape)), pair("layout", view.layout || ""),
      pair("memory", `${spaceName(page, buffer.memory_space)}, allocation ${buffer.allocation}` + (buffer.offset_bytes === null || buffer.offset_bytes === undefined ? "" : `, offset ${buffer.offset_bytes}`)),
      pair("values", buffer.values > 1 ? `${buffer.values} values share it` : ""),
      pair("aliases", list(view.aliases)), pair("users", list(view.users, view.more_users)),
      pair("stack", stack.length ? h("details", {}, h("summary", {}, plural(stack.length, "frame")), stack) : ""),
      pair("HLO", view.text ? h("span", { class: "mono", id: "hlo" }, view.text) : ""),
      pair("", view.line ? `line ${view.line} of ${page.module.file.split("/").pop()}` : "")));
}

function spaceName(page, space) {
  const known = page.module.spaces.find((other) => other.memory_space === space);
  return space === 0 ? page.module.memory : known ? known.name : `memory space ${space}`;
}
