// The edge that was clicked: what it says in words, and what the expert says against it.

const edgeCard = { ticket: 0, asked: "", insight: null };

/** What an expert may say against an edge, as rules. */
const OBJECTIONS = [
  { kind: "not", text: "This direction is impossible" },
  { kind: "lacks", text: "There is no such edge" },
];

function lookAtEdge(from, to) {
  change({ edge: [from, to], tab: "network" });
  byId("panel").scrollTop = 0;
}

/** The card of the edge that was clicked, nothing without one. */
function edgeParts() {
  if (!view.edge) return [];
  const [from, to] = view.edge;
  const isHere = model.edges[view.selected].has(arcKey(from, to));
  askEdge(from, to);
  const buttons = OBJECTIONS.map(({ kind, text }) => {
    const rule = { kind, from, to };
    const isSaid = view.rules.some((other) => ruleCode(other) === ruleCode(rule));
    const say = () =>
      change({
        rules: isSaid
          ? view.rules.filter((other) => ruleCode(other) !== ruleCode(rule))
          : [...view.rules, rule],
      });
    return make("button", { type: "button", "aria-pressed": isSaid, onclick: say }, text);
  });
  return [
    make(
      "section",
      { class: "edge-card", "aria-label": "The edge" },
      make(
        "div",
        { class: "line" },
        make("h3", {}, nameLink(from), " → ", nameLink(to)),
        make(
          "button",
          {
            type: "button",
            class: "quiet end",
            "aria-label": "Close the edge",
            onclick: () => change({ edge: null }),
          },
          "×",
        ),
      ),
      make("p", {}, isHere ? edgeSentence(from, to) : "This network does not have the edge."),
      ...testedWords(model.notes.get(arcKey(from, to))),
      make("p", { class: "muted" }, directionWords(from, to, isHere)),
      make("div", { class: "row objections" }, ...buttons),
    ),
  ];
}

/** Why an arrow may be drawn the wrong way round. */
function directionWords(from, to, isHere) {
  if (!isHere) return "";
  return isOpen(from, to)
    ? "The arrow is no cause, and the rows fit as well with the arrow turned."
    : "The arrow is no cause; its direction follows from how other columns depend on these two.";
}

/** Asks the worker for the joint distribution of the two columns. */
function askEdge(from, to) {
  const asked = [view.selected, from, to].join();
  if (asked === edgeCard.asked) return;
  Object.assign(edgeCard, { asked, insight: null });
  const known = model.data.variables.map(() => -1);
  edgeCard.ticket = post({ insight: { target: to, known, weights: [], questions: [] } });
}

function receiveEdge({ ticket, insight }) {
  if (ticket !== edgeCard.ticket || !insight) return;
  edgeCard.insight = insight;
  keepFocus(renderPanel);
}

/** The edge in words: in which bin or level of the parent the child is most and least often what it depends on most. */
function edgeSentence(from, to) {
  const column = edgeCard.insight?.columns?.[from];
  if (!column) return "…";
  const card = column.shares.length;
  const given = (code, state) => column.joint[code * card + state] / column.shares[state];
  const states = [...column.shares.keys()].filter((state) => column.shares[state] > 0);
  const contrasts = Array.from(edgeCard.insight.share, (_, code) => {
    const chances = states.map((state) => given(code, state));
    const [high, low] = [Math.max(...chances), Math.min(...chances)];
    return { code, high, low, most: states[chances.indexOf(high)], least: states[chances.indexOf(low)] };
  });
  const { code, high, low, most, least } = contrasts.reduce((a, b) =>
    b.high - b.low > a.high - a.low ? b : a,
  );
  const said = (variable, state) =>
    `${model.data.variables[variable].name} ${stateText(variable, binTexts(network(), variable)[state])}`;
  const behind = (state) => {
    const counts = matchedRows(to, new Map([[from, [state]]]));
    return counts
      ? ` (of ${counted(Math.round(counts.reduce((sum, number) => sum + number, 0)), "row")})`
      : "";
  };
  return (
    `Where ${said(from, most)}, ${percent(high)} have ${said(to, code)}${behind(most)}; ` +
    `where ${said(from, least)}, ${percent(low)}${behind(least)}.`
  );
}
