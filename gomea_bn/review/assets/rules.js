// Rules that networks must follow: about an edge, about the cuts of a column, about its number of bins.
// A rule of an edge has the columns `from` and `to`; the others have a `column` and a range from `low` to `high`.

const RULES = {
  has: "has the edge",
  either: "has the edge in either direction",
  not: "lacks the edge in this direction",
  lacks: "lacks the edge in both directions",
  cut: "has a cut of",
  uncut: "has no cut of",
  bins: "has bins, of",
};
const EDGE_RULES = ["has", "either", "not", "lacks"];
// what a search takes; a page of one network has no networks to choose among
const RULES_OF_SEARCH = ["has", "not", "lacks"];

const isOfEdge = (kind) => EDGE_RULES.includes(kind);

function buildRules() {
  const { variables } = model.data;
  const options = (chosen) =>
    variables.flatMap((variable, index) =>
      chosen(variable) ? [make("option", { value: index }, variable.name)] : [],
    );
  byId("rule-from").replaceChildren(...options(() => true));
  byId("rule-to").replaceChildren(...options(() => true));
  byId("rule-to").value = Math.min(1, variables.length - 1);
  byId("rule-column").replaceChildren(...options(({ continuous }) => continuous));
  const kinds =
    model.data.kind === "network"
      ? RULES_OF_SEARCH
      : Object.keys(RULES).filter((kind) => isOfEdge(kind) || byId("rule-column").length);
  byId("rule-kind").replaceChildren(...kinds.map((kind) => make("option", { value: kind }, RULES[kind])));
  for (const key of ["kind", "column"]) byId(`rule-${key}`).addEventListener("change", renderRuleForm);
  byId("rule-form").addEventListener("submit", submitRule);
  renderRuleForm();
}

/** Shows the fields that the chosen kind of rule needs. */
function renderRuleForm() {
  const kind = byId("rule-kind").value;
  byId("rule-edge").hidden = !isOfEdge(kind);
  byId("rule-range").hidden = isOfEdge(kind);
  const { support } = model.data.variables[Number(byId("rule-column").value)];
  const [low, high] = kind === "bins" ? ["1", "any"] : (support ?? []).map((end) => significant(end, 4));
  byId("rule-low").placeholder = low;
  byId("rule-high").placeholder = high;
  byId("rule-note").textContent = "";
}

/** The end of a range that is typed; `open` where nothing is typed, and NaN for other texts. */
function typedEnd(key, open) {
  // the page prints minus signs (U+2212)
  const text = byId(`rule-${key}`).value.trim().replaceAll("\u2212", "-");
  return text === "" ? open : Number(text);
}

/** The rule in the form, or an error in words. */
function readRule() {
  const kind = byId("rule-kind").value;
  if (isOfEdge(kind)) {
    const [from, to] = [Number(byId("rule-from").value), Number(byId("rule-to").value)];
    if (from === to) return { error: "An edge joins two different columns." };
    return { rule: { kind, from, to } };
  }
  const [low, high] = [typedEnd("low", -Infinity), typedEnd("high", Infinity)];
  if (Number.isNaN(low) || Number.isNaN(high)) return { error: "A range needs numbers such as 1.5." };
  if (low > high) return { error: "The range ends before it begins." };
  if (kind === "bins" && low === -Infinity && high === Infinity)
    return { error: "Give the least or the largest number of bins." };
  return { rule: { kind, column: Number(byId("rule-column").value), low, high } };
}

function submitRule(event) {
  event.preventDefault();
  const { rule, error } = readRule();
  byId("rule-note").textContent = error ?? "";
  if (error) return;
  if (view.rules.some((other) => ruleCode(other) === ruleCode(rule))) {
    byId("rule-note").textContent = "This rule is already there.";
    return;
  }
  change({ rules: [...view.rules, rule] });
  if (isSingle()) announce(`The rule ${ruleText(rule)} is there.`);
  else announceLeft();
}

/** Whether a network follows a rule. */
function follows(position, { kind, from, to, column, low, high }) {
  if (isOfEdge(kind)) {
    const [has, turned] = [arcKey(from, to), arcKey(to, from)].map((key) => model.edges[position].has(key));
    return { has, either: has || turned, not: !has, lacks: !has && !turned }[kind];
  }
  const cuts = cutsOf(model.data.networks[position], column);
  if (kind === "bins") return cuts.length + 1 >= low && cuts.length + 1 <= high;
  return cuts.some((cut) => cut >= low && cut <= high) === (kind === "cut");
}

/** Rules of edges that no graph without cycles follows together; null if there are none. */
function contradiction(rules) {
  const same = (one, other) => one.from === other.from && one.to === other.to;
  const turned = (one, other) => one.from === other.to && one.to === other.from;
  const clash = (one, other) => {
    if (one.kind === "has" && other.kind === "not") return same(one, other);
    if (other.kind !== "lacks" || !["has", "either"].includes(one.kind)) return false;
    return same(one, other) || turned(one, other);
  };
  for (const one of rules)
    for (const other of rules) {
      if (clash(one, other)) return [one, other];
    }
  const demanded = rules.filter(({ kind }) => kind === "has");
  return demanded.map((rule) => cycleFrom([rule], demanded)).find(Boolean) ?? null;
}

/** The rules from a path of edges onwards that lead back to its first column; null if none do. */
function cycleFrom(path, demanded) {
  const { to } = path.at(-1);
  if (to === path[0].from) return path;
  const onwards = demanded.filter((rule) => rule.from === to && !path.includes(rule));
  return onwards.map((rule) => cycleFrom([...path, rule], demanded)).find(Boolean) ?? null;
}

/** A rule in words, for example "has a cut of age in 30 to 40". */
function ruleText({ kind, from, to, column, low, high }) {
  const nameOf = (index) => model.data.variables[index].name;
  if (isOfEdge(kind)) {
    const dash = kind === "has" || kind === "not" ? "→" : "–";
    const verb = kind === "has" || kind === "either" ? "has" : "lacks";
    return `${verb} ${nameOf(from)} ${dash} ${nameOf(to)}`;
  }
  const words = { cut: "has a cut of", uncut: "has no cut of", bins: "number of bins of" }[kind];
  return `${words} ${nameOf(column)}${spanText(low, high)}`;
}

/** What the rules say of edges, by names of columns, as the fields of a decision. */
function edgeRules() {
  const pairs = { required_edges: [], forbidden_edges: [] };
  const columnOf = (index) => model.data.variables[index].column;
  for (const { kind, from, to } of view.rules.filter((rule) => isOfEdge(rule.kind))) {
    const pair = [columnOf(from), columnOf(to)];
    if (kind === "has") pairs.required_edges.push(pair);
    if (kind === "not" || kind === "lacks") pairs.forbidden_edges.push(pair);
    if (kind === "lacks") pairs.forbidden_edges.push(pair.toReversed());
  }
  return Object.fromEntries(Object.entries(pairs).filter(([, edges]) => edges.length));
}

function spanText(low, high) {
  const [least, most] = [low, high].map((end) => significant(end, 10));
  if (low === high) return `: ${least}`;
  if (low === -Infinity) return high === Infinity ? "" : ` up to ${most}`;
  return high === Infinity ? ` from ${least}` : ` in ${least} to ${most}`;
}

function renderRules() {
  const items = view.rules.map((rule, index) =>
    make(
      "li",
      { class: "finding" },
      named(ruleText(rule)),
      make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `Remove the rule ${ruleText(rule)}`,
          onclick: () => {
            change({ rules: view.rules.filter((_, other) => other !== index) });
            byId("rule-kind").focus();
          },
        },
        "×",
      ),
    ),
  );
  byId("rules").replaceChildren(...items);
}

// ---- the address

/** A rule as a text for the address, "0-1-has" or "2-cut-1.5~3"; equal rules have equal texts. */
function ruleCode({ kind, from, to, column, low, high }) {
  if (isOfEdge(kind)) {
    const [tail, head] = kind === "has" || kind === "not" || from < to ? [from, to] : [to, from];
    return `${tail}-${head}-${kind}`;
  }
  const end = (value) => (Number.isFinite(value) ? String(value) : "");
  return `${column}-${kind}-${end(low)}~${end(high)}`;
}

/** The rules of texts from the address; those that do not fit these data are left out, and duplicates merged. */
function recalledRules(texts) {
  const rules = texts.map(recalledRule).filter((rule) => rule !== null);
  return [...new Map(rules.map((rule) => [ruleCode(rule), rule])).values()];
}

function recalledRule(text) {
  const { variables } = model.data;
  const [, from, to, edgeKind] = text.match(/^(\d+)-(\d+)-(has|either|not|lacks)$/) ?? [];
  if (variables[from] && variables[to] && from !== to)
    return { kind: edgeKind, from: Number(from), to: Number(to) };
  const [, column, kind, least, most] = text.match(/^(\d+)-(cut|uncut|bins)-([^~]*)~([^~]*)$/) ?? [];
  const [low, high] = [least === "" ? -Infinity : Number(least), most === "" ? Infinity : Number(most)];
  return variables[column]?.continuous && low <= high ? { kind, column: Number(column), low, high } : null;
}
