// Changes of buffers in; a table to sort and filter, the lines and operations they come from, and a
// card of the chosen one, out.

function changesSection(page) {
  const input = (kind, attributes, change) => h("input", { type: kind, ...attributes, [kind === "search" ? "input" : "change"]: change });
  const filter = input("search", { id: "filter", placeholder: "Filter: op_name, file, >64MiB", title: FILTER_HELP, "aria-label": "Filter changes", size: "30" },
    (event) => { page.table.filterBy(event.target.value); });
  page.spaces = [...new Set(page.changes.flatMap((change) => SIDES.map((side) => change[side] && change[side].memory_space)))].filter((space) => space !== null).sort((a, b) => a - b);
  const names = { 0: page.diff.memory, ...page.view.old.spaces, ...page.view.new.spaces };
  page.spaceName = (space) => names[space] || `memory space ${space}`;
  page.spaceChoice = h("select", { id: "space", "aria-label": "Memory space", change: (event) => page.lookAt(event.target.value === "all" ? null : Number(event.target.value)) },
    [...page.spaces, "all"].map((number) => h("option", { value: number, selected: number === (page.space ?? "all") }, number === "all" ? "all memory spaces" : page.spaceName(number))));
  const atPeak = h("label", {}, input("checkbox", { id: "at-peak" }, (event) => { page.atPeak = event.target.checked; page.update(); }), "alive at a peak");
  const toggles = BECAME.filter((what) => page.changes.some(({ change }) => change === what)).map((what) =>
    h("button", { type: "button", "aria-pressed": "true", "data-change": what, click: (event) => {
      const isShown = page.hidden.delete(what) || !page.hidden.add(what);
      event.currentTarget.setAttribute("aria-pressed", String(isShown));
      page.update();
    } }));
  page.toggles = toggles;
  page.chips = h("span", {});
  const body = page.changes.length === 0 ? h("p", { class: "quiet" }, page.unknown || "No buffer came, went or changed.")
    : [h("div", { class: "bar-row" }, filter, page.spaceChoice, atPeak, page.chips), h("div", { class: "bar-row", role: "group", "aria-label": "Changes shown" }, toggles),
      h("div", { class: "workspace" }, page.table.element, page.card)];
  return h("section", { id: "changes", class: "changes" }, h("h2", {}, "Buffers that changed"),
    h("p", { class: "quiet small" }, "Known by operation, opcode and shape, not by the names of instructions."), body);
}

class ChangeTable extends Rows {
  constructor(page) {
    super(page, "Buffers that changed", [["change", "change", "number"], ["size", "old → new", "number"], ["what", "what"], ["source", "line"]]);
  }

  update() {
    super.update();
    const sum = (sign) => this.rows.reduce((sum, { bytes }) => sum + (sign * bytes > 0 ? bytes : 0), 0);
    this.sum.textContent = `${plural(this.rows.length, "change")}: ${signed(sum(1))}, ${signed(sum(-1))}`;
    this.most = this.rows.reduce((most, { bytes }) => Math.max(most, Math.abs(bytes)), 1);
    const { page } = this;
    const there = page.there();
    for (const toggle of page.toggles) toggle.textContent = `${there.filter(({ change }) => change === toggle.dataset.change).length} ${toggle.dataset.change}`;
    page.chips.replaceChildren(...(page.part === null ? [] : [h("button", { type: "button", class: "chip", click: () => page.choosePart(null) }, `from ${page.part} ✕`)]));
    this.drawRows();
  }

  cells({ change, bytes, sizes, old, new: now, op_name: name, opcode, source }) {
    const shapes = old && now && counted(old) !== counted(now) ? `${counted(old)} → ${counted(now)}` : counted(now || old);
    const kinds = [...new Set([old, now].filter(Boolean).map((held) => kindOf(held, this.page)))].join(" → ");
    return [
      h("span", { role: "gridcell", class: "number" }, h("div", { class: direction(bytes) }, signed(bytes)),
        h("div", { class: "small quiet" }, change)),
      h("span", { role: "gridcell", class: "number small quiet" }, h("div", {}, old ? size(sizes.old_bytes) : "–"), h("div", {}, now ? size(sizes.new_bytes) : "–")),
      h("span", { role: "gridcell", class: "what", title: `${shapes} ${name}` }, h("div", { class: "cut mono" }, shapes),
        h("div", { class: "cut small quiet" }, [kinds, name, name ? "" : opcode].filter(Boolean).join(" · "))),
      h("span", { role: "gridcell", class: "cut small" }, place(source)),
    ];
  }
}

/** What is searched of a change. */
function searchOfChange(change) {
  const held = SIDES.map((side) => change[side]).filter(Boolean);
  return searchParts({ op: change.op_name, source: change.source, name: change.opcode, shape: held.map(({ shape }) => shape).join(" "),
    kind: `${change.change} ${held.map(({ kind, is_donated: isDonated }) => kind + (isDonated ? " donated" : "")).join(" ")}` });
}

/** `temporary`, `donated`; where it is, outside of HBM. */
function kindOf(held, page) {
  if (held.memory_space !== 0) return `in ${page.spaceName(held.memory_space)}`;
  return held.is_donated ? "donated" : held.kind;
}

function nameOfChange(change) {
  return `${counted(change.new || change.old)} ${change.op_name || change.opcode}`;
}

/** What a change is counted with: its line, or its operation. */
function partOf(change, by) {
  if (by === "source" && change.source) return place(change.source);
  const isArgument = [change.old, change.new].some((held) => held && held.kind === "parameter");
  if (isArgument) return "arguments";
  return by === "source" ? "no line" : change.op_name || change.opcode;
}

/** Lines or operations with what changed there, the largest first: a bar each. */
function drawParts(page) {
  const MOST = 12;
  const sums = new Map();
  for (const change of page.shown()) {
    const part = partOf(change, page.by);
    const sum = sums.get(part) || { old_bytes: 0, new_bytes: 0 };
    for (const field of ["old_bytes", "new_bytes"]) sum[field] += change.sizes[field];
    sums.set(part, sum);
  }
  const parts = [...sums].filter(([, sum]) => difference(sum) !== 0).sort((a, b) => Math.abs(difference(b[1])) - Math.abs(difference(a[1])));
  const most = parts.length ? Math.abs(difference(parts[0][1])) : 1;
  page.parts.replaceChildren(...parts.slice(0, MOST).map(([part, sum]) => h("button", { type: "button", class: "part-row", "aria-pressed": String(page.part === part),
    click: () => page.choosePart(page.part === part ? null : part) },
  h("span", { class: "cut mono" }, part), deltaBar(difference(sum), most), h("span", { class: `number ${direction(difference(sum))}` }, signed(difference(sum))))),
  parts.length === 0 ? h("p", { class: "quiet" }, "Nothing is larger or smaller.") : "",
  parts.length > MOST ? h("p", { class: "quiet small" }, `and ${parts.length - MOST} with smaller changes`) : "");
}

function partsSection(page) {
  if (page.changes.length === 0) return null;
  page.parts = h("div", { class: "parts", id: "parts" });
  return h("section", {}, h("div", { class: "bar-row" }, h("h2", {}, "Where it changed"),
    choices("Sums by", [["source", "by source line"], ["op_name", "by op_name"]], page.by, (by) => { page.by = by; page.choosePart(null); })),
  page.parts, h("p", { class: "quiet small no-print" }, "Sums of the buffers that changed, alive at the peak or not. Choose one to filter the table by it."));
}

function drawChangeCard(page) {
  const change = page.selected === null ? null : page.changes[page.selected];
  page.card.classList.toggle("open", Boolean(change));
  if (!change) {
    page.card.replaceChildren(h("p", { class: "quiet" }, "Choose a buffer in the table: its shapes, and when it is alive on each side."));
    return;
  }
  const pair = (name, value) => value ? [h("dt", {}, name), h("dd", {}, value)] : [];
  const { size: sizes } = change;
  const bytes = difference(sizes);
  page.card.replaceChildren(
    h("div", { class: "spread" }, h("h3", { id: "card-title" }, change.op_name || change.opcode), closeButton(page)),
    h("div", {}, h("b", { class: direction(bytes) }, signed(bytes)), ` ${change.change}, ${size(sizes.old_bytes)} → ${size(sizes.new_bytes)}`),
    h("dl", {}, pair("opcode", change.op_name ? change.opcode : ""), pair("line", place(change.source))),
    ...SIDES.flatMap((side) => cardSide(page, change, side, pair)));
}

function cardSide(page, change, side, pair) {
  const [held, places] = [change[side], change.places[side]];
  const title = h("h4", {}, h("i", { class: `swatch ${side}` }), side);
  if (!held) return [title, h("p", { class: "quiet" }, "Not there.")];
  const bytes = change.size[`${side}_bytes`];
  const { members, unpadded_bytes: unpadded } = places;
  const { points, peak } = page.view[side];
  const ranges = joined(members);
  const alive = ranges.length === 0 ? "not known" : `steps ${ranges.slice(0, 6).map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ")}${ranges.length > 6 ? ", …" : ""} of ${points}`
    + (members.length < held.count ? `, of ${members.length} of them` : "");
  const names = members.slice(0, 12).map(nameOf).join(", ");
  const more = held.count - Math.min(12, members.length);
  return [title, h("dl", {},
    pair("size", size(bytes) + (unpadded < bytes ? `, ${size(unpadded)} without padding` : "")),
    pair("shape", h("span", { class: "mono" }, held.shape)), pair("how many", held.count > 1 ? String(held.count) : ""),
    pair("kind", `${held.is_donated ? "donated " : ""}${held.kind}, ${page.spaceName(held.memory_space)}`),
    pair("alive", alive), pair("at the peak", peak === null ? "not known" : `${held.alive} of ${held.count} alive`),
    pair("line", places.source && place(places.source) !== place(change.source) ? place(places.source) : ""),
    pair("layout", places.layout), pair("called", names ? h("span", { class: "mono" }, names, more > 0 ? ` and ${more} more` : "") : ""), pair("HLO", hloOf(places, page.diff.files[side])))];
}
