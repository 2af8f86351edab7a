// What a reader looks at in; an address that leads there again out.

/** The module, step, buffer and memory space of an address: `#0&step=98&buffer=12&space=5`. */
function stateOf(hash) {
  const [, module, rest] = /^#(\d+)((?:&\w+=\d+)*)$/.exec(hash) || [];
  const state = { module: module === undefined ? null : Number(module) };
  for (const [, name, number] of (rest || "").matchAll(/&(\w+)=(\d+)/g)) state[name] = Number(number);
  return state;
}

let waiting = 0;
/** Writes the address, not at each of many steps. */
function keepState(page) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (current !== page) return;
    const part = (name, number) => (number === null ? "" : `&${name}=${number}`);
    const hash = `#${page.at}${part("step", page.point === page.peak ? null : page.point)}${part("buffer", page.selected)}${part("space", page.space || null)}`;
    try { history.replaceState(null, "", hash); } catch { /* a page may not, where it is embedded */ }
  }, 250);
}

/** Brings a page to the state of an address. */
function restore(page, { step, buffer, space }) {
  if (page.module.spaces.some((known) => known.memory_space === space)) page.lookAt(space);
  if (step < page.points) page.movePoint(step);
  if (buffer < page.buffers.length) page.select(buffer);
}
