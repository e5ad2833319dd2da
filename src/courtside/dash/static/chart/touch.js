// A finger that is drawn sideways over a chart chooses a range, as a dragged pointer does; up and down it scrolls the page.

export function dragByTouch(u, onChosen) {
  const at = (touch) => touch.clientX - u.over.getBoundingClientRect().left;
  let first = null;
  u.over.style.touchAction = "pan-y";
  u.over.addEventListener(
    "touchstart",
    (event) => {
      first = event.touches.length === 1 ? at(event.touches[0]) : null;
    },
    { passive: true },
  );
  u.over.addEventListener(
    "touchmove",
    (event) => {
      if (first === null) return;
      const now = Math.max(0, Math.min(u.over.clientWidth, at(event.touches[0])));
      u.setSelect({ left: Math.min(first, now), width: Math.abs(now - first), top: 0, height: u.over.clientHeight }, false);
    },
    { passive: true },
  );
  u.over.addEventListener("touchend", () => {
    if (first !== null) onChosen();
    first = null;
  });
  u.over.addEventListener("touchcancel", () => {
    first = null;
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  });
}
