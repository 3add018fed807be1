// What is looked at: one state, changed in one place, kept in the address for reloads and links.

const view = {
  selected: 0,
  pin: null,
  x: 0,
  y: 0,
  weights: null, // per objective 0 to 100, null until somebody says what matters
  filters: new Map(), // axis -> [low, high]
  variable: null,
  tab: "network",
  against: "expert", // or "pin"
  stars: new Set(),
  notes: new Map(),
  left: [], // positions that pass all filters
  shares: new Map(), // of the networks left, by arc
};

const renderers = [];

/** Changes the view, and draws and remembers it. */
function change(patch) {
  Object.assign(view, patch);
  refresh();
}

function refresh() {
  view.left = model.data.ids.map((_, position) => position).filter(passes);
  view.shares = edgeShares(view.left.length ? view.left : [view.selected]);
  for (const render of renderers) render();
  document.body.dataset.selected = idOf(view.selected);
  document.body.dataset.left = view.left.length;
  document.body.dataset.pinned = view.pin === null ? "" : idOf(view.pin);
  remember();
}

function passes(position) {
  for (const [axis, [low, high]] of view.filters) {
    const value = model.axes[axis].values[position];
    if (value < low || value > high) return false;
  }
  return true;
}

const idOf = (position) => model.data.ids[position];

const network = () => model.data.networks[view.selected];

const isSingle = () => model.data.ids.length === 1;

/** What the network is compared with: its edges, its bins, and its name in a sentence; null if nothing. */
function reference() {
  const expert = model.data.expert;
  if (view.pin !== null && (view.against === "pin" || !expert)) {
    if (view.pin === view.selected) return null;
    return {
      kind: "pin",
      network: model.data.networks[view.pin],
      edges: model.edges[view.pin],
      name: `A (network ${idOf(view.pin)})`,
    };
  }
  if (!expert) return null;
  return { kind: "yours", network: expert, edges: model.expertEdges, name: "your network" };
}

/** Selects a network and says so. */
function select(position) {
  if (position === null || position === undefined) return;
  change({ selected: position });
  announce(spoken(position));
}

/** One sentence about a network for people who listen. */
function spoken(position) {
  const facts = model.axes.map((axis) => `${axis.label} ${withUnit(axis, axis.values[position])}`);
  const outside = passes(position) ? "" : ", outside your filters";
  return `Network ${idOf(position)}${outside}: ${facts.join(", ")}.`;
}

/** The next network on the front among those left, or among all if none is. */
function step(direction) {
  const pool = view.left.length ? view.left : model.data.ids.map((_, position) => position);
  const beyond = pool.filter((position) => (position - view.selected) * direction > 0);
  if (beyond.length) select(direction > 0 ? beyond[0] : beyond[beyond.length - 1]);
  else announce(direction > 0 ? "This is the last network." : "This is the first network.");
}

function toggleStar(position = view.selected) {
  if (view.stars.has(position)) view.stars.delete(position);
  else view.stars.add(position);
  announce(`Network ${idOf(position)} ${view.stars.has(position) ? "is on" : "is off"} the shortlist.`);
  refresh();
}

function togglePin() {
  const pin = view.pin === view.selected ? null : view.selected;
  announce(pin === null ? "Nothing is pinned." : `Network ${idOf(pin)} is pinned as A.`);
  change({ pin, against: pin === null ? "expert" : "pin" });
}

function lookAt(variable) {
  change({ variable, tab: variable === null ? "network" : "variable" });
  if (variable !== null) announce(`Variable ${model.data.variables[variable].name}.`);
}

// ---- the address

let remembering = 0;

/** Writes the view into the address, a moment later: browsers refuse many changes in a row. */
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => history.replaceState(null, "", `#${hashOfView()}`), 120);
}

function hashOfView() {
  const parts = new URLSearchParams();
  parts.set("network", idOf(view.selected));
  if (view.pin !== null) parts.set("pin", idOf(view.pin));
  if (!isSingle()) {
    parts.set("axes", `${view.x},${view.y}`);
    if (view.weights) parts.set("weights", view.weights.join(","));
  }
  if (view.filters.size)
    parts.set("filters", [...view.filters].map(([axis, [a, b]]) => `${axis}:${a}:${b}`).join(","));
  if (view.variable !== null) parts.set("variable", view.variable);
  if (view.tab !== "network") parts.set("tab", view.tab);
  if (view.pin !== null) parts.set("against", view.against);
  if (view.stars.size) parts.set("stars", sortedIds(view.stars).join(","));
  for (const [position, note] of view.notes) parts.append("note", `${idOf(position)}:${note}`);
  return parts.toString();
}

const sortedIds = (positions) => [...positions].map(idOf).sort((a, b) => a - b);

/** Reads the view from the address; what does not fit these data is ignored. */
function recall() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const position = (text) => (text === null || text === "" ? -1 : model.data.ids.indexOf(Number(text)));
  const numbers = (key) => (parts.get(key) ?? "").split(",").filter(Boolean).map(Number);
  const chosen = position(parts.get("network"));
  if (chosen >= 0) view.selected = chosen;
  const pin = position(parts.get("pin"));
  view.pin = pin >= 0 ? pin : null;
  const [x, y] = numbers("axes");
  if (model.axes[x] && model.axes[y]) Object.assign(view, { x, y });
  const weights = numbers("weights");
  if (weights.length === model.data.objectives.length && weights.every((one) => one >= 0 && one <= 100))
    view.weights = weights;
  view.filters = recalledFilters(parts.get("filters") ?? "");
  const variable = parts.has("variable") ? Number(parts.get("variable")) : -1;
  view.variable = model.data.variables[variable] ? variable : null;
  view.tab = ["variable", "about"].includes(parts.get("tab")) ? parts.get("tab") : "network";
  view.against = parts.get("against") === "pin" ? "pin" : "expert";
  view.stars = new Set(
    numbers("stars")
      .map((id) => model.data.ids.indexOf(id))
      .filter((one) => one >= 0),
  );
  view.notes = recalledNotes(parts.getAll("note"), position);
}

function recalledFilters(text) {
  const found = new Map();
  for (const part of text.split(",").filter(Boolean)) {
    const [axis, low, high] = part.split(":").map(Number);
    if (model.axes[axis] && low <= high) found.set(axis, [low, high]);
  }
  return found;
}

function recalledNotes(texts, position) {
  const found = new Map();
  for (const text of texts) {
    const place = position(text.slice(0, text.indexOf(":")));
    if (place >= 0) found.set(place, text.slice(text.indexOf(":") + 1));
  }
  return found;
}
