// A drawing that is larger than its frame: a map in the corner shows the part, and a button enlarges small letters.

const MAP = { width: 96, height: 110 };
const overview = { scale: 1 };
// with a larger part in the frame, the map would cover more than it helps to find
const LARGEST_MAPPED = 0.8;

function buildOverview() {
  byId("enlarge-drawing").addEventListener("click", () => {
    enlargeDrawing();
    // the button goes with its first click
    byId("whole").focus();
  });
  const map = byId("overview");
  for (const type of ["pointerdown", "pointermove"])
    map.addEventListener(type, (event) => {
      // the frame must not pan the other way
      event.stopPropagation();
      if (event.buttons & 1) centreOnMap(event);
    });
}

/** Moves the frame to a point of the map. */
function centreOnMap(event) {
  const map = byId("overview").getBoundingClientRect();
  const point = [event.clientX - map.left, event.clientY - map.top].map((pixels) => pixels / overview.scale);
  showAround(point, shownPart().scale);
}

/** Shows the part around a point at a scale, in a frame that is full of the drawing. */
function showAround([x, y], scale) {
  const { width, height } = graph.drawing;
  const within = (value, room, most) =>
    Math.min(Math.max(value, room / 2), Math.max(most - room / 2, room / 2));
  zoom.scale = scale;
  zoom.centre = [within(x, zoom.frame.width / scale, width), within(y, zoom.frame.height / scale, height)];
  renderZoom();
}

/** Shows small letters at a readable size, around the variable that is chosen or has the most edges. */
function enlargeDrawing() {
  showAround(graph.drawing.centres[view.variable ?? mostConnected()], Math.max(shownPart().scale, READABLE));
}

/** The variable with the most edges in the network that is shown; of equals the first. */
function mostConnected() {
  const degrees = model.data.variables.map(() => 0);
  for (const key of model.edges[view.selected]) for (const end of arcOf(key)) degrees[end] += 1;
  return degrees.indexOf(Math.max(...degrees));
}

/** Draws the map of the part that starts at a corner, unless nearly all is shown; offers to enlarge small letters. */
function renderOverview([left, top], [wide, high], isWhole, isSmall) {
  const { width, height, centres, sizes } = graph.drawing;
  byId("enlarge-drawing").hidden = !isSmall;
  const map = byId("overview");
  const seen = (from, room, most) => Math.min(from + room, most) - Math.max(from, 0);
  const share = (seen(left, wide, width) * seen(top, high, height)) / (width * height);
  const isMapped = !isWhole && share < LARGEST_MAPPED;
  map.classList.toggle("shown", isMapped);
  if (!isMapped) return;
  overview.scale = Math.min(MAP.width / width, MAP.height / height);
  for (const [name, value] of Object.entries({ width, height }))
    map.setAttribute(name, value * overview.scale);
  map.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const boxes = centres.map(([x, y], variable) => {
    const [w, h] = sizes[variable];
    const chosen = variable === view.variable ? "chosen" : "";
    return draw("rect", { class: chosen, x: x - w / 2, y: y - h / 2, width: w, height: h });
  });
  map.replaceChildren(...boxes, draw("rect", { class: "part", x: left, y: top, width: wide, height: high }));
}
