// The part of the drawing that the frame shows: zoom, pan, fit, full screen.

const ZOOM_STEP = 1.25;
const CLOSEST = 4;
const zoom = {
  // centre of the part that is shown, and pixels of the screen per unit of the drawing; null for the start
  centre: null,
  scale: null,
  frame: { width: 680, height: 600 },
  drag: null,
};

function buildZoom() {
  const frame = byId("graph-frame");
  new ResizeObserver(([{ contentRect }]) => {
    const { width, height } = contentRect;
    // a hidden drawing has no size
    if (!width || !height) return;
    zoom.frame = { width, height };
    renderGraph();
  }).observe(byId("graph"));
  byId("zoom-in").addEventListener("click", zoomIn);
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / ZOOM_STEP));
  byId("whole").addEventListener("click", showWhole);
  byId("full-screen").addEventListener("click", toggleFullScreen);
  frame.addEventListener("wheel", turnWheel, { passive: false });
  frame.addEventListener("pointerdown", startPan);
  frame.addEventListener("pointermove", movePan);
  frame.addEventListener("pointerup", endPan);
  frame.addEventListener("pointercancel", endPan);
  // the click that ends a pan opens nothing
  frame.addEventListener(
    "click",
    (event) => {
      if (zoom.panned) event.stopPropagation();
      zoom.panned = false;
    },
    true,
  );
  frame.addEventListener("focusin", (event) => bringIntoView(event.target));
  document.addEventListener("fullscreenchange", () => {
    byId("full-screen").setAttribute("aria-pressed", document.fullscreenElement !== null);
    resetZoom();
  });
  window.matchMedia("print").addEventListener("change", renderZoom);
  buildOverview();
}

const fitScale = () =>
  Math.min(zoom.frame.width / graph.drawing.width, zoom.frame.height / graph.drawing.height, LARGEST);

/** Shows a drawing from its start: all of it, or as much as fits at a readable size. */
function resetZoom() {
  Object.assign(zoom, { centre: null, scale: null });
  renderZoom();
}

function showWhole() {
  zoom.scale = fitScale();
  zoom.centre = [graph.drawing.width / 2, graph.drawing.height / 2];
  renderZoom();
  announce("The whole drawing is shown.");
}

/** The centre and the scale of what is shown. */
function shownPart() {
  const { width, height } = graph.drawing;
  const scale = zoom.scale ?? startScale(fitScale(), zoom.frame, graph.drawing.hasBars);
  // at the start the top of a drawing that is too high is shown
  const centre = zoom.centre ?? [width / 2, Math.min(height, zoom.frame.height / scale) / 2];
  return { scale, centre };
}

function renderZoom() {
  const { width, height } = graph.drawing;
  const { scale, centre } = shownPart();
  const [wide, high] = [zoom.frame.width / scale, zoom.frame.height / scale];
  const isPrinted = window.matchMedia("print").matches;
  const corner = [centre[0] - wide / 2, centre[1] - high / 2];
  const box = isPrinted ? [0, 0, width, height] : [...corner, wide, high];
  byId("graph").setAttribute("viewBox", box.map((value) => value.toFixed(2)).join(" "));
  const isWhole =
    corner[0] <= 1 && corner[1] <= 1 && corner[0] + wide >= width - 1 && corner[1] + high >= height - 1;
  byId("whole").setAttribute("aria-pressed", isWhole);
  const isSmall = isWhole && scale < NEARLY_READABLE;
  byId("part-note").hidden = isWhole && !isSmall;
  byId("part-note").textContent = isSmall
    ? "All of the drawing, in small letters."
    : "A part of the drawing: drag it, or press Fit.";
  renderOverview(corner, [wide, high], isWhole, isSmall);
  // fingers that moved an enlarged drawing would otherwise scroll the page
  byId("graph-frame").classList.toggle("enlarged", zoom.scale !== null && !isWhole);
  document.body.dataset.scale = scale;
}

/** Enlarges the drawing by a step, or until its names are readable if they are small. */
function zoomIn() {
  const { scale } = shownPart();
  if (scale < NEARLY_READABLE) enlargeDrawing();
  else zoomBy(ZOOM_STEP);
}

/** Zooms by a factor around a point of the frame, its middle by default. */
function zoomBy(factor, at = [zoom.frame.width / 2, zoom.frame.height / 2]) {
  const { scale, centre } = shownPart();
  const next = Math.min(Math.max(scale * factor, fitScale() * 0.8), CLOSEST);
  const offset = [at[0] - zoom.frame.width / 2, at[1] - zoom.frame.height / 2];
  zoom.centre = centre.map((value, axis) => value + offset[axis] * (1 / scale - 1 / next));
  zoom.scale = next;
  renderZoom();
}

/** Moves the part that is shown by pixels of the screen. */
function panBy(dx, dy) {
  const { scale, centre } = shownPart();
  const { width, height } = graph.drawing;
  const within = (value, most) => Math.min(Math.max(value, 0), most);
  zoom.scale = scale;
  zoom.centre = [within(centre[0] + dx / scale, width), within(centre[1] + dy / scale, height)];
  renderZoom();
}

function turnWheel(event) {
  const scrolls = document.documentElement.scrollHeight > window.innerHeight + 1;
  // where the page scrolls, the wheel alone scrolls it
  if (scrolls && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const frame = byId("graph-frame").getBoundingClientRect();
  zoomBy(Math.exp(-event.deltaY * 0.0015), [event.clientX - frame.left, event.clientY - frame.top]);
}

/** Pixels by which a pointer may move within a click. */
const slackOf = ({ pointerType }) => (pointerType === "touch" ? 10 : 4);

function startPan(event) {
  // a second finger belongs to the browser's own zoom
  if (event.button === 0 && event.isPrimary)
    zoom.drag = { x: event.clientX, y: event.clientY, id: event.pointerId, slack: slackOf(event) };
  zoom.panned = false;
}

function movePan(event) {
  const { drag } = zoom;
  if (!drag || event.pointerId !== drag.id) return;
  const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
  if (!zoom.panned && Math.hypot(dx, dy) < drag.slack) return;
  if (!zoom.panned) byId("graph-frame").setPointerCapture(drag.id);
  zoom.panned = true;
  Object.assign(drag, { x: event.clientX, y: event.clientY });
  panBy(-dx, -dy);
}

function endPan() {
  zoom.drag = null;
}

/** Moves the drawing so that a box that has the focus is seen, unless a pointer is on it: a click must not miss it. */
function bringIntoView(target) {
  const node = target.closest(".node");
  if (!node || zoom.drag) return;
  const { scale, centre } = shownPart();
  const [x, y] = graph.drawing.centres[Number(node.dataset.variable)];
  const room = [zoom.frame.width / scale / 2 - 60, zoom.frame.height / scale / 2 - 30];
  if (Math.abs(x - centre[0]) <= room[0] && Math.abs(y - centre[1]) <= room[1]) return;
  panBy((x - centre[0]) * scale, (y - centre[1]) * scale);
}

function toggleFullScreen() {
  const change = document.fullscreenElement
    ? document.exitFullscreen()
    : (byId("look").requestFullscreen?.() ?? Promise.reject(new Error("unknown")));
  change.catch(() => announce("This browser does not show parts of the page in full screen."));
}
