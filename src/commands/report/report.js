"use strict";
// Zoom, detail and keys of the timelines. Without it, the tables say the same.
const settled = [];
for (const timeline of document.querySelectorAll(".timeline")) {
  const scroll = timeline.querySelector(".scroll");
  const picture = timeline.querySelector("svg.lanes");
  const detail = timeline.querySelector(".detail");
  const lanes = [...timeline.querySelectorAll(".lane")];
  const place = (mark) => parseFloat(mark.getAttribute("x"));
  let zoom = 1;
  let kept = null;

  function setZoom(wanted, at = 0.5) {
    const before = (scroll.scrollLeft + scroll.clientWidth * at) / scroll.scrollWidth;
    zoom = Math.min(64, Math.max(1, wanted));
    picture.style.width = `${zoom * 100}%`;
    timeline.classList.toggle("near", zoom >= 4);
    scroll.scrollLeft = before * scroll.scrollWidth - scroll.clientWidth * at;
  }

  // The words of a mark, as text: nothing in them is markup.
  function tell(mark) {
    const [head, ...lines] = mark.querySelector("title").textContent.split("\n");
    const title = document.createElement("b");
    title.textContent = head;
    const rest = lines.map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    });
    detail.replaceChildren(title, ...rest);
  }

  function keep(mark) {
    kept?.classList.remove("kept");
    kept = kept === mark ? null : mark;
    kept?.classList.add("kept");
    tell(mark);
  }

  const shown = (lane) => [...lane.querySelectorAll(".m")]
    .filter((mark) => getComputedStyle(mark).display !== "none")
    .sort((one, other) => place(one) - place(other));

  // One mark at a time can be reached by Tab; arrow keys go to the others.
  function focus(mark) {
    if (!mark) return;
    timeline.querySelector(".m[tabindex='0']")?.setAttribute("tabindex", "-1");
    mark.setAttribute("tabindex", "0");
    mark.focus({ preventScroll: true });
    const left = place(mark) / 100 * scroll.scrollWidth;
    if (left < scroll.scrollLeft + 20 || left > scroll.scrollLeft + scroll.clientWidth - 20) {
      scroll.scrollLeft = left - scroll.clientWidth / 2;
    }
    if (!kept) tell(mark);
  }

  function neighbour(mark, key) {
    const lane = mark.closest(".lane");
    const marks = shown(lane);
    const at = marks.indexOf(mark);
    if (key === "ArrowRight") return marks[at + 1];
    if (key === "ArrowLeft") return marks[at - 1];
    if (key === "Home") return marks[0];
    if (key === "End") return marks.at(-1);
    const step = key === "ArrowDown" ? 1 : -1;
    for (let row = lanes.indexOf(lane) + step; lanes[row]; row += step) {
      const near = shown(lanes[row]);
      const distance = (other) => Math.abs(place(other) - place(mark));
      if (near.length) return near.reduce((best, other) => distance(other) < distance(best) ? other : best);
    }
    return null;
  }

  // Who comes by Tab finds a mark that is shown.
  function settle() {
    const now = timeline.querySelector(".m[tabindex='0']");
    if (now && getComputedStyle(now).display !== "none") return;
    now?.setAttribute("tabindex", "-1");
    lanes.flatMap(shown)[0]?.setAttribute("tabindex", "0");
  }

  timeline.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const mark = event.target.closest(".m");
    if (event.key === "+" || event.key === "=") setZoom(zoom * 2);
    else if (event.key === "-") setZoom(zoom / 2);
    else if (event.key === "0") setZoom(1);
    else if (mark && /^(Arrow|Home|End)/.test(event.key)) focus(neighbour(mark, event.key));
    else if (mark && (event.key === "Enter" || event.key === " ")) keep(mark);
    else if (event.key === "Escape" && kept) keep(kept);
    else return;
    event.preventDefault();
  });
  timeline.addEventListener("click", (event) => {
    const mark = event.target.closest(".m");
    const button = event.target.closest("[data-zoom]");
    if (mark) { focus(mark); keep(mark); }
    if (button) setZoom({ in: zoom * 2, out: zoom / 2, all: 1 }[button.dataset.zoom]);
  });
  timeline.addEventListener("pointerover", (event) => {
    const mark = event.target.closest(".m");
    if (mark && !kept) tell(mark);
  });
  scroll.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = scroll.getBoundingClientRect();
    setZoom(zoom * (event.deltaY < 0 ? 1.5 : 1 / 1.5), (event.clientX - box.left) / box.width);
  }, { passive: false });
  settle();
  settled.push(settle);
}

for (const button of document.querySelectorAll(".legend [data-kind]")) {
  button.addEventListener("click", () => {
    const hidden = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!hidden));
    for (const mark of document.querySelectorAll(`.m.${button.dataset.kind}`)) {
      mark.style.display = hidden ? "none" : "";
    }
    for (const settle of settled) settle();
  });
}

// A link to a session opens it.
function openTarget(hash) {
  const session = hash.length > 1 && document.getElementById(hash.slice(1));
  if (!(session instanceof HTMLDetailsElement)) return;
  session.open = true;
  session.scrollIntoView();
}
addEventListener("hashchange", () => openTarget(location.hash));
// Where the address has it already, nothing changes.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link) openTarget(link.hash);
});
openTarget(location.hash);

// What is closed is printed too.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
