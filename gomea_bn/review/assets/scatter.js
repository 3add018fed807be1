// The scatter plot of the networks over two axes.

const EDGE = { left: 46, right: 14, top: 10, bottom: 24 };
const scatterPlot = { width: 0, height: 0, dots: [], points: [], frame: "" };
// groups of the dots of networks that are out, and that are left
const dotGroups = { out: draw("g"), left: draw("g") };

function buildScatter() {
  for (const key of ["x", "y"]) {
    const choice = byId(`axis-${key}`);
    choice.replaceChildren(...model.axes.map((axis, index) => make("option", { value: index }, axis.label)));
    choice.addEventListener("change", () => change({ [key]: Number(choice.value) }));
  }
  const svg = byId("scatter");
  svg.addEventListener("click", (event) => select(nearestDot(event)));
  svg.addEventListener("pointermove", (event) => hint(nearestDot(event)));
  svg.append(draw("title"));
  scatterPlot.dots = model.data.ids.map((id) => draw("circle", { "data-id": id }));
  new ResizeObserver(() => {
    [scatterPlot.width, scatterPlot.height] = [svg.clientWidth, svg.clientHeight];
    renderScatter();
  }).observe(svg);
  renderers.push(renderScatter);
}

function hint(position) {
  if (position !== null) byId("scatter").querySelector("title").textContent = spoken(position);
}

function nearestDot(event) {
  const frame = byId("scatter").getBoundingClientRect();
  const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
  let [best, least] = [null, 26];
  scatterPlot.points.forEach(([a, b], position) => {
    // a click near two networks means the one that passes the filters
    const distance = Math.hypot(a - x, b - y) + (view.isLeft.has(position) ? 0 : 8);
    if (distance < least) [best, least] = [position, distance];
  });
  return best;
}

/** Losses to compare those of the networks with, as far as they are in reach: pairs of a loss and its name. */
function referencesOf(axis) {
  if (axis.key !== "target" || !model.data.question?.networks) return [];
  const { prior, naive_bayes } = model.data.question;
  const losses = [
    [prior, "without any column"],
    [naive_bayes, "naive Bayes"],
  ];
  const reach = axis.high - axis.low;
  return losses.filter(([loss]) => loss !== null && loss >= axis.low - reach && loss <= axis.high + reach);
}

function scaleOf(axis, from, to) {
  const values = [axis.low, axis.high, ...referencesOf(axis).map(([loss]) => loss)];
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => placeOf(axis, value));
  const margin = (most - least || Math.abs(least) || 1) * 0.05;
  const [low, high] = [least - margin, most + margin];
  return { low, high, at: (value) => from + ((placeOf(axis, value) - low) / (high - low)) * (to - from) };
}

function renderScatter() {
  byId("axis-x").value = view.x;
  byId("axis-y").value = view.y;
  const { width, height } = scatterPlot;
  if (!width || !height) return;
  const svg = byId("scatter");
  const [xAxis, yAxis] = [model.axes[view.x], model.axes[view.y]];
  const x = scaleOf(xAxis, EDGE.left, width - EDGE.right);
  const y = scaleOf(yAxis, height - EDGE.bottom, EDGE.top);
  scatterPlot.points = model.data.ids.map((_, position) => [
    x.at(xAxis.values[position]),
    y.at(yAxis.values[position]),
  ]);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute(
    "aria-label",
    `${yAxis.label} against ${xAxis.label}; ${leftText()}. ${spoken(view.selected)}`,
  );
  renderDots();
  const grid = [...gridLines(x, y, xAxis, yAxis), ...referenceLines(x, y, xAxis, yAxis)];
  svg.replaceChildren(svg.querySelector("title"), ...grid, dotGroups.out, dotGroups.left, ...marks());
}

/** The ticks of an axis, about `number` of them; whole numbers if the values are. */
function ticksOf(axis, scale, number) {
  if (axis.isLog) return factorTicks(Math.exp(scale.low), Math.exp(scale.high), number);
  const ticks = roundTicks(scale.low, scale.high, number).filter(
    (tick) => !axis.whole || Number.isInteger(tick),
  );
  const stride = ticks.length > 1 ? ticks[1] - ticks[0] : axis.high - axis.low;
  const decimals = axis.whole ? 0 : Math.min(10, Math.max(0, -Math.floor(Math.log10(stride || 1) + 1e-9)));
  return ticks.map((tick) => ({ tick, text: shown(tick, decimals) }));
}

/** Round numbers on a logarithmic axis, at most `number` and two of them. */
function factorTicks(low, high, number) {
  const of = (factors) => {
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
      ticks.push(...factors.map((factor) => factor * power).filter((tick) => tick >= low && tick <= high));
    return ticks;
  };
  const sets = [[1, 2, 5], [1, 3], [1]].map(of);
  const ticks = sets.find((set) => set.length <= number + 2) ?? sets.at(-1);
  return ticks.map((tick) => ({ tick, text: shown(tick, tick < 1 ? 3 : 0) }));
}

function gridLines(x, y, xAxis, yAxis) {
  const { width, height } = scatterPlot;
  const parts = [];
  for (const { tick, text } of ticksOf(xAxis, x, 4)) {
    const at = x.at(tick);
    const anchor = at > width - 30 ? "end" : "middle";
    parts.push(draw("line", { class: "grid", x1: at, x2: at, y1: EDGE.top, y2: height - EDGE.bottom }));
    parts.push(
      draw(
        "text",
        { class: "tick muted", x: anchor === "end" ? width - 2 : at, y: height - 7, "text-anchor": anchor },
        text,
      ),
    );
  }
  for (const { tick, text } of ticksOf(yAxis, y, 4)) {
    const at = y.at(tick);
    parts.push(draw("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: at, y2: at }));
    parts.push(
      draw("text", { class: "tick muted", x: EDGE.left - 7, y: at + 4, "text-anchor": "end" }, text),
    );
  }
  return parts;
}

function referenceLines(x, y, xAxis, yAxis) {
  const { width, height } = scatterPlot;
  const line = (ends, text, place) => [
    draw("line", { class: "reference", ...ends }),
    draw("text", { class: "tick muted halo", "text-anchor": "end", ...place }, text),
  ];
  return [
    ...referencesOf(yAxis).flatMap(([loss, text]) => {
      const at = y.at(loss);
      const place = { x: width - EDGE.right, y: at - 4 };
      return line({ x1: EDGE.left, x2: width - EDGE.right, y1: at, y2: at }, text, place);
    }),
    ...referencesOf(xAxis).flatMap(([loss, text]) => {
      const at = x.at(loss);
      const place = { x: EDGE.top, y: at - 4, transform: "rotate(-90)" };
      return line({ x1: at, x2: at, y1: EDGE.top, y2: height - EDGE.bottom }, text, {
        ...place,
        x: -EDGE.top,
      });
    }),
  ];
}

/** Writes what changed into the dots: a front may have thousands. */
function renderDots() {
  const frame = [scatterPlot.width, scatterPlot.height, view.x, view.y].join();
  const isMoved = frame !== scatterPlot.frame;
  scatterPlot.frame = frame;
  scatterPlot.dots.forEach((dot, position) => {
    const isLeft = position === view.selected || view.isLeft.has(position);
    const role = position === view.selected ? " selected" : isLeft ? "" : " out";
    setClass(dot, `dot${role}${view.stars.has(position) ? " starred" : ""}`);
    const group = isLeft ? dotGroups.left : dotGroups.out;
    if (dot.parentNode !== group) group.append(dot);
    if (!isMoved) return;
    const [cx, cy] = scatterPlot.points[position];
    dot.setAttribute("cx", cx);
    dot.setAttribute("cy", cy);
  });
}

/** Rings and names for the selected and the pinned network, and stars for the shortlist. */
function marks() {
  const parts = [];
  const ring = (position, text, kind) => {
    const [cx, cy] = scatterPlot.points[position];
    const end = cx > scatterPlot.width - 46;
    parts.push(draw("circle", { class: `ring ${kind}`, cx, cy, r: 9 }));
    parts.push(
      draw(
        "text",
        { class: "mark halo", x: cx + (end ? -13 : 13), y: cy + 4, "text-anchor": end ? "end" : "start" },
        text,
      ),
    );
  };
  if (view.pin !== null && view.pin !== view.selected) ring(view.pin, "A", "pinned");
  ring(
    view.selected,
    view.pin === view.selected ? `A = ${idOf(view.selected)}` : String(idOf(view.selected)),
    "",
  );
  for (const position of view.stars) {
    const [x, y] = scatterPlot.points[position];
    parts.push(draw("text", { class: "mark halo", x, y: y - 9, "text-anchor": "middle" }, "★"));
  }
  return parts;
}
