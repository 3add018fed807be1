// The state of the page: one object, changed by `change` only, kept in the address for reloads and links.

const view = {
  selected: 0,
  pin: null,
  x: 0,
  y: 0,
  // per objective 0 to 100, null until a slider is moved
  weights: null,
  // by position of the axis: [low, high]
  filters: new Map(),
  // about edges, cuts and bins; see rules.js
  rules: [],
  variable: null,
  // the edge that was clicked: [from, to]
  edge: null,
  // the middle of the page, one of SHOWS
  shows: "graph",
  // kinds of edges that are not drawn, null for those that a wide table hides at first
  hidden: null,
  // bars inside the boxes of the drawing: "on", "off", or "auto" where they fit
  bars: "auto",
  // positions in the drawing: "own" or "shared"
  places: "own",
  // names of the panels that are folded away: "choose", "inspect"
  folded: new Set(),
  // order of the cards of the answers: "columns" or "moved"
  cards: "columns",
  // the column that is asked about, null for the one that was looked at; "mean" or the position of a bin or level
  target: null,
  quantity: null,
  // the level whose prediction is shown, null for the one that is shown first
  level: null,
  // order of the columns that would tell more: "range" or "information"
  columnOrder: "range",
  // saved findings with their names
  scenarios: [],
  // what is known, by variable; see findings.js
  findings: new Map(),
  tab: "network",
  // the network to compare with: "expert" or "pin"
  against: "expert",
  stars: new Set(),
  notes: new Map(),
  // by the position of a column, or position.code of a level: what the reader calls it
  names: new Map(),
  // positions that pass all filters, in order and as a set
  left: [],
  isLeft: new Set(),
  // by arc: share of the networks left that have it
  shares: new Map(),
};

const renderers = [];

const SHOWS = ["graph", "answers", "target", "prediction"];

/** The column that a front or a network is about, null without one. */
const targetAtStart = () => model.data.question?.target ?? model.data.target ?? null;

/** What the middle of the page shows first. */
const showsAtStart = () => {
  if (model.data.question && !model.data.question.note) return "prediction";
  return model.data.target === undefined || model.data.target === null ? "graph" : "target";
};

/** Changes the view, draws it and writes it into the address. */
function change(patch) {
  Object.assign(view, patch);
  refresh();
}

function refresh() {
  sieve();
  keepFocus(() => {
    for (const render of renderers) render();
  });
  document.body.dataset.selected = idOf(view.selected);
  document.body.dataset.left = view.left.length;
  document.body.dataset.pinned = view.pin === null ? "" : idOf(view.pin);
  remember();
}

const labelOf = (element) => element.getAttribute("aria-label") ?? element.textContent;

/** Draws parts of the page again; if the focused element was replaced, its successor or the part around it gets the focus. */
function keepFocus(drawAgain) {
  const focused = document.activeElement;
  const ids = [];
  for (let part = focused.closest("[id]"); part; part = part.parentElement?.closest("[id]"))
    ids.push(part.id);
  drawAgain();
  if (focused.isConnected) return;
  const parts = ids.map(byId).filter(Boolean);
  const isTwin = (element) => element.tagName === focused.tagName && labelOf(element) === labelOf(focused);
  const twin = [...(parts[0]?.querySelectorAll(focused.tagName) ?? [])].find(isTwin);
  const next = parts[0]?.id === focused.id && focused.id ? parts[0] : twin;
  (next ?? parts.find((part) => part.tabIndex >= 0))?.focus();
}

// the filters and rules that `view.left` follows
const sieved = { filters: null, rules: null };

/** Finds the networks that are left, and their shares of edges, if these can have changed. */
function sieve() {
  const { filters, rules } = view;
  if (filters === sieved.filters && rules === sieved.rules) return;
  Object.assign(sieved, { filters, rules });
  view.left = model.data.ids.map((_, position) => position).filter((position) => passes(position));
  view.isLeft = new Set(view.left);
  view.shares = edgeShares(view.left);
}

/** Whether a network passes the filters and rules of the view, or others. */
function passes(position, { filters = view.filters, rules = view.rules } = {}) {
  for (const [axis, [low, high]] of filters) {
    const value = model.axes[axis].values[position];
    if (value < low || value > high) return false;
  }
  return rules.every((rule) => follows(position, rule));
}

const idOf = (position) => model.data.ids[position];

const network = () => model.data.networks[view.selected];

const isSingle = () => model.data.ids.length === 1;

/** The network to compare with: its edges, its bins, and its name in a sentence; null if there is none. */
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

/** Selects a network and announces it. */
function select(position) {
  if (position === null || position === undefined) return;
  change({ selected: position });
  announce(spoken(position));
}

/** One sentence about a network for users of a screen reader. */
function spoken(position) {
  const facts = model.axes.map((axis) => `${axis.label} ${withUnit(axis, axis.values[position])}`);
  const outside = passes(position) ? "" : ", outside your filters";
  return `Network ${idOf(position)}${outside}: ${facts.join(", ")}.`;
}

/** Selects the next network on the front among those left, or among all if none is left. */
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

function togglePin(position = view.selected) {
  const pin = view.pin === position ? null : position;
  announce(pin === null ? "No network is kept as A." : `Network ${idOf(pin)} is kept as A.`);
  change({ pin, against: pin === null ? "expert" : "pin" });
}

function lookAt(variable) {
  change({ variable, tab: variable === null ? "network" : "variable" });
  if (variable !== null) announce(`Column ${model.data.variables[variable].name}.`);
}

// ---- the address

let remembering = 0;

/** Writes the view into the address after a short delay, because browsers refuse many changes in a row. */
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
  for (const rule of view.rules) parts.append("edge", ruleCode(rule));
  if (view.variable !== null) parts.set("variable", view.variable);
  if (view.tab !== "network") parts.set("tab", view.tab);
  if (view.pin !== null) parts.set("against", view.against);
  if (view.shows !== showsAtStart()) parts.set("shows", view.shows);
  if (view.target !== targetAtStart()) parts.set("target", view.target ?? "");
  if (view.level !== null) parts.set("level", view.level);
  if (view.quantity !== null) parts.set("quantity", view.quantity);
  if (view.columnOrder !== "range") parts.set("order", view.columnOrder);
  for (const scenario of view.scenarios) parts.append("scenario", scenarioCode(scenario));
  if (view.bars !== "auto") parts.set("bars", view.bars);
  if (view.places === "shared") parts.set("places", "shared");
  if (view.folded.size) parts.set("folded", [...view.folded].join(","));
  if (view.cards === "moved") parts.set("cards", "moved");
  for (const [key, finding] of view.findings) parts.append("given", findingCode(key, finding));
  if (view.stars.size) parts.set("stars", sortedIds(view.stars).join(","));
  for (const [position, note] of view.notes) parts.append("note", `${idOf(position)}:${note}`);
  for (const [key, name] of view.names) parts.append("name", `${key}:${name}`);
  return parts.toString();
}

const sortedIds = (positions) => [...positions].map(idOf).sort((a, b) => a - b);

/** Reads the view from the address; values that do not fit these data are ignored. */
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
  if (
    weights.length === model.data.objectives.length &&
    weights.every((weight) => weight >= 0 && weight <= 100)
  )
    view.weights = weights;
  view.filters = recalledFilters(parts.get("filters") ?? "");
  view.rules = recalledRules(parts.getAll("edge"));
  const variable = parts.has("variable") ? Number(parts.get("variable")) : -1;
  view.variable = model.data.variables[variable] ? variable : null;
  view.tab = ["variable", "about"].includes(parts.get("tab")) ? parts.get("tab") : "network";
  const known = SHOWS.filter((shows) => shows !== "prediction" || model.data.question);
  view.shows = known.includes(parts.get("shows")) ? parts.get("shows") : showsAtStart();
  const target = parts.get("target") ? Number(parts.get("target")) : -1;
  const asked = model.data.variables[target] ? target : null;
  view.target = parts.has("target") ? asked : targetAtStart();
  view.level = /^\d+$/.test(parts.get("level") ?? "") ? Number(parts.get("level")) : null;
  view.quantity = /^(mean|\d+)$/.test(parts.get("quantity") ?? "") ? parts.get("quantity") : null;
  view.columnOrder = parts.get("order") === "information" ? "information" : "range";
  view.scenarios = recalledScenarios(parts.getAll("scenario"));
  view.bars = ["on", "off"].includes(parts.get("bars")) ? parts.get("bars") : "auto";
  view.places = parts.get("places") === "shared" ? "shared" : "own";
  view.folded = new Set((parts.get("folded") ?? "").split(",").filter((panel) => panel in PANELS));
  view.cards = parts.get("cards") === "moved" ? "moved" : "columns";
  view.findings = recalledFindings(parts.getAll("given"));
  view.against = parts.get("against") === "pin" ? "pin" : "expert";
  view.stars = new Set(
    numbers("stars")
      .map((id) => model.data.ids.indexOf(id))
      .filter((index) => index >= 0),
  );
  view.notes = recalledNotes(parts.getAll("note"), position);
}

function recalledFilters(text) {
  const filters = new Map();
  for (const part of text.split(",").filter(Boolean)) {
    const [axis, low, high] = part.split(":").map(Number);
    if (model.axes[axis] && low <= high) filters.set(axis, [low, high]);
  }
  return filters;
}

/** The names that the reader wrote, from the address. */
const recalledNames = () =>
  new Map(
    new URLSearchParams(location.hash.slice(1)).getAll("name").flatMap((text) => {
      const [, key, name] = text.match(/^(\d+(?:\.\d+)?):(.+)$/) ?? [];
      return key ? [[key, name]] : [];
    }),
  );

/** Draws the page again with other names, which stand in the address. */
function renameTo(names) {
  clearTimeout(remembering);
  view.names = names;
  history.replaceState(null, "", `#${hashOfView()}`);
  location.reload();
}

function recalledNotes(texts, position) {
  const notes = new Map();
  for (const text of texts) {
    const at = position(text.slice(0, text.indexOf(":")));
    if (at >= 0) notes.set(at, text.slice(text.indexOf(":") + 1));
  }
  return notes;
}
