// The network in words: its edges, how it differs from another one, and where it comes from.

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
  const [place, open] = [panel.scrollTop, panel.querySelector("details")?.open];
  panel.setAttribute("aria-labelledby", `tab-${view.tab}`);
  panel.replaceChildren(...{ network: networkWords, variable: variableParts, about: aboutParts }[view.tab]());
  panel.dataset.subject = subject;
  // from one network to the next the reader stays at the same place of the same subject
  panel.scrollTop = subject === before ? place : 0;
  if (subject === before && open) panel.querySelector("details").open = true;
}

function aboutParts() {
  return [
    make(
      "dl",
      { class: "facts" },
      ...model.data.facts.flatMap(([key, value]) => [
        make("dt", {}, named(key)),
        make("dd", {}, named(value)),
      ]),
    ),
  ];
}

function networkWords() {
  const compared = reference();
  if (!compared) {
    const waiting =
      view.pin === view.selected && view.pin !== null
        ? [make("p", { class: "muted" }, "This is A. Go to another network to compare the two.")]
        : [];
    return [...waiting, ...edgeGroups(classedEdges(model.edges[view.selected], null), null), ...shareNote()];
  }
  const edges = classedEdges(model.edges[view.selected], compared.edges);
  const values = compared.kind === "pin" ? valueWords() : [];
  return [
    make("p", {}, summary(edges, compared)),
    ...(values.length ? [make("ul", { class: "plain-list" }, ...values)] : []),
    ...edgeGroups(edges, compared),
    ...shareNote(),
    make("h3", {}, "Bins"),
    ...binWords(compared),
  ];
}

function summary(edges, compared) {
  const count = (kind) => edges.filter((edge) => edge.kind === kind).length;
  const [both, reversed, here, there] = ["both", "reversed", "here", "there"].map(count);
  const subject = isSingle() ? "This network" : `Network ${idOf(view.selected)}`;
  if (reversed + here + there === 0)
    return `${subject} has the same ${counted(both, "edge")} as ${compared.name}.`;
  const verb = (number, one, more) => (number ? [`${number} ${number === 1 ? one : more}`] : []);
  const rest = [
    ...verb(reversed, "runs the other way", "run the other way"),
    ...verb(here, "is only here", "are only here"),
    ...verb(there, "is only there", "are only there"),
  ];
  return `${subject} shares ${counted(both, "edge")} with ${compared.name}; ${rest.join(", ")}.`;
}

/** One sentence per axis on how the two networks' values differ. */
function valueWords() {
  return model.axes.map((axis) => {
    const [here, there] = [axis.values[view.selected], axis.values[view.pin]];
    const difference = withUnit(axis, Math.abs(here - there));
    if (here === there) return make("li", {}, `${axis.label}: the same, ${withUnit(axis, here)}.`);
    const both = `${axis.label}: ${axisText(axis, here)} here, ${axisText(axis, there)} in A`;
    const side = here < there ? "here" : "A has";
    return make("li", {}, `${both}; ${side} ${difference} ${axis.whole ? "fewer" : "less"}: ${axis.better}.`);
  });
}

function groupTitle(kind, number, compared) {
  return {
    plain: counted(number, "edge"),
    both: `In both: ${number}`,
    reversed: `Reversed: ${number}`,
    here: `Only here: ${number}`,
    there: `Only in ${compared?.name}: ${number}`,
  }[kind];
}

/** The edges by class, as lists: the readable twin of the drawing. */
function edgeGroups(edges, compared) {
  const kinds = compared ? ["reversed", "here", "there", "both"] : ["plain"];
  return kinds.flatMap((kind) => {
    const group = edges.filter((edge) => edge.kind === kind);
    if (!group.length)
      return kind === "plain" ? [make("p", {}, "No edges: all variables are independent.")] : [];
    const items = group.map(({ from, to }) => {
      const often = isSingle()
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
      return make("li", {}, nameLink(from), " → ", nameLink(to), ...turned, ...often);
    });
    return [
      make("h3", {}, groupTitle(kind, group.length, compared)),
      make("ul", { class: "edge-list" }, ...items),
    ];
  });
}

function shareNote() {
  if (isSingle()) return [];
  const pool = counted(Math.max(1, view.left.length), "network");
  return [make("p", { class: "muted note" }, `Percentages: how many of the ${pool} left have the edge.`)];
}

function nameLink(variable) {
  return make(
    "button",
    { type: "button", class: "link", onclick: () => lookAt(variable) },
    named(model.data.variables[variable].name),
  );
}

// ---- bins

/** How the bins differ from the reference's, variable by variable. */
function binWords(compared) {
  const differing = [];
  let same = 0;
  model.data.variables.forEach((variable, place) => {
    if (!variable.continuous || (compared.kind === "yours" && variable.unsaid)) return;
    const [own, other] = [cutsOf(network(), place), cutsOf(compared.network, place)];
    if (own.join() === other.join()) same += 1;
    else differing.push(binSentence(place, own, other, compared));
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

/** The variables of which the expert gave no bins, and those that they did not mention. */
function unsaidWords() {
  const places = (what) => model.order.filter((place) => model.data.variables[place].unsaid === what);
  return [
    ["You gave no bins", places("bins")],
    ["You did not mention", places("variable")],
  ].flatMap(([text, found]) =>
    found.length
      ? [make("p", {}, `${text}: `, ...found.flatMap((place, at) => [at ? ", " : "", nameLink(place)]), ".")]
      : [],
  );
}

function binSentence(variable, own, other, compared) {
  const [here, there] = [own, other].map((cuts) =>
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

/** Cuts with as many decimals as tell them apart. */
function cutTexts(variable, cuts) {
  const [low, high] = model.data.variables[variable].support;
  let decimals = Math.max(0, decimalsFor(high - low));
  if (decimals > 0) decimals -= 1;
  let texts = cuts.map((cut) => shown(cut, decimals));
  while (new Set(texts).size < texts.length && decimals < 10) {
    decimals += 1;
    texts = cuts.map((cut) => shown(cut, decimals));
  }
  return texts;
}

/** The bins or levels of a variable as short texts: up to the first cut, between cuts, above the last. */
function binTexts(one, variable) {
  const cuts = cutsOf(one, variable);
  if (!cuts) return model.data.variables[variable].levels;
  if (!cuts.length) return ["all values"];
  const texts = cutTexts(variable, cuts);
  return [
    `≤ ${texts[0]}`,
    ...texts.slice(1).map((text, place) => `${texts[place]} – ${text}`),
    `> ${texts[texts.length - 1]}`,
  ];
}

// ---- the printed page

const shortName = (variable) => fitted(model.data.variables[variable].name, 240, "12px sans-serif");

const MOST_IN_FULL = 24; // variables whose bins fit on one page

/** Edges and bins as text, below the drawing on paper. */
function renderPrint() {
  const compared = reference();
  const edges = classedEdges(model.edges[view.selected], compared?.edges);
  const kinds = compared ? ["both", "reversed", "here", "there"] : ["plain"];
  const parts = [];
  const note = view.notes.get(view.selected);
  if (note) parts.push(make("h3", {}, "Note"), make("p", {}, named(note)));
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
    const group = edges
      .filter((edge) => edge.kind === kind)
      .map(({ from, to }) => `${shortName(from)} → ${shortName(to)}`);
    if (group.length)
      parts.push(make("h3", {}, groupTitle(kind, group.length, compared)), make("p", {}, group.join(";  ")));
  }
  const many = model.data.variables.length > MOST_IN_FULL;
  const bins = model.data.variables.map((variable, place) => {
    const texts = binTexts(network(), place);
    const words = many ? counted(texts.length, variable.continuous ? "bin" : "level") : texts.join(" | ");
    return make("p", {}, make("b", {}, named(shortName(place))), `: ${words}`);
  });
  parts.push(
    make("h3", {}, "Bins and levels"),
    make("div", { class: many ? "columns many" : "columns" }, ...bins),
  );
  byId("print-summary").replaceChildren(...parts);
}
