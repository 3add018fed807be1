// The panel of the network in words: its edges, its differences from another network, and its origin.

function buildPanel() {
  for (const tab of ["network", "variable", "about"]) {
    const button = byId(`tab-${tab}`);
    button.addEventListener("click", () => change({ tab }));
    button.addEventListener("keydown", moveTab);
  }
  byId("tab-about").hidden = !model.data.facts.length;
  renderers.push(renderPanel);
}

function moveTab(event) {
  const tabs = [...event.target.parentElement.children].filter((tab) => !tab.hidden);
  const move = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[event.key];
  if (!move) return;
  event.preventDefault();
  event.stopPropagation();
  const next = tabs[(tabs.indexOf(event.target) + move) % tabs.length];
  next.focus();
  next.click();
}

function renderPanel() {
  for (const tab of ["network", "variable", "about"]) {
    byId(`tab-${tab}`).setAttribute("aria-selected", view.tab === tab);
    byId(`tab-${tab}`).setAttribute("tabindex", view.tab === tab ? 0 : -1);
  }
  const panel = byId("panel");
  const [subject, before] = [`${view.tab} ${view.variable}`, panel.dataset.subject];
  const [scrolled, open] = [panel.scrollTop, panel.querySelector("details")?.open];
  panel.setAttribute("aria-labelledby", `tab-${view.tab}`);
  panel.replaceChildren(...{ network: networkWords, variable: variableParts, about: aboutParts }[view.tab]());
  panel.dataset.subject = subject;
  // the scroll position of a subject is kept when another network is selected
  panel.scrollTop = subject === before ? scrolled : 0;
  if (subject === before && open) panel.querySelector("details").open = true;
}

/** The origin of the networks, and last the settings of the search by the names that a program knows. */
function aboutParts() {
  const isSetting = ([key]) => key.startsWith("parameters");
  const listOf = (facts) =>
    make(
      "dl",
      { class: "facts" },
      ...facts.flatMap(([key, value]) => [make("dt", {}, named(key)), make("dd", {}, named(value))]),
    );
  const [settings, others] = [true, false].map((kept) =>
    model.data.facts.filter((fact) => isSetting(fact) === kept),
  );
  if (!settings.length) return [listOf(others)];
  return [
    listOf(others),
    make("details", {}, make("summary", {}, "Settings of the search, for programmers"), listOf(settings)),
  ];
}

const networkWords = () => [...edgeParts(), ...comparedWords()];

function comparedWords() {
  const compared = reference();
  if (!compared) {
    const waiting =
      view.pin === view.selected && view.pin !== null
        ? [make("p", { class: "muted" }, "This is A. Go to another network to compare the two.")]
        : [];
    return [
      ...waiting,
      ...(model.data.expert ? [] : testedWords(model.data.tested?.graph)),
      ...edgeGroups(classedEdges(model.edges[view.selected], null), null),
      ...shareNote(),
      ...stabilityWords(),
    ];
  }
  const edges = classedEdges(model.edges[view.selected], compared.edges);
  const isPin = compared.kind === "pin";
  const stop = { type: "button", class: "quiet", onclick: () => togglePin(view.pin) };
  const values = isPin ? valueSentences().map((sentence) => make("li", {}, sentence)) : [];
  return [
    make("p", {}, summary(edges, compared)),
    ...(isPin ? [make("p", {}, make("button", stop, "Stop comparing"))] : []),
    ...(compared.kind === "yours" ? testedWords(model.data.tested?.graph) : []),
    ...(values.length ? [make("ul", { class: "plain-list" }, ...values)] : []),
    ...edgeGroups(edges, compared),
    ...shareNote(),
    make("h3", {}, "Bins"),
    ...binWords(compared),
  ];
}

/** What the test of a graph says of it or of a pair, and whose graph that is; nothing without a test. */
function testedWords(text) {
  if (!text) return [];
  return [make("p", { class: "tested" }, `${model.data.expert ? "Your network" : "Tested"}: ${text}`)];
}

function summary(edges, compared) {
  const count = (kind) => edges.filter((edge) => edge.kind === kind).length;
  const [both, reversed, here, there] = ["both", "reversed", "here", "there"].map(count);
  const subject = isSingle() ? "This network" : `Network ${idOf(view.selected)}`;
  if (reversed + here + there === 0)
    return `${subject} has the same ${counted(both, "edge")} as ${compared.name}.`;
  const clause = (number, singular, plural) =>
    number ? [`${number} ${number === 1 ? singular : plural}`] : [];
  const rest = [
    ...clause(reversed, "runs the other way", "run the other way"),
    ...clause(here, "is only here", "are only here"),
    ...clause(there, "is only there", "are only there"),
  ];
  return `${subject} shares ${counted(both, "edge")} with ${compared.name}; ${rest.join(", ")}.`;
}

/** One sentence per axis on the difference between the two networks' values. */
function valueSentences() {
  return model.axes.map((axis) => {
    const [here, there] = [axis.values[view.selected], axis.values[view.pin]];
    const difference = withUnit(axis, Math.abs(here - there));
    if (here === there) return `${axis.label}: the same, ${withUnit(axis, here)}.`;
    const both = `${axis.label}: ${axisText(axis, here)} here, ${axisText(axis, there)} in A`;
    const side = here < there ? "here" : "A has";
    return `${both}; ${side} ${difference} ${axis.whole ? "fewer" : "less"}: ${axis.better}.`;
  });
}

function groupTitle(kind, number, compared) {
  return {
    plain: counted(number, "edge"),
    both: `In both: ${number}`,
    turned: `Turned, which the rows cannot tell: ${number}`,
    reversed: `Turned, a contradiction: ${number}`,
    here: `Only here: ${number}`,
    there: `Only in ${compared?.name}: ${number}`,
  }[kind];
}

/**
 * The class of an edge, where a reversed edge is "turned" if its direction is open in one of the two networks: a network
 * with the same independences has the edge the other way, so the two do not contradict each other.
 */
function groupOf({ from, to, kind }, compared) {
  if (kind !== "reversed") return kind;
  const isOpenThere = compared.network.o.includes(arcKey(to, from));
  return isOpen(from, to) || isOpenThere ? "turned" : "reversed";
}

/** The edges by class as lists, the textual form of the drawing. */
function edgeGroups(edges, compared) {
  const groups = compared ? ["turned", "reversed", "here", "there", "both"] : ["plain"];
  return groups.flatMap((groupKind) => {
    const kind = groupKind === "turned" ? "reversed" : groupKind;
    const isOfOutcome = ({ from, to }) => from === view.target || to === view.target;
    const group = edges
      .filter((edge) => groupOf(edge, compared) === groupKind)
      .sort((a, b) => isOfOutcome(b) - isOfOutcome(a));
    if (!group.length)
      return kind === "plain" ? [make("p", {}, "No edges: no column tells about another.")] : [];
    const items = group.map(({ from, to }) => {
      const often =
        isSingle() || !view.left.length
          ? []
          : [" ", make("span", { class: "muted" }, percent(view.shares.get(arcKey(from, to)) ?? 0))];
      const turned =
        kind === "reversed"
          ? [
              " ",
              make(
                "span",
                { class: "muted" },
                `(${compared.kind === "yours" ? "yours" : "A"}: the other way)`,
              ),
            ]
          : [];
      const sure = probabilityOf(from, to);
      const muted = (text) => [" ", make("span", { class: "muted" }, text)];
      const marks = [
        ...(isOpen(from, to) ? muted("(or turned)") : []),
        ...(sure ? muted(`(${sureWords(sure)})`) : []),
      ];
      const names = [from, to].map((index) => model.data.variables[index].name).join(" → ");
      const open = make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `About ${names}`,
          onclick: () => lookAtEdge(from, to),
        },
        "?",
      );
      const asked = kind === "there" ? [] : [" ", open];
      const tested = compared?.kind === "pin" ? [] : testedWords(model.notes.get(arcKey(from, to)));
      return make(
        "li",
        {},
        nameLink(from),
        " → ",
        nameLink(to),
        ...turned,
        ...marks,
        ...often,
        ...asked,
        ...tested,
      );
    });
    return [
      make(
        "h3",
        { title: groupKind === "turned" ? "Reversed within an equivalence class" : null },
        groupTitle(groupKind, group.length, compared),
      ),
      make("ul", { class: "edge-list" }, ...items),
    ];
  });
}

function shareNote() {
  if (isSingle()) {
    if (!model.probabilities[view.selected].size) return [];
    const text =
      "Probabilities: the posterior probability of an edge in either direction, and in this one, given the rows.";
    return [make("p", { class: "muted note" }, text)];
  }
  if (!view.left.length) return [];
  const pool = counted(view.left.length, "network");
  return [
    make(
      "p",
      { class: "muted note" },
      `Percentages: the share of the ${pool} left that have the edge, not a probability of the edge.`,
    ),
  ];
}

/** What stays and what moves in repeated searches; only single networks have it. */
function stabilityWords() {
  const paragraphs = model.data.stability ?? [];
  if (!paragraphs.length) return [];
  return [make("h3", {}, "If learned again"), ...paragraphs.map((text) => make("p", {}, text))];
}

function nameLink(variable) {
  return make(
    "button",
    { type: "button", class: "link", onclick: () => lookAt(variable) },
    named(model.data.variables[variable].name),
  );
}

// ---- bins

/** The differences from the bins of the network to compare with, variable by variable. */
function binWords(compared) {
  const differing = [];
  let same = 0;
  model.data.variables.forEach((variable, index) => {
    if (!variable.continuous || (compared.kind === "yours" && variable.unsaid)) return;
    const [cuts, others] = [cutsOf(network(), index), cutsOf(compared.network, index)];
    if (cuts.join() === others.join()) same += 1;
    else differing.push(binSentence(index, cuts, others, compared));
  });
  const rest = same
    ? [
        make(
          "p",
          { class: "muted" },
          `${differing.length ? "The same" : "All the same"}: ${counted(same, "variable")}.`,
        ),
      ]
    : [];
  const unsaid = compared.kind === "yours" ? unsaidWords() : [];
  return [make("ul", { class: "plain-list" }, ...differing), ...rest, ...unsaid];
}

/** The variables to which the expert gave no bins, and those that the expert did not mention. */
function unsaidWords() {
  const lacking = (part) => model.order.filter((index) => model.data.variables[index].unsaid === part);
  return [
    ["You gave no bins", lacking("bins")],
    ["You did not mention", lacking("variable")],
  ].flatMap(([text, variables]) =>
    variables.length
      ? [
          make(
            "p",
            {},
            `${text}: `,
            ...variables.flatMap((index, at) => [at ? ", " : "", nameLink(index)]),
            ".",
          ),
        ]
      : [],
  );
}

function binSentence(variable, cutsHere, cutsThere, compared) {
  const [here, there] = [cutsHere, cutsThere].map((cuts) =>
    cuts.length
      ? `${counted(cuts.length + 1, "bin")}, cut at ${cutTexts(variable, cuts).join(", ")}`
      : "one bin",
  );
  return make(
    "li",
    {},
    nameLink(variable),
    `: ${here} here; ${there} in ${compared.kind === "yours" ? "yours" : "A"}.`,
  );
}

/** Cuts as texts, with a least number of digits, and enough to differ from each other and from the ends of the range. */
function cutTexts(variable, cuts, least = 4) {
  const [low, high] = model.data.variables[variable].support;
  for (let digits = least; digits < 17; digits += 1) {
    const texts = [low, ...cuts, high].map((edge) => significant(edge, digits));
    if (new Set(texts).size === texts.length) return texts.slice(1, -1);
  }
  return cuts.map((cut) => significant(cut, 17));
}

/** The bins or levels of a variable as short texts: up to the first cut, between cuts, above the last. */
function binTexts(candidate, variable, digits = 4) {
  const cuts = cutsOf(candidate, variable);
  if (!cuts) return model.data.variables[variable].levels;
  if (!cuts.length) return ["all values"];
  const texts = cutTexts(variable, cuts, digits);
  return [
    `≤ ${texts[0]}`,
    ...texts.slice(1).map((text, index) => `${texts[index]} – ${text}`),
    `> ${texts[texts.length - 1]}`,
  ];
}

// ---- the printed page

const shortName = (variable) => fitted(model.data.variables[variable].name, 240, "12px sans-serif");

// number of variables whose bins fit on one sheet of paper
const MOST_IN_FULL = 24;

/** Which network the sheet is about, and whether it was decided on. */
function decisionWords() {
  const subject = isSingle() ? "This network" : `Network ${idOf(view.selected)}`;
  return `${subject}: ${byId("saved").childElementCount ? "saved in decision.json." : "not saved yet."}`;
}

/** Fills the text below the drawing on paper: decision, note, shortlist, edges, bins. */
function renderPrint() {
  const compared = reference();
  const edges = classedEdges(model.edges[view.selected], compared?.edges);
  const kinds = compared ? ["both", "turned", "reversed", "here", "there"] : ["plain"];
  const parts =
    model.data.kind === "front" ? [make("h3", {}, "Decision"), make("p", {}, decisionWords())] : [];
  if (compared?.kind === "pin")
    parts.push(make("p", {}, [summary(edges, compared), ...valueSentences()].join(" ")));
  const note = view.notes.get(view.selected);
  if (note) parts.push(make("h3", {}, "Note"), make("p", {}, named(note)));
  if (view.rules.length)
    parts.push(make("h3", {}, "Rules"), make("p", {}, named(view.rules.map(ruleText).join(";  "))));
  if (view.stars.size)
    parts.push(
      make("h3", {}, "Shortlist"),
      make(
        "p",
        {},
        sortedIds(view.stars)
          .map((id) => `network ${id}`)
          .join(", "),
      ),
    );
  for (const kind of kinds) {
    const group = edges.filter((edge) => groupOf(edge, compared) === kind);
    if (group.length)
      parts.push(make("h3", {}, groupTitle(kind, group.length, compared)), make("p", {}, byChild(group)));
  }
  byId("print-summary").replaceChildren(...parts, ...printedBins());
}

/** Edges as a short text, those into a column together. */
function byChild(edges) {
  const parents = new Map();
  for (const { from, to } of edges) parents.set(to, [...(parents.get(to) ?? []), shortName(from)]);
  return [...parents].map(([to, names]) => `${names.join(", ")} → ${shortName(to)}`).join(";  ");
}

/** Bins and levels for paper; columns without cuts are only named, and of many columns the drawing has the numbers. */
function printedBins() {
  const texts = model.data.variables.map((_, index) => binTexts(network(), index));
  if (texts.length > MOST_IN_FULL) return [];
  const name = (index) => make("b", {}, named(shortName(index)));
  const parts = texts.flatMap((bins, index) =>
    bins.length === 1 ? [] : [make("p", {}, name(index), `: ${bins.join(" | ")}`)],
  );
  const whole = texts.flatMap(({ length }, index) => (length === 1 ? [shortName(index)] : []));
  if (whole.length) parts.push(make("p", {}, `Without cuts: ${whole.join(", ")}`));
  return [make("h3", {}, "Bins and levels"), make("div", { class: "columns" }, ...parts)];
}
