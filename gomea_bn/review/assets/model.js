// What the data say: axes, edges, classes of edges, weights. Networks are positions here, ids elsewhere.

/** The data of the page, unpacked where they were packed. */
async function readData() {
  const element = byId("data");
  if (element.type === "application/json") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const model = { data: null, axes: [], edges: [], expertEdges: null, order: [] };

function buildModel(data) {
  model.data = data;
  const columns = data.objectives.map((one, column) => ({
    key: one.name,
    label: one.label,
    unit: one.unit,
    better: one.better,
    values: data.values.map((row) => row[column]),
  }));
  columns.push(
    { key: "n_edges", label: "Edges", unit: "", better: "fewer to explain", values: data.n_edges },
    {
      key: "largest_table",
      label: "Largest table",
      unit: "cells",
      better: "smaller tables",
      values: data.largest_table,
    },
  );
  model.axes = columns.map(asAxis);
  model.edges = data.networks.map(edgesOf);
  model.expertEdges = data.expert ? edgesOf(data.expert) : null;
  model.order = data.variables.map((_, place) => place);
}

function asAxis(column) {
  const sorted = [...new Set(column.values)].sort((a, b) => a - b);
  const whole = sorted.every(Number.isInteger);
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  return { ...column, sorted, low, high, whole, decimals: whole ? 0 : decimalsFor(high - low) };
}

const axisText = (axis, value) => shown(value, axis.decimals);

const withUnit = (axis, value) => `${axisText(axis, value)} ${axis.unit}`.trim();

const family = (network, variable) => model.data.families[variable][network.f[variable]];

/** The cuts of a variable in a network, null for a discrete variable. */
const cutsOf = (network, variable) => model.data.cuts[variable][network.c[variable]].at;

const arcKey = (from, to) => from * model.data.variables.length + to;

/** All arcs of a network as a set of keys. */
function edgesOf(network) {
  const found = new Set();
  network.f.forEach((_, child) =>
    family(network, child).p.forEach((parent) => found.add(arcKey(parent, child))),
  );
  return found;
}

function arcOf(key) {
  const n = model.data.variables.length;
  return [Math.floor(key / n), key % n];
}

/** Every arc of two networks with its class; without a reference all are "plain". */
function classedEdges(own, others) {
  const found = [];
  for (const key of own) {
    const [from, to] = arcOf(key);
    let kind = "plain";
    if (others) kind = others.has(key) ? "both" : others.has(arcKey(to, from)) ? "reversed" : "here";
    found.push({ from, to, kind });
  }
  for (const key of others ?? []) {
    const [from, to] = arcOf(key);
    if (!own.has(key) && !own.has(arcKey(to, from))) found.push({ from, to, kind: "there" });
  }
  return found;
}

/** Share of some networks that have each arc. */
function edgeShares(positions) {
  const counts = new Map();
  for (const position of positions) {
    for (const key of model.edges[position]) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const [key, count] of counts) counts.set(key, count / positions.length);
  return counts;
}

/** Parents, children and the children's other parents of a variable. */
function blanket(edges, variable) {
  const arcs = [...edges].map(arcOf);
  const parents = arcs.filter(([, to]) => to === variable).map(([from]) => from);
  const children = arcs.filter(([from]) => from === variable).map(([, to]) => to);
  const partners = arcs
    .filter(([from, to]) => children.includes(to) && from !== variable)
    .map(([from]) => from);
  const others = [...new Set(partners)].filter((one) => !parents.includes(one) && !children.includes(one));
  return { parents, children, partners: others };
}

/**
 * The network whose pseudo-weights are nearest to the wished weights (Deb 2001), among some positions.
 * As Front.nearest defines it: objectives scaled by the range over the networks that no other is better than,
 * constant ones left out, ties by the weighted sum and then by the values themselves.
 */
function nearestTo(weights, positions) {
  const rows = positions.filter((position) => model.data.competing[position]);
  const front = model.data.values.filter((_, position) => model.data.competing[position]);
  const columns = model.data.objectives
    .map((_, column) => column)
    .filter((column) => {
      const values = front.map((row) => row[column]);
      return Math.max(...values) > Math.min(...values);
    });
  if (!rows.length) return null;
  const best = columns.map((column) => Math.min(...front.map((row) => row[column])));
  const span = columns.map((column, at) => Math.max(...front.map((row) => row[column])) - best[at]);
  const total = columns.reduce((sum, column) => sum + weights[column], 0);
  const wished = columns.map((column) => (total > 0 ? weights[column] / total : 1 / columns.length));
  const scored = rows.map((position) => {
    const unit = columns.map((column, at) => (model.data.values[position][column] - best[at]) / span[at]);
    const gained = unit.reduce((sum, value) => sum + 1 - value, 0) || 1;
    const distance =
      columns.length < 2 ? 0 : Math.hypot(...unit.map((value, at) => (1 - value) / gained - wished[at]));
    const cost = unit.reduce((sum, value, at) => sum + value * (columns.length < 2 ? 1 : wished[at]), 0);
    return { position, distance, cost };
  });
  const near = Math.min(...scored.map((one) => one.distance)) + 1e-9;
  const tied = scored.filter((one) => one.distance <= near);
  const cheap = Math.min(...tied.map((one) => one.cost)) + 1e-9;
  // positions are in the front's order, hence the first of equals has the smallest values
  return tied.find((one) => one.cost <= cheap).position;
}

/** The least value of one objective among some positions. */
function bestOf(objective, positions) {
  const { values } = model.axes.find((axis) => axis.key === objective);
  return positions.reduce(
    (best, position) => (values[position] < values[best] ? position : best),
    positions[0],
  );
}
