// The data and what follows from them: axes, edges, classes of edges, choices by weights.
// A network is known by its position here; its id is its position in the whole front.

/** The data of the page, decompressed if they are compressed. */
async function readData() {
  const element = byId("data");
  if (element.type === "application/json") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const model = {
  data: null,
  axes: [],
  edges: [],
  open: [],
  probabilities: [],
  notes: null,
  expertEdges: null,
  order: [],
};

/** Puts the names and levels that the reader wrote in place of those of the columns. */
function rename(data, names) {
  data.variables.forEach((variable, index) => {
    variable.column = variable.name;
    variable.ofColumn = variable.levels;
    const name = names.get(String(index));
    if (name) Object.assign(variable, { name, break: null });
    variable.levels = variable.levels?.map((level, code) => names.get(`${index}.${code}`) ?? level);
  });
}

function buildModel(data) {
  model.data = data;
  const columns = data.objectives.map((objective, column) => ({
    key: objective.name,
    label: objective.label,
    unit: objective.unit,
    better: objective.better,
    values: data.values.map((row) => row[column]),
  }));
  const further = [
    { key: "n_edges", label: "Edges", unit: "", better: "fewer to explain" },
    { key: "most_parents", label: "Most parents", unit: "of a column", better: "easier columns" },
    { key: "n_parameters", label: "Free parameters", unit: "", better: "simpler" },
    {
      key: "left_out_loss",
      label: "Left-out loss",
      unit: "nats per row",
      better: "predicts further rows better",
    },
  ];
  for (const column of further) if (data[column.key]) columns.push({ ...column, values: data[column.key] });
  // logarithms of probabilities have their exact unit in a tooltip
  for (const column of columns)
    Object.assign(column, { exact: column.unit, unit: column.unit.replace(/^nats ?/, "") });
  model.axes = columns.map(asAxis);
  model.edges = data.networks.map(edgesOf);
  // edges that have the other direction in a network with the same independences
  model.open = data.networks.map((network) => new Set(network.o));
  // probability of an edge in either direction and in its own, for networks that carry them
  model.probabilities = data.networks.map(
    (network) => new Map((network.p ?? []).map(([key, adjacent, arc]) => [key, { adjacent, arc }])),
  );
  // what rows say about pairs, either way, of the expert's network or of the only one
  model.notes = new Map();
  for (const [from, to, note] of data.tested?.pairs ?? [])
    for (const key of [arcKey(from, to), arcKey(to, from)]) model.notes.set(key, note);
  model.expertEdges = data.expert ? edgesOf(data.expert) : null;
  model.order = data.variables.map((_, index) => index);
}

// quantities that grow by factors
const BY_FACTORS = ["complexity"];

function asAxis(column) {
  const sorted = [...new Set(column.values)].sort((a, b) => a - b);
  const whole = sorted.every(Number.isInteger);
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const isLog = BY_FACTORS.includes(column.key) && low > 0;
  return { ...column, sorted, low, high, whole, isLog, decimals: whole ? 0 : decimalsFor(high - low) };
}

/** Where a value stands on the scale of an axis: itself, or its logarithm. */
const placeOf = (axis, value) => (axis.isLog ? Math.log(value) : value);

const axisText = (axis, value) => shown(value, axis.decimals);

const withUnit = (axis, value) => `${axisText(axis, value)} ${axis.unit}`.trim();

const family = (network, variable) => model.data.families[variable][network.f[variable]];

/** The probabilities of a family, as a Float64Array; the variable itself varies fastest. */
function probabilitiesOf(entry) {
  entry.decoded ??= unpacked(entry);
  return entry.decoded;
}

/** All rows of a table; the last of the rows that the page holds stands for those that it lacks. */
function unpacked({ t, k, r }) {
  const held = new Float64Array(Uint8Array.from(atob(t), (letter) => letter.charCodeAt(0)).buffer);
  if (!k) return held;
  const card = held.length / (k.length + 1);
  const rest = held.subarray(k.length * card);
  const table = new Float64Array(r * card);
  for (let row = 0; row < r; row += 1) table.set(rest, row * card);
  k.forEach((row, at) => {
    table.set(held.subarray(at * card, (at + 1) * card), row * card);
  });
  return table;
}

/** The cuts of a variable in a network, null for a discrete variable. */
const cutsOf = (network, variable) => model.data.cuts[variable][network.c[variable]].at;

const arcKey = (from, to) => from * model.data.variables.length + to;

/** All arcs of a network as a set of keys. */
function edgesOf(network) {
  const keys = new Set();
  for (const child of network.f.keys())
    for (const parent of family(network, child).p) keys.add(arcKey(parent, child));
  return keys;
}

function arcOf(key) {
  const n = model.data.variables.length;
  return [Math.floor(key / n), key % n];
}

/**
 * Every arc of two networks, given as sets of keys, with its class: "both", "reversed", "here" or "there".
 * Without a second network all arcs are "plain".
 */
function classedEdges(arcs, others) {
  const edges = [];
  for (const key of arcs) {
    const [from, to] = arcOf(key);
    let kind = "plain";
    if (others) kind = others.has(key) ? "both" : others.has(arcKey(to, from)) ? "reversed" : "here";
    edges.push({ from, to, kind });
  }
  for (const key of others ?? []) {
    const [from, to] = arcOf(key);
    if (!arcs.has(key) && !arcs.has(arcKey(to, from))) edges.push({ from, to, kind: "there" });
  }
  return edges;
}

/** For each arc, the share of the networks at these positions that have it. */
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
  const related = new Set([...parents, ...children]);
  return { parents, children, partners: [...new Set(partners)].filter((partner) => !related.has(partner)) };
}

/**
 * The position, among `positions`, of the network whose pseudo-weights (Deb 2001) are nearest to `weights`.
 * Follows `Front.nearest`: objectives are scaled by their range over the nondominated networks, constant
 * objectives are left out, and ties are broken by the weighted sum and then by the values.
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
  const near = Math.min(...scored.map((score) => score.distance)) + 1e-9;
  const tied = scored.filter((score) => score.distance <= near);
  const cheap = Math.min(...tied.map((score) => score.cost)) + 1e-9;
  // positions are in the front's order, so the first of equals has the smallest values
  return tied.find((score) => score.cost <= cheap).position;
}

/** The position, among `positions`, with the least value of one objective. */
function bestOf(objective, positions) {
  const { values } = model.axes.find((axis) => axis.key === objective);
  return positions.reduce(
    (best, position) => (values[position] < values[best] ? position : best),
    positions[0],
  );
}
