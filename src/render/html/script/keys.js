// The kind of page in; a dialog that lists what keys do out.

/** Of each part of a page what keys do there. */
function keysOf(isDiff) {
  return [
    ["Curve", [["← →", "one step back, on"], ["Page Up, Page Down", "a twentieth of what is in sight"], ["Home, End", "the first, the last step"], ["p", isDiff ? "the new side's peak" : "the peak"]]],
    [isDiff ? "Zoom" : "Curve and map", [["+ −", "closer, further"], ["0", "the whole program"], ["Ctrl + wheel, two fingers", "closer, further at the pointer"]]],
    isDiff ? null : ["Map", [["arrows, dragging", "move"]]],
    ["Table", [["↑ ↓", "another buffer"], ["Enter", "its card"], ["Home, End", "the first, the last"]]],
    ["Anywhere", [["/", "to the filter"], ["Escape", "closes the card"], ["?", "this list"]]],
  ].filter(Boolean);
}

function keysDialog(isDiff) {
  return h("dialog", { id: "keys", "aria-labelledby": "keys-title" }, h("h2", { id: "keys-title" }, "Keys"),
    keysOf(isDiff).map(([where, keys]) => [h("h3", {}, where), h("dl", {}, keys.map(([key, does]) => [h("dt", {}, key), h("dd", {}, does)]))]),
    h("p", {}, FILTER_HELP), h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close")));
}

function openKeys() {
  if (!dialog.open) dialog.showModal();
}

/** Keys that do the same wherever the focus is. */
function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    if (event.key === "Escape" && !dialog.open && current && current.selected !== null) current.select(null);
    else if (isTyping || isForBrowser(event)) return;
    else if (event.key === "?") openKeys();
    else if (event.key === "/" && document.getElementById("filter")) document.getElementById("filter").focus();
    else return;
    event.preventDefault();
  });
}
