// The drawing of the network: boxes of variables, edges by class, and the legend.

// number of columns from which on a comparison begins with what agrees
const MANY_COLUMNS = 25;

/** The kinds of edges that are not drawn. */
const hiddenKinds = () =>
  view.hidden ?? new Set(model.data.variables.length >= MANY_COLUMNS && reference() ? ["here", "there"] : []);

function toggleKind(kind) {
  const hidden = new Set(hiddenKinds());
  if (!hidden.delete(kind)) hidden.add(kind);
  change({ hidden });
}

// classes of edges in drawing order, the faintest at the bottom
const KINDS = ["there", "here", "reversed", "both", "plain"];
const ARROW = 8.5;
const NAME_LINE = 14;
const graph = { nodes: [], edges: null, drawing: null, legend: null };

function buildGraph() {
  const svg = byId("graph");
  graph.edges = draw("g", {});
  graph.nodes = model.data.variables.map(nodeOf);
  svg.replaceChildren(graph.edges, ...graph.nodes);
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

function nodeOf(variable, index) {
  const [, , width, height] = model.data.layout.boxes[index];
  const node = draw("g", {
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
  const lines = nameLines(variable).map((line) => fitted(line, width - 18, "12.5px sans-serif"));
  const texts = lines.map((line, at) =>
    draw(
      "text",
      {
        x: -6,
        "aria-hidden": "true",
        y: 4.5 + NAME_LINE * (at - (lines.length - 1) / 2),
        "text-anchor": "middle",
        direction: textDirection(variable.name),
      },
      line,
    ),
  );
  node.append(
    draw("title", {}, variable.name),
    draw("rect", { x: -width / 2, y: -height / 2, width, height, rx: 8 }),
    ...texts,
    draw("circle", { class: "given", cx: -width / 2, cy: 0, r: 5 }),
    draw("text", { class: "bins", "aria-hidden": "true", x: width / 2 - 5, y: 4.5, "text-anchor": "end" }),
  );
  return node;
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
  const key = `${hasOwnDrawing(view.selected) ? model.data.drawing_of[view.selected] : "shared"}`;
  const isOther = graph.drawing?.key !== key;
  graph.drawing = { ...drawingOf(view.selected, zoom.frame), key };
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
  for (const kind of KINDS)
    svg.classList.toggle(`without-${kind}`, Boolean(compared) && hiddenKinds().has(kind));
  const size = counted(model.edges[view.selected].size, "edge");
  svg.setAttribute("aria-label", `Network ${idOf(view.selected)}, ${size}; listed under Network`);
  svg.dataset.wider = graph.drawing.wider;
  svg.dataset.higher = graph.drawing.higher;
  renderPlaces();
  renderLegend(edges, compared);
  if (isOther) resetZoom();
  else renderZoom();
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
  node.setAttribute(
    "transform",
    `translate(${graph.drawing.centres[index].map((value) => value.toFixed(1)).join(" ")})`,
  );
  node.classList.toggle("chosen", index === view.variable);
  node.classList.toggle("blanket", around.has(index));
  node.classList.toggle("outcome", index === view.target);
  node.setAttribute("aria-pressed", index === view.variable);
  // its name is its title
  node.setAttribute("aria-description", counted(bins, continuous ? "bin" : "level"));
  node.lastChild.textContent = bins;
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
  const classes = ["edge", kind, ...(isOpen(from, to) ? ["open"] : []), ...(near ? ["near"] : [])];
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
  if (!isSingle()) items.push(make("li", { class: "muted" }, thickness(), "thick: in most networks left"));
  else if (model.probabilities[view.selected].size)
    items.push(make("li", { class: "muted" }, thickness(), "thick, %: probability of an edge"));
  items.push(make("li", { class: "muted" }, numberBox(), "number of bins or levels"));
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
