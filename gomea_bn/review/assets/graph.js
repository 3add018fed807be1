// The drawing of the network: boxes of variables, edges by class, and the legend.

// number of columns from which on a comparison begins with what agrees
const MANY_COLUMNS = 25;
// share of the edges below which what agrees is too little to look at alone
const LEAST_AGREEMENT = 0.25;

/** The kinds of edges that are not drawn; of a wide table first the differences, if enough agrees to show. */
function hiddenKinds() {
  if (view.hidden) return view.hidden;
  const compared = reference();
  if (!compared || model.data.variables.length < MANY_COLUMNS) return new Set();
  const here = model.edges[view.selected];
  const agreeing = [...here].filter((key) => compared.edges.has(key)).length;
  return new Set(agreeing >= LEAST_AGREEMENT * here.size ? ["here", "there"] : ["there"]);
}

function toggleKind(kind) {
  const hidden = new Set(hiddenKinds());
  if (!hidden.delete(kind)) hidden.add(kind);
  change({ hidden });
}

// classes of edges in drawing order, the faintest at the bottom
const KINDS = ["there", "here", "reversed", "both", "plain"];
const ARROW = 8.5;
const NAME_LINE = 14;
const NAME_SIZE = 12.5;
// factor by which a name may be wider than its room before it is shortened
const LARGEST_SQUEEZE = 1.2;
const GROUP_MARGIN = 7;
// milliseconds in which boxes move from one network to the next
const MOVEMENT = 450;
const graph = { nodes: [], edges: null, drawing: null, legend: null };

function buildGraph() {
  const svg = byId("graph");
  graph.edges = draw("g", {});
  graph.nodes = model.order.map(nodeOf);
  svg.replaceChildren(graph.edges, ...graph.nodes);
  byId("bars").addEventListener("click", toggleBars);
  byId("places").hidden = isSingle();
  byId("places").addEventListener("click", togglePlaces);
  buildZoom();
  buildPicture();
  buildSearch();
  renderers.push(renderGraph);
}

/** Draws every network at positions of its own, or all at the same. */
function togglePlaces() {
  change({ places: view.places === "own" ? "shared" : "own" });
  announce(
    view.places === "own" ? "Every network has its own positions." : "All networks have the same positions.",
  );
}

function nodeOf(index) {
  return draw("g", {
    class: "node",
    tabindex: 0,
    role: "button",
    "data-variable": index,
    onclick: () => lookAt(index),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      lookAt(index);
    },
  });
}

/** Whether a box is small, since its column stands alone. */
const isSmall = (index) => graph.drawing.sizes[index][1] < model.data.layout.boxes[index][3];

/** What a box holds: its name, and the number of its bins or levels or a bar for each. */
function boxParts(index) {
  const variable = model.data.variables[index];
  const [width, height] = graph.drawing.sizes[index];
  const { hasBars } = graph.drawing;
  const scale = isSmall(index) ? SMALL : 1;
  const font = `${NAME_SIZE * scale}px sans-serif`;
  const bins = String(binCount(network(), index));
  // a digit has its place in every box, further ones take that of the name
  ruler.font = font;
  const taken = hasBars ? 0 : ruler.measureText(bins.slice(1)).width;
  const room = width - 18 * scale - taken;
  const names = hasBars ? [variable.name] : nameLines(variable);
  const lines = names.map((line) => fitted(line, LARGEST_SQUEEZE * room, font));
  const middle = hasBars ? BAR_TITLE / 2 - height / 2 : 0;
  ruler.font = font;
  const texts = lines.map((line, at) =>
    draw(
      "text",
      {
        x: hasBars ? 0 : -6 * scale - taken / 2,
        "aria-hidden": "true",
        y: middle + 4.5 * scale + NAME_LINE * scale * (at - (lines.length - 1) / 2),
        "text-anchor": "middle",
        direction: textDirection(variable.name),
        // a font that is wider than the box expects
        textLength: ruler.measureText(line).width > room ? room : null,
        lengthAdjust: "spacingAndGlyphs",
      },
      line,
    ),
  );
  const count = { class: "bins", "aria-hidden": "true", x: width / 2 - 5, y: 4.5, "text-anchor": "end" };
  return [
    draw("title", {}, variable.role ? `${variable.name}: ${variable.role}` : variable.name),
    draw("rect", { x: -width / 2, y: -height / 2, width, height, rx: 8 }),
    ...texts,
    draw("circle", { class: "given", cx: -width / 2, cy: middle, r: 5 }),
    hasBars ? barsOf(index) : draw("text", count, bins),
  ];
}

/** The lines of a variable's name in its box. */
function nameLines({ name, break: at }) {
  if (at === null) return [name];
  const letters = Array.from(name);
  return [letters.slice(0, at).join(""), letters.slice(at).join("")];
}

const textDirection = (text) =>
  /^[^A-Za-z\u00c0-\u024f]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text) ? "rtl" : "ltr";

/** Number of bins or levels of a variable in a network. */
function binCount(candidate, variable) {
  const cuts = cutsOf(candidate, variable);
  return cuts ? cuts.length + 1 : model.data.variables[variable].levels.length;
}

function renderGraph() {
  const before = graph.drawing;
  const drawing = drawingOf(view.selected, zoom.frame);
  const place = hasOwnDrawing(view.selected) ? model.data.drawing_of[view.selected] : "shared";
  graph.drawing = { ...drawing, key: `${place} ${drawing.hasBars}` };
  const isOther = before?.key !== graph.drawing.key;
  const compared = reference();
  const edges = classedEdges(model.edges[view.selected], compared?.edges);
  // what decides on the outcome stands out
  const middle = view.variable ?? view.target;
  const near = middle === null ? null : blanket(model.edges[view.selected], middle);
  const around = new Set(near ? [...near.parents, ...near.children, ...near.partners] : []);
  if (view.variable === null && near) around.add(middle);
  for (const [index, node] of graph.nodes.entries()) renderNode(node, index, around);
  const ordered = [...edges].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const close = ({ from, to }) =>
    from === middle || to === middle || (around.has(from) && near.children.includes(to));
  graph.edges.replaceChildren(
    ...groupFields(),
    ...ordered.map((edge) => edgeOf(edge, compared, near !== null && close(edge))),
  );
  const svg = byId("graph");
  svg.classList.toggle("dimmed", near !== null);
  for (const kind of KINDS)
    svg.classList.toggle(`without-${kind}`, Boolean(compared) && hiddenKinds().has(kind));
  const size = counted(model.edges[view.selected].size, "edge");
  svg.setAttribute("aria-label", `Network ${idOf(view.selected)}, ${size}; listed under Edges`);
  svg.dataset.wider = graph.drawing.wider;
  svg.dataset.higher = graph.drawing.higher;
  renderPlaces();
  renderLegend(edges, compared);
  if (isOther) resetZoom();
  else renderZoom();
  if (isOther && before) moveNodes(before.centres);
  if (drawing.hasBars) ask();
  renderBars();
}

/** Lets boxes glide to where they are now, for readers whose system allows motion; edges follow. */
function moveNodes(places) {
  if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const pace = { duration: MOVEMENT, easing: "ease-in-out" };
  const at = ([x, y]) => ({ transform: `translate(${x}px, ${y}px)` });
  for (const [index, node] of graph.nodes.entries())
    node.animate([at(places[index]), at(graph.drawing.centres[index])], pace);
  graph.edges.animate([{ opacity: 0 }, { opacity: 0, offset: 0.6 }, { opacity: 1 }], pace);
}

/** Fields behind columns that belong together. */
function groupFields() {
  const { groups, centres, sizes } = graph.drawing;
  return groups.map((members) => {
    const edge = (axis, side) =>
      members.map((index) => centres[index][axis] + (side * sizes[index][axis]) / 2);
    const [left, top] = [0, 1].map((axis) => Math.min(...edge(axis, -1)) - GROUP_MARGIN);
    const [right, bottom] = [0, 1].map((axis) => Math.max(...edge(axis, 1)) + GROUP_MARGIN);
    return draw("rect", {
      class: "group",
      x: left,
      y: top,
      width: right - left,
      height: bottom - top,
      rx: 10,
    });
  });
}

function renderPlaces() {
  byId("places").setAttribute("aria-pressed", view.places === "shared");
  const lacks = view.places === "own" && model.data.drawing_of[view.selected] === null;
  byId("places").title = lacks
    ? "This network is drawn at the shared positions: the front has too many graphs to lay out each"
    : "Draw all networks with the variables in the same positions (o)";
}

function renderNode(node, index, around) {
  const { continuous } = model.data.variables[index];
  const bins = binCount(network(), index);
  const contents = [graph.drawing.hasBars, ...graph.drawing.sizes[index], network().c[index]].join();
  if (node.dataset.contents !== contents) node.replaceChildren(...boxParts(index));
  node.dataset.contents = contents;
  node.setAttribute(
    "transform",
    `translate(${graph.drawing.centres[index].map((value) => value.toFixed(1)).join(" ")})`,
  );
  node.classList.toggle("small", isSmall(index));
  node.classList.toggle("chosen", index === view.variable);
  node.classList.toggle("blanket", around.has(index));
  node.classList.toggle("outcome", index === view.target);
  node.classList.toggle("timed", Boolean(model.data.variables[index].role));
  node.setAttribute("aria-pressed", index === view.variable);
  // its name is its title
  node.setAttribute("aria-description", counted(bins, continuous ? "bin" : "level"));
}

/** The point in the middle of the middle piece of a curve. */
function middleOf(curve) {
  const at = 3 * Math.floor((curve.length - 1) / 6);
  const [a, b, c, d] = curve.slice(at, at + 4);
  return [0, 1].map((axis) => (a[axis] + 3 * b[axis] + 3 * c[axis] + d[axis]) / 8);
}

function edgeOf({ from, to, kind }, compared, near) {
  const share = view.left.length ? (view.shares.get(arcKey(from, to)) ?? 0) : null;
  const sure = probabilityOf(from, to);
  const plainWidth = sure ? 0.7 + 3.2 * sure.adjacent : 1.9;
  const width = kind === "there" ? 1.2 : isSingle() || share === null ? plainWidth : 1.1 + 3.2 * share;
  const size = ARROW + 0.9 * width;
  const curve = graph.drawing.curveOf(from, to);
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
    // wide enough for a finger
    draw("path", { class: "touch", d: `M${first}C${rest.join(" ")}` }),
    draw("path", {
      d: `M${first}C${rest.join(" ")}`,
      "stroke-width": width.toFixed(2),
    }),
    draw("polygon", {
      points: corners.map((corner) => corner.map((value) => value.toFixed(1)).join(",")).join(" "),
    }),
  ];
  if (kind === "reversed") {
    const [mx, my] = middleOf(curve);
    parts.push(draw("text", { class: "turned halo", x: mx, y: my + 5, "text-anchor": "middle" }, "⇄"));
  }
  if (sure && isSingle()) {
    const [mx, my] = middleOf(curve);
    const place = { x: mx + 5 + width / 2, y: my + (kind === "reversed" ? 20 : 4) };
    parts.push(draw("text", { class: "sure halo", ...place }, percent(sure.adjacent)));
  }
  const isBetween = graph.drawing.groups.length > 0 && !graph.drawing.curves.has(`${from},${to}`);
  const classes = ["edge", kind, ...(isOpen(from, to) ? ["open"] : []), ...(near ? ["near"] : [])];
  if (isBetween) classes.push("between");
  if (view.edge?.join() === `${from},${to}`) classes.push("asked");
  const onclick = kind === "there" ? null : () => lookAtEdge(from, to);
  return draw("g", { class: classes.join(" "), "data-edge": `${from},${to}`, onclick }, ...parts);
}

/** Whether the rows cannot tell the direction of an edge of the network that is shown. */
const isOpen = (from, to) => model.open[view.selected].has(arcKey(from, to));

/** The probabilities of an edge of the network that is shown, undefined if it carries none. */
const probabilityOf = (from, to) => model.probabilities[view.selected].get(arcKey(from, to));

/** What a probability says: of an edge in either direction, and of this direction. */
const sureWords = ({ adjacent, arc }) =>
  `an edge is ${percent(adjacent)} sure, this direction ${percent(arc)}`;

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
  const often = isSingle() || share === null ? "" : `; in ${percent(share)} of the networks left`;
  const words = kind === "plain" ? "" : `: ${kindWords(kind, compared)}`;
  const open = isOpen(from, to) ? "; the rows cannot tell the direction" : "";
  const sure = probabilityOf(from, to);
  return `${parent} → ${child}${words}${often}${open}${sure ? `; ${sureWords(sure)}` : ""}`;
}

// ---- legend, reference

function renderLegend(edges, compared) {
  const kinds = compared ? ["both", "reversed", "here", "there"] : ["plain"];
  const items = kinds.map((kind) => {
    const number = edges.filter((edge) => edge.kind === kind).length;
    if (kind === "plain") return make("li", {}, sample(kind), counted(number, "edge"));
    const isDrawn = !hiddenKinds().has(kind);
    const toggle = {
      type: "button",
      class: "kind",
      "aria-pressed": isDrawn,
      onclick: () => toggleKind(kind),
    };
    return make(
      "li",
      { title: isDrawn ? "Hide these edges" : "Draw these edges" },
      make("button", toggle, sample(kind), `${kindWords(kind, compared)} ${number}`),
    );
  });
  const open = edges.filter(({ from, to }) => isOpen(from, to)).length;
  if (open)
    items.push(
      make(
        "li",
        { class: "muted", title: "Reversible: a network with the same independences has the edge turned" },
        sample("plain open"),
        `could be turned ${open}`,
      ),
    );
  if (!isSingle())
    items.push(make("li", { class: "muted" }, thickness(), "thick, %: networks left with the edge"));
  else if (model.probabilities[view.selected].size)
    items.push(make("li", { class: "muted" }, thickness(), "thick, %: probability of an edge"));
  const roles = model.data.variables.filter(({ role }) => role).map(({ name, role }) => `${name}: ${role}`);
  if (roles.length) items.push(make("li", { class: "muted" }, `dashed box: ${roles.join(", ")}`));
  if (!graph.drawing.hasBars)
    items.push(make("li", { class: "muted" }, numberBox(), "number of bins or levels"));
  else if (view.findings.size)
    items.push(make("li", { class: "muted" }, "grey line below a bar: without evidence"));
  // buttons that stay the same keep the focus when the frame changes its size
  const writer = new XMLSerializer();
  const content = items.map((item) => writer.serializeToString(item)).join("");
  if (content !== graph.legend) byId("legend").replaceChildren(...items);
  graph.legend = content;
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

/** A small box with a number, as in the boxes of the drawing. */
function numberBox() {
  return draw(
    "svg",
    { viewBox: "0 0 34 14", "aria-hidden": "true" },
    draw("rect", { x: 9, y: 0.5, width: 20, height: 13, rx: 3, fill: "none", stroke: "currentColor" }),
    draw("text", { x: 23, y: 11, "text-anchor": "middle", fill: "currentColor" }, "3"),
  );
}

function thickness() {
  return draw(
    "svg",
    { viewBox: "0 0 34 14", "aria-hidden": "true" },
    draw("polygon", { points: "1,6.4 33,4 33,10 1,7.6", fill: "currentColor" }),
  );
}
