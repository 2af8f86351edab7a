// The data block in; the page that the address asks for out.

let data = null;
// The start page is kept as its reader left it: sorted, filtered.
let startContent = null;
const app = document.getElementById("app");
let current = null;
let dialog = null;

function themeButton() {
  const root = document.documentElement;
  const button = h("button", { type: "button", id: "theme", click: () => {
    const isDark = getComputedStyle(root).colorScheme === "dark"
      || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset.theme = isDark ? "light" : "dark";
    remember(root.dataset.theme);
    colours.clear();
    if (current) current.update();
  } }, "light / dark");
  return button;
}

/** Pages from files may not keep anything: then nothing is kept. */
function remember(theme) {
  try { localStorage.setItem("hlolint-theme", theme); } catch { /* not kept */ }
}

/** What the data are: a report, or a comparison of two. */
function kindOfPage() {
  if (!data.diff) return { modules: data.report.modules, others: 0, title: "Memory of the program's modules", start: startPage, Page: ModulePage };
  const { modules, added, removed } = data.diff;
  return { modules, others: added.length + removed.length, title: "What changed", start: diffStart, Page: DiffPage };
}

function show() {
  const { modules, others, title: titleOfAll, start, Page } = kindOfPage();
  const state = stateOf(location.hash);
  const asked = state.module;
  const at = asked !== null && asked < modules.length ? asked : modules.length === 1 && others === 0 ? 0 : null;
  current = at === null ? null : new Page(at);
  const title = at === null ? titleOfAll : data.diff ? `${titleOfAll}: ${modules[at].name}` : modules[at].name;
  const back = at !== null && modules.length + others > 1 ? h("a", { href: "#" }, "All modules") : null;
  // Taken out of the page, a dialog would stay open and be no longer modal.
  dialog.close();
  const content = current ? current.render() : (startContent ||= start());
  const keysButton = h("button", { type: "button", "aria-label": "Keys", title: "Keys (?)", click: openKeys }, "?");
  app.replaceChildren(h("header", {}, h("b", {}, "hlolint"), back, h("h1", {}, title), h("span", { class: "grow" }), keysButton, themeButton()),
    h("main", { id: "main", tabindex: "-1" }, content.filter(Boolean)), dialog);
  document.title = `${title} · hlolint`;
  if (current) {
    current.update();
    current.restore(state);
  }
  window.scrollTo(0, 0);
}

async function unpack() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function main() {
  try { document.documentElement.dataset.theme = localStorage.getItem("hlolint-theme") || ""; } catch { /* not kept */ }
  try {
    data = await unpack();
    dialog = keysDialog(Boolean(data.diff));
    show();
  } catch (error) {
    app.replaceChildren(h("p", { class: "notice", role: "alert" }, `The report cannot be shown: ${error.message}`));
    throw error;
  }
  window.addEventListener("hashchange", show);
  listenToKeys();
  const drawRows = (most) => { if (current) current.table.drawRows(most); };
  window.addEventListener("beforeprint", () => drawRows(PRINTED_ROWS));
  window.addEventListener("afterprint", () => drawRows());
  let resized = 0;
  window.addEventListener("resize", () => { cancelAnimationFrame(resized); resized = requestAnimationFrame(() => current && current.update()); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours.clear(); if (current) current.update(); });
}

main();
