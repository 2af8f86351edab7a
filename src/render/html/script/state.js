// What a reader looks at in; an address that leads there again out.

/** The numbers of an address: `#0&step=98&buffer=12&space=5`, the module first. */
function stateOf(hash) {
  const [, module, rest] = /^#(\d+)((?:&\w+=\d+)*)$/.exec(hash) || [];
  const state = {};
  for (const [, name, number] of (rest || "").matchAll(/&(\w+)=(\d+)/g)) state[name] = Number(number);
  return { ...state, module: module === undefined ? null : Number(module) };
}

let waiting = 0;
/** Writes the address, not at each of many steps. */
function keepState(page) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (current !== page) return;
    const parts = Object.entries(page.state()).filter(([, number]) => number !== null).map(([name, number]) => `&${name}=${number}`);
    try { history.replaceState(null, "", `#${page.at}${parts.join("")}`); } catch { /* a page may not, where it is embedded */ }
  }, 250);
}
