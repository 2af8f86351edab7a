// A figure on both sides in; the difference in words and as a bar out.

const SIDES = ["old", "new"];
const BECAME = ["new", "grown", "changed", "shrunk", "gone"];

/** New bytes less the old ones. */
function difference(change) {
  return change.new_bytes - change.old_bytes;
}

/** `+32.00 MiB`, `−128.00 MiB`, `0 B`. */
function signed(bytes) {
  return `${bytes > 0 ? "+" : bytes < 0 ? "−" : ""}${size(Math.abs(bytes))}`;
}

/** `+12%`; empty where there is nothing to relate it to. */
function percent(change) {
  const bytes = difference(change);
  const part = (100 * Math.abs(bytes)) / change.old_bytes;
  if (change.old_bytes === 0 || part < 0.005) return "";
  return `${bytes > 0 ? "+" : "−"}${part.toFixed(part >= 9.95 ? 0 : 2)}%`;
}

/** The style of a difference: more is bad, less is good. */
function direction(bytes) {
  return bytes > 0 ? "grew" : bytes < 0 ? "shrank" : "quiet";
}

/** To the right of the middle what came, to the left what went; as wide as `most` at most. */
function deltaBar(bytes, most) {
  const width = `${(50 * Math.abs(bytes)) / Math.max(1, most)}%`;
  return h("span", { class: `delta ${direction(bytes)}`, role: "img", "aria-label": signed(bytes) }, h("i", { style: { width } }));
}

/** Buffers count where they are in the memory space that is looked at; `null` looks at all. */
function changeIn(change, space) {
  const held = (side) => (change[side] && (space === null || change[side].memory_space === space) ? change.size[`${side}_bytes`] : 0);
  return { old_bytes: held("old"), new_bytes: held("new") };
}

/** `2 × f32[8,128]`. */
function counted(held) {
  const shape = held.shape.startsWith("(") ? held.shape : held.shape.split("{")[0];
  return held.count === 1 ? shape : `${held.count} × ${shape}`;
}

/** A table with a caption for those who cannot see its heading. */
function plainTable(label, heads, rows) {
  return h("div", { class: "scroll" }, h("table", { "aria-label": label },
    h("thead", {}, h("tr", {}, heads.map(([word, style]) => h("th", { class: style || null, scope: "col" }, word)))),
    h("tbody", {}, rows)));
}
