// Mouse, pen and fingers on a canvas in; hovering, choosing, dragging and zooming out.

/** Told are `hover(event)`, `leave()`, `tap(event)`, `drag(dx, dy, event)` in pixels and `zoom(factor, event)`. */
function gestures(canvas, told) {
  const down = new Map();
  let [moved, start] = [false, null];
  const apart = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, event);
    if (down.size > 1) moved = true;
    else [moved, start] = [false, event];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) down.delete(event.pointerId);
    const before = down.get(event.pointerId);
    if (!before) {
      told.hover(event);
      return;
    }
    const wasApart = down.size > 1 ? apart() : 0;
    down.set(event.pointerId, event);
    if (down.size > 1) {
      if (apart() > 0) told.zoom(wasApart / apart(), event);
      return;
    }
    const [right, under] = [event.clientX - start.clientX, event.clientY - start.clientY].map(Math.abs);
    // A finger that goes up or down scrolls the page: the browser takes it over soon.
    if (!moved && event.pointerType === "touch" && under >= right) return;
    moved = moved || Math.hypot(right, under) > 4;
    if (moved) told.drag(event.clientX - before.clientX, event.clientY - before.clientY, event);
  });
  const up = (event) => down.delete(event.pointerId);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", (event) => { up(event); told.leave(); });
  canvas.addEventListener("click", (event) => { if (!moved) told.tap(event); });
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) told.drag(-(event.deltaX || event.deltaY), 0, event);
    else told.zoom(event.deltaY > 0 ? 1.25 : 0.8, event);
  }, { passive: false });
}
