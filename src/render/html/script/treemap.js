// Buffers alive in; areas by op_name or source line out.

function treeSection(page) {
  page.crumbs = h("nav", { class: "bar-row crumbs", "aria-label": "Part of the treemap" });
  return h("section", { "aria-label": "What holds it" }, h("div", { class: "bar-row" }, h("h2", {}, "What holds it"),
    choices("Tree by", [["op_name", "by op_name"], ["source", "by source line"]], page.tree, (tree) => {
      page.tree = tree;
      goInto(page, []);
    })),
  page.crumbs, page.treemap, h("p", { class: "quiet small no-print" }, "Choose a part to go into it; the table above lists what it holds."));
}

/** Looks at one part alone, in the treemap and the table; at all where the path is empty. */
function goInto(page, parts) {
  page.path = parts.length > 0 ? { tree: page.tree, parts } : null;
  page.table.update();
  drawTree(page);
  // One buffer alone is what its card is about.
  let node = page.path && nodeAt(page);
  while (node && node.children.size === 1) [node] = node.children.values();
  if (node && node.buffer && node.children.size === 0) page.select(node.buffer.id);
}

/** The part that is looked at. */
function nodeAt(page) {
  const inside = page.alive().filter((buffer) => !page.hidden.has(buffer.view.category) && (!page.path || page.isBelow(buffer)));
  let node = treeOf(inside, page.tree);
  for (const part of page.path ? page.path.parts : []) node = node.children.get(part) || node;
  return node;
}

function drawTree(page) {
  const parts = page.path ? page.path.parts : [];
  const node = nodeAt(page);
  const crumb = (words, to) => h("button", { type: "button", class: "link", click: () => goInto(page, to) }, words);
  page.crumbs.replaceChildren(...(parts.length === 0 ? [] : [crumb("all", []),
    ...parts.map((part, at) => ["/ ", at + 1 < parts.length ? crumb(part, parts.slice(0, at + 1)) : h("b", {}, part)]).flat(),
    ` ${size(node.bytes)}`]));
  drawTreemap(page.treemap, node.children.size > 0 ? node : { ...node, children: new Map([[parts.at(-1), node]]) }, (to) => goInto(page, to));
}

/** Scopes that a name is taken apart into; deeper ones stay together. */
const MOST_SCOPES = 32;

function treePath(buffer, tree) {
  if (tree === "source") {
    if (!buffer.source) return [buffer.view.category === "parameter" ? "arguments" : "no line", buffer.op_name || nameOf(buffer)];
    return [buffer.source.file.split("/").pop(), `${place(buffer.source)} ${buffer.source.function || ""}`.trim(), nameOf(buffer)];
  }
  if (buffer.view.category === "parameter") return ["arguments", buffer.op_name];
  const parts = buffer.op_name.split("/").filter(Boolean);
  const scopes = parts.length > MOST_SCOPES ? [...parts.slice(0, MOST_SCOPES), parts.slice(MOST_SCOPES).join("/")] : parts;
  return [...(scopes.length ? scopes : ["no op_name"]), nameOf(buffer)];
}

function treeOf(buffers, tree) {
  const nodeOf = (parts) => ({ parts, bytes: 0, children: new Map(), buffer: null, held: [] });
  const root = nodeOf([]);
  const nodes = [root];
  for (const buffer of buffers) {
    let node = root;
    node.held.push(buffer);
    for (const part of treePath(buffer, tree)) {
      if (!node.children.has(part)) {
        const child = nodeOf([...node.parts, part]);
        node.children.set(part, child);
        nodes.push(child);
      }
      node = node.children.get(part);
      node.held.push(buffer);
      node.buffer = node.buffer && node.buffer.bytes >= buffer.bytes ? node.buffer : buffer;
    }
  }
  for (const node of nodes) node.bytes = occupied(node.held);
  return root;
}

/** Places parts in a rectangle, each row's parts as square as they get. */
function squarify(parts, box) {
  const placed = [];
  let { x, y, w, h: high } = box;
  let rest = parts.reduce((sum, part) => sum + part.bytes, 0);
  for (let at = 0; at < parts.length && rest > 0;) {
    const short = Math.min(w, high);
    const scale = (w * high) / rest;
    let [row, sum, worst] = [[], 0, Infinity];
    while (at + row.length < parts.length) {
      const next = parts[at + row.length];
      const total = sum + next.bytes;
      const thick = (total * scale) / short;
      const ratios = [...row, next].map((part) => { const long = (part.bytes * scale) / thick; return Math.max(long / thick, thick / long); });
      const ratio = Math.max(...ratios);
      if (row.length > 0 && ratio > worst) break;
      [worst, sum] = [ratio, total];
      row.push(next);
    }
    const thick = (sum * scale) / short;
    let along = 0;
    for (const part of row) {
      const long = (part.bytes * scale) / thick;
      placed.push(w >= high ? { part, x, y: y + along, w: thick, h: long } : { part, x: x + along, y, w: long, h: thick });
      along += long;
    }
    if (w >= high) { x += thick; w -= thick; } else { y += thick; high -= thick; }
    rest -= sum;
    at += row.length;
  }
  return placed;
}

function drawTreemap(element, root, choose) {
  const MOST = 400;
  element.replaceChildren();
  const whole = { x: 0, y: 0, w: element.clientWidth, h: element.clientHeight };
  const fill = (node, box) => {
    const parts = [...node.children.values()].filter((part) => part.bytes > 0).sort((a, b) => b.bytes - a.bytes).slice(0, 60);
    for (const { part, x, y, w, h: high } of squarify(parts, box)) {
      if (w < 4 || high < 4 || element.childElementCount >= MOST) continue;
      let [inner, label] = [part, part.parts[part.parts.length - 1]];
      while (inner.children.size === 1) {
        inner = inner.children.values().next().value;
        label += `/${inner.parts[inner.parts.length - 1]}`;
      }
      const isLeaf = inner.children.size === 0 || w < 40 || high < 40;
      const words = `${size(part.bytes)} ${label}`;
      const whole = `${size(part.bytes)} ${inner.parts.join("/")}`;
      const isShort = isLeaf && (w < 52 || high < 16);
      // What is too small to be aimed at is no button: the table lists it.
      const isButton = w >= 24 && high >= 24;
      element.append(h(isButton ? "button" : "div", { type: isButton ? "button" : null, class: isLeaf ? "tile leaf" : "tile", title: whole,
        "aria-label": isButton && isShort ? whole : null, click: () => choose(part.parts),
        style: { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${high}px`, "--shade": `var(--${part.buffer.view.category})` } },
      isShort ? "" : words));
      if (!isLeaf) fill(inner, { x: x + 4, y: y + 20, w: w - 8, h: high - 24 });
    }
  };
  fill(root, whole);
}
