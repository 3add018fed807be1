// The drawing of the network. Variables have fixed positions, so only edges change between networks.

// classes of edges in drawing order, the faintest at the bottom
const KINDS = ["there", "here", "reversed", "both", "plain"];
const ARROW = 8.5;
// of edges that the tables leave out
const DASHES = "6 4";
// scale below which names are unreadable; the frame scrolls instead
const SMALLEST = 0.76;
const graph = { nodes: [], edges: null, curves: new Map() };

function buildGraph() {
  const { layout } = model.data;
  for (const [i, j, curve] of layout.curves) graph.curves.set(`${i},${j}`, curve);
  const svg = byId("graph");
  svg.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
  graph.edges = draw("g", {});
  graph.nodes = model.data.variables.map(nodeOf);
  svg.replaceChildren(graph.edges, ...graph.nodes);
  const frame = byId("graph-frame");
  new ResizeObserver(scaleGraph).observe(frame);
  byId("whole").addEventListener("click", () => {
    byId("whole").setAttribute("aria-pressed", byId("whole").getAttribute("aria-pressed") !== "true");
    scaleGraph();
  });
  byId("names").replaceChildren(...model.data.variables.map(({ name }) => make("option", { value: name })));
  byId("find").addEventListener("input", () => findVariable(false));
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") findVariable(true);
  });
  renderers.push(renderGraph);
}

/** Fits the drawing into its frame, but no smaller than readable unless the user asks for it. */
function scaleGraph() {
  const { layout } = model.data;
  const { clientWidth: width, clientHeight: height } = byId("graph-frame");
  const fit = Math.min((width - 2) / layout.width, (height - 2) / layout.height, 1.45);
  const whole = byId("whole");
  whole.hidden = fit >= SMALLEST;
  const scale = whole.getAttribute("aria-pressed") === "true" ? fit : Math.max(fit, SMALLEST);
  byId("graph").setAttribute("width", Math.floor(layout.width * scale));
  byId("graph").setAttribute("height", Math.floor(layout.height * scale));
}

function nodeOf(variable, index) {
  const [x, y, width, height] = model.data.layout.boxes[index];
  const node = draw("g", {
    class: "node",
    tabindex: 0,
    role: "button",
    "data-variable": index,
    transform: `translate(${x} ${y})`,
    onclick: () => lookAt(index),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      lookAt(index);
    },
  });
  const name = fitted(variable.name, width - 34, "12.5px sans-serif");
  node.append(
    draw("title", {}, variable.name),
    draw("rect", { x: -width / 2, y: -height / 2, width, height, rx: 9 }),
    draw("text", { x: -7, y: 4.5, "text-anchor": "middle", direction: textDirection(variable.name) }, name),
    draw("circle", { class: "given", cx: -width / 2, cy: 0, r: 5 }),
    draw("text", { class: "bins", x: width / 2 - 8, y: 4.5, "text-anchor": "end" }),
  );
  return node;
}

const textDirection = (text) =>
  /^[^A-Za-z\u00c0-\u024f]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text) ? "rtl" : "ltr";

/** Number of bins or levels of a variable in a network. */
function binCount(candidate, variable) {
  const cuts = cutsOf(candidate, variable);
  return cuts ? cuts.length + 1 : model.data.variables[variable].levels.length;
}

function renderGraph() {
  const compared = reference();
  const edges = classedEdges(model.edges[view.selected], compared?.edges);
  const near = view.variable === null ? null : blanket(model.edges[view.selected], view.variable);
  const around = new Set(near ? [...near.parents, ...near.children, ...near.partners] : []);
  for (const [index, node] of graph.nodes.entries()) renderNode(node, index, around);
  const ordered = [...edges].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const close = ({ from, to }) =>
    from === view.variable || to === view.variable || (around.has(from) && near.children.includes(to));
  graph.edges.replaceChildren(...ordered.map((edge) => edgeOf(edge, compared, near !== null && close(edge))));
  const svg = byId("graph");
  svg.classList.toggle("dimmed", near !== null);
  const size = counted(model.edges[view.selected].size, "edge");
  svg.setAttribute("aria-label", `Network ${idOf(view.selected)}, ${size}; listed under Network`);
  renderLegend(edges, compared);
}

function renderNode(node, index, around) {
  const { name, continuous } = model.data.variables[index];
  const bins = binCount(network(), index);
  node.classList.toggle("chosen", index === view.variable);
  node.classList.toggle("blanket", around.has(index));
  node.setAttribute("aria-pressed", index === view.variable);
  node.setAttribute("aria-label", `${name}, ${counted(bins, continuous ? "bin" : "level")}`);
  node.lastChild.textContent = bins;
}

/** The 3 k + 1 points [x, y] of an edge's k Bezier pieces, from its parent to its child. */
function curveOf(from, to) {
  const curve = graph.curves.get(from < to ? `${from},${to}` : `${to},${from}`);
  return from < to ? curve : curve.slice().reverse();
}

/** The point in the middle of the middle piece of a curve. */
function middleOf(curve) {
  const at = 3 * Math.floor((curve.length - 1) / 6);
  const [a, b, c, d] = curve.slice(at, at + 4);
  return [0, 1].map((axis) => (a[axis] + 3 * b[axis] + 3 * c[axis] + d[axis]) / 8);
}

function edgeOf({ from, to, kind }, compared, near) {
  const share = view.shares.get(arcKey(from, to)) ?? 0;
  const width = kind === "there" ? 1.8 : 1.1 + 3.2 * share;
  const size = ARROW + 0.9 * width;
  const curve = curveOf(from, to);
  const [[cx, cy], [x1, y1]] = curve.slice(-2);
  const length = Math.hypot(x1 - cx, y1 - cy) || 1;
  const [dx, dy] = [(x1 - cx) / length, (y1 - cy) / length];
  // the line ends where the arrow head begins
  const [bx, by] = [x1 - size * dx, y1 - size * dy];
  const half = size * 0.42;
  const [first, ...rest] = [...curve.slice(0, -1), [bx, by]];
  const corners = [
    [x1, y1],
    [bx - half * dy, by + half * dx],
    [bx + half * dy, by - half * dx],
  ];
  const parts = [
    draw("title", {}, edgeTitle(from, to, kind, share, compared)),
    draw("path", {
      d: `M${first}C${rest.join(" ")}`,
      "stroke-width": width.toFixed(2),
      ...(isOfCurve(from, to) ? { "stroke-dasharray": DASHES } : {}),
    }),
    draw("polygon", {
      points: corners.map((corner) => corner.map((value) => value.toFixed(1)).join(",")).join(" "),
    }),
  ];
  if (kind === "reversed") {
    const [mx, my] = middleOf(curve);
    parts.push(draw("text", { class: "turned halo", x: mx, y: my + 5, "text-anchor": "middle" }, "⇄"));
  }
  const classes = ["edge", kind, ...(isOpen(from, to) ? ["open"] : []), ...(near ? ["near"] : [])];
  return draw("g", { class: classes.join(" "), "data-edge": `${from},${to}` }, ...parts);
}

/** Whether the tables of the selected network leave an arc out. */
const isOfCurve = (from, to) => model.curveEdges[view.selected].has(arcKey(from, to));

/** Whether the rows cannot tell the direction of an edge of the network that is shown. */
const isOpen = (from, to) => model.open[view.selected].has(arcKey(from, to));

function kindWords(kind, compared) {
  const mine = compared?.kind === "yours" ? "yours" : "A";
  return {
    plain: "edge",
    both: "both",
    reversed: compared?.kind === "yours" ? "reversed" : "reversed in A",
    here: "only here",
    there: `only in ${mine}`,
  }[kind];
}

function edgeTitle(from, to, kind, share, compared) {
  const [parent, child] = [from, to].map((index) => model.data.variables[index].name);
  const often = isSingle() ? "" : `; in ${percent(share)} of the networks left`;
  const words = kind === "plain" ? "" : `: ${kindWords(kind, compared)}`;
  const curve = isOfCurve(from, to) ? "; a curve, not in the table" : "";
  const open = isOpen(from, to) ? "; the rows cannot tell the direction" : "";
  return `${parent} → ${child}${words}${curve}${often}${open}`;
}

// ---- legend, reference, search

function renderLegend(edges, compared) {
  const kinds = compared ? ["both", "reversed", "here", "there"] : ["plain"];
  const items = kinds.map((kind) => {
    const number = edges.filter((edge) => edge.kind === kind).length;
    const words = kind === "plain" ? (number === 1 ? "edge" : "edges") : kindWords(kind, compared);
    return make("li", {}, sample(kind), kind === "plain" ? `${number} ${words}` : `${words} ${number}`);
  });
  const ofCurves = edges.filter(({ from, to }) => isOfCurve(from, to)).length;
  if (ofCurves) items.push(make("li", {}, sample("plain", DASHES), `${ofCurves} by curves, not in tables`));
  const open = edges.filter(({ from, to }) => isOpen(from, to)).length;
  if (open) items.push(make("li", { class: "muted" }, sample("plain open"), `reversible ${open}`));
  if (!isSingle()) items.push(make("li", { class: "muted" }, thickness(), "thick: in most networks left"));
  byId("legend").replaceChildren(...items);
  const choice = model.data.expert && view.pin !== null;
  const options = choice
    ? [
        ["expert", "with yours"],
        ["pin", "with A"],
      ]
    : [];
  byId("against").hidden = !choice;
  byId("against").replaceChildren(
    ...options.map(([key, text]) =>
      make(
        "button",
        { type: "button", "aria-pressed": view.against === key, onclick: () => change({ against: key }) },
        text,
      ),
    ),
  );
}

function sample(kind, dashes = "none") {
  const middle =
    kind === "reversed"
      ? draw("text", { class: "turned halo", x: 13, y: 12, "text-anchor": "middle" }, "⇄")
      : null;
  const group = draw(
    "g",
    { class: `edge ${kind}` },
    draw("path", { d: "M1 7H26", "stroke-width": 2.4, "stroke-dasharray": dashes }),
    draw("polygon", { points: "34,7 25,3 25,11" }),
    middle,
  );
  return draw("svg", { viewBox: "0 0 34 14", "aria-hidden": "true" }, group);
}

function thickness() {
  return draw(
    "svg",
    { viewBox: "0 0 34 14", "aria-hidden": "true" },
    draw("polygon", { points: "1,6.4 33,4 33,10 1,7.6", fill: "currentColor" }),
  );
}

/** Marks the variables whose names contain the text; the Enter key opens an exact match or the first. */
function findVariable(open) {
  const text = byId("find").value.trim().toLowerCase();
  const matches = model.order.filter(
    (index) => text && model.data.variables[index].name.toLowerCase().includes(text),
  );
  for (const [index, node] of graph.nodes.entries()) node.classList.toggle("found", matches.includes(index));
  for (const card of byId("cards").children)
    card.classList.toggle("found", matches.includes(Number(card.dataset.variable)));
  if (!open || !matches.length) return;
  const exact = matches.find((index) => model.data.variables[index].name.toLowerCase() === text);
  byId("find").value = "";
  for (const part of [...graph.nodes, ...byId("cards").children]) part.classList.remove("found");
  lookAt(exact ?? matches[0]);
  const card = byId("cards").querySelector(`[data-variable="${exact ?? matches[0]}"] .link`);
  (view.shows === "answers" ? card : graph.nodes[exact ?? matches[0]]).focus();
}
