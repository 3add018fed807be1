// The filters: parallel coordinates with horizontal axes, one per row, so that their labels read as a list.

// height of a row, as in the style sheet
const ROW = 52;
const INSET = 11;
const filterPlot = { width: 0, strands: new Map(), brushes: [], handles: [], drag: null };
// number of lines that are drawn of many networks, and of those that are left
const MOST_STRANDS = 1000;
const MOST_STRANDS_LEFT = 300;

function buildFilters() {
  byId("filter-labels").replaceChildren(
    ...model.axes.map((axis) =>
      make(
        "li",
        {},
        make("b", {}, axis.label),
        make(
          "div",
          { class: "muted" },
          `${axis.unit} `,
          make("span", { class: axis.better.length < 24 ? "unbroken" : "" }, `← ${axis.better}`),
        ),
      ),
    ),
  );
  byId("clear-filters").addEventListener("click", () => change({ filters: new Map(), rules: [] }));
  const svg = byId("filter-plot");
  svg.addEventListener("pointerdown", startBrush);
  svg.addEventListener("pointermove", moveBrush);
  svg.addEventListener("pointerup", endBrush);
  svg.addEventListener("pointercancel", endBrush);
  new ResizeObserver(layFilters).observe(svg.parentElement);
  renderers.push(renderFilters);
}

/** Draws the parts whose positions depend on the width alone. */
function layFilters() {
  const svg = byId("filter-plot");
  const width = svg.clientWidth;
  if (!width || width === filterPlot.width) return;
  filterPlot.width = width;
  const height = ROW * model.axes.length;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  svg.style.setProperty("--strand", Math.min(0.34, Math.max(0.09, 14 / model.data.ids.length)));
  filterPlot.lines = draw("g");
  filterPlot.strands = new Map();
  spread(
    model.data.ids.map((_, position) => position),
    MOST_STRANDS,
  ).forEach(strandOf);
  const parts = model.axes.map((axis, index) => axisParts(axis, index));
  svg.replaceChildren(...parts.map((part) => part.line), filterPlot.lines, ...parts.map((part) => part.top));
  filterPlot.brushes = parts.map((part) => part.brush);
  filterPlot.handles = parts.map((part) => part.handles);
  filterPlot.ticks = parts.map((part) => part.ticks);
  renderFilters();
}

function axisParts(axis, index) {
  const y = rowMiddle(index);
  const line = draw("line", { class: "axis", x1: INSET, x2: filterPlot.width - INSET, y1: y, y2: y });
  const brush = draw("rect", { class: "brush", y: y - 9, height: 18, rx: 3 });
  const handles = [0, 1].map((side) => handle(axis, index, side));
  // the numbers at the ends are anchored there, so that none is cut off
  const ticks = [0, 1].map((side) =>
    draw("text", { class: "tick halo muted", y: y - 13, "text-anchor": side ? "end" : "start" }),
  );
  return { line, brush, handles, ticks, top: draw("g", {}, brush, ...ticks, ...handles) };
}

function handle(axis, index, side) {
  return draw("rect", {
    class: "handle",
    width: 7,
    height: 20,
    y: rowMiddle(index) - 10,
    rx: 3,
    tabindex: 0,
    role: "slider",
    "aria-label": `${side ? "Most" : "Least"} ${axis.label}${axis.unit ? ` in ${axis.unit}` : ""}`,
    "aria-valuemin": axis.low,
    "aria-valuemax": axis.high,
    "data-axis": index,
    "data-side": side,
    onkeydown: (event) => nudge(event, index, side),
  });
}

const rowMiddle = (index) => index * ROW + ROW / 2 + 4;

function across(axis, value) {
  const room = filterPlot.width - 2 * INSET;
  const [low, at, high] = [axis.low, value, axis.high].map((end) => placeOf(axis, end));
  return INSET + (high > low ? (room * (at - low)) / (high - low) : room / 2);
}

function valueAt(axis, x) {
  const room = filterPlot.width - 2 * INSET;
  const share = Math.min(1, Math.max(0, (x - INSET) / room));
  return axis.isLog ? axis.low * (axis.high / axis.low) ** share : axis.low + share * (axis.high - axis.low);
}

function strandPath(position) {
  const points = model.axes.map(
    (axis, index) => `${across(axis, axis.values[position]).toFixed(1)} ${rowMiddle(index)}`,
  );
  return `M${points.join("L")}`;
}

/** At most `number` items, evenly spread over a list. */
function spread(items, number) {
  const stride = Math.max(1, items.length / number);
  return items.filter((_, index) => Math.floor(index / stride) !== Math.floor((index - 1) / stride));
}

/** The line of a network, drawn when it is first needed. */
function strandOf(position) {
  if (filterPlot.strands.has(position)) return;
  const strand = draw("path", { d: strandPath(position) });
  filterPlot.strands.set(position, strand);
  filterPlot.lines.append(strand);
}

function renderFilters() {
  if (!filterPlot.width) return;
  const marked = view.pin === null ? [view.selected] : [view.pin, view.selected];
  for (const position of [...marked, ...spread(view.left, MOST_STRANDS_LEFT)]) strandOf(position);
  for (const [position, strand] of filterPlot.strands) {
    const role =
      position === view.selected
        ? "selected"
        : position === view.pin
          ? "pinned"
          : view.isLeft.has(position)
            ? ""
            : "out";
    setClass(strand, `strand ${role}`);
  }
  model.axes.forEach(renderAxis);
  const total = model.data.ids.length;
  const isFiltered = view.filters.size + view.rules.length > 0;
  byId("left").textContent = isFiltered ? `${view.left.length} of ${total} left` : "drag along an axis";
  renderDrops();
  byId("clear-filters").hidden = !isFiltered;
  const drawn = filterPlot.strands.size;
  byId("strand-note").hidden = drawn === total;
  byId("strand-note").textContent =
    `${drawn.toLocaleString("en")} of ${total.toLocaleString("en")} networks have a line; filters and rules look at all.`;
}

/** Where nothing is left: the limits and rules without which something would be. */
function renderDrops() {
  byId("drops").hidden = view.left.length > 0;
  if (view.left.length) return;
  const drops = [
    ...[...view.filters.keys()].map((axis) => ({
      text: `the limits of ${model.axes[axis].label}`,
      patch: { filters: new Map([...view.filters].filter(([other]) => other !== axis)) },
    })),
    ...view.rules.map((rule) => ({
      text: `“${ruleText(rule)}”`,
      patch: { rules: view.rules.filter((other) => other !== rule) },
    })),
  ].map((drop) => ({ ...drop, number: model.data.ids.filter((_, at) => passes(at, drop.patch)).length }));
  const useful = drops.filter(({ number }) => number > 0);
  byId("drops").replaceChildren(
    make("span", {}, useful.length ? "Drop" : "No single rule is to blame."),
    ...useful.map(({ text, patch, number }) =>
      make("button", { type: "button", onclick: () => change(patch) }, named(text), ` (${number} left)`),
    ),
  );
}

function renderAxis(axis, index) {
  const filter = view.filters.get(index);
  const ends = filter ?? [axis.low, axis.high];
  const xs = axis.high > axis.low ? ends.map((end) => across(axis, end)) : [INSET, filterPlot.width - INSET];
  const brush = filterPlot.brushes[index];
  brush.setAttribute("x", xs[0]);
  brush.setAttribute("width", Math.max(0, xs[1] - xs[0]));
  brush.setAttribute("visibility", filter ? "visible" : "hidden");
  ends.forEach((end, side) => {
    const knob = filterPlot.handles[index][side];
    knob.setAttribute("x", xs[side] - (side ? 0 : 7));
    knob.classList.toggle("active", Boolean(filter));
    knob.setAttribute("aria-valuenow", end);
    knob.setAttribute("aria-valuetext", withUnit(axis, end));
  });
  placeTicks(axis, index, ends, xs);
}

/** Puts the two numbers of an axis at its handles, inside the drawing and without overlap. */
function placeTicks(axis, index, ends, xs) {
  const [low, high] = filterPlot.ticks[index];
  low.textContent = axisText(axis, ends[0]);
  high.textContent = axis.high > axis.low ? axisText(axis, ends[1]) : "";
  ruler.font = "11px sans-serif";
  const [a, b] = [low, high].map((tick) => ruler.measureText(tick.textContent).width + 4);
  const end = filterPlot.width - 1;
  const right = Math.min(end, Math.max(xs[1] + 7, a + b));
  low.setAttribute("x", Math.max(1, Math.min(xs[0] - 7, right - a - b)));
  high.setAttribute("x", right);
}

// ---- brushing

function pointerX(event) {
  return event.clientX - byId("filter-plot").getBoundingClientRect().left;
}

function startBrush(event) {
  if (event.button !== 0) return;
  const y = event.clientY - byId("filter-plot").getBoundingClientRect().top;
  const index = Math.min(model.axes.length - 1, Math.max(0, Math.floor((y - 4) / ROW)));
  const grip = event.target.closest(".handle");
  const axis = model.axes[index];
  if (axis.high === axis.low) return;
  if (grip) {
    const [gripped, side] = [Number(grip.dataset.axis), Number(grip.dataset.side)];
    const ends = view.filters.get(gripped) ?? [model.axes[gripped].low, model.axes[gripped].high];
    filterPlot.drag = { index: gripped, fixed: ends[1 - side], from: null };
    grip.focus({ preventScroll: true });
  } else {
    filterPlot.drag = { index, fixed: valueAt(axis, pointerX(event)), from: pointerX(event) };
  }
  byId("filter-plot").setPointerCapture(event.pointerId);
}

function moveBrush(event) {
  const { drag } = filterPlot;
  if (!drag || (drag.from !== null && Math.abs(pointerX(event) - drag.from) < 4)) return;
  const axis = model.axes[drag.index];
  drag.moved = true;
  setFilter(
    drag.index,
    [drag.fixed, valueAt(axis, pointerX(event))].sort((a, b) => a - b),
  );
}

function endBrush() {
  const { drag } = filterPlot;
  filterPlot.drag = null;
  if (!drag) return;
  if (!drag.moved && drag.from !== null) setFilter(drag.index, null);
  announceLeft();
}

/** Sets or clears the filter of an axis; a filter that every network passes is cleared. */
function setFilter(index, ends) {
  const axis = model.axes[index];
  const filters = new Map(view.filters);
  let [low, high] = ends ?? [axis.low, axis.high];
  if (axis.whole && Math.ceil(low) <= Math.floor(high)) [low, high] = [Math.ceil(low), Math.floor(high)];
  if (low <= axis.low && high >= axis.high) filters.delete(index);
  else filters.set(index, [low, high]);
  change({ filters });
}

const leftText = () => `${view.left.length} of ${model.data.ids.length} networks left`;

function announceLeft() {
  announce(`${leftText()}.`);
}

/** Moves one end of a filter to the next value that a network has, by the keys of a slider. */
function nudge(event, index, side) {
  const axis = model.axes[index];
  const ends = [...(view.filters.get(index) ?? [axis.low, axis.high])];
  const up = axis.sorted.find((value) => value > ends[side]);
  const down = axis.sorted.filter((value) => value < ends[side]).pop();
  const next = {
    ArrowRight: up,
    ArrowUp: up,
    ArrowLeft: down,
    ArrowDown: down,
    Home: axis.low,
    End: axis.high,
  }[event.key];
  if (!["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "Home", "End", "Delete"].includes(event.key))
    return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === "Delete") setFilter(index, null);
  else if (next !== undefined) {
    ends[side] = next;
    if (ends[0] <= ends[1]) setFilter(index, ends);
  }
  announceLeft();
}
