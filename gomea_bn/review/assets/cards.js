// A card per column: its bins or levels with their probabilities, which are buttons that set findings.

/** A share in per cent, with a decimal. */
const finePercent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;

function buildCards() {
  byId("cards").replaceChildren(...model.data.variables.map(cardOf));
  byId("cards").classList.toggle("with-rows", Boolean(countedRows()));
  byId("cards").dataset.network = view.selected;
  renderCards();
}

function cardOf({ name }, variable) {
  const states = binTexts(network(), variable).map((text, code, { length }) =>
    make(
      "button",
      {
        type: "button",
        class: "state",
        "data-code": code,
        "data-text": text,
        // a single bin says nothing
        disabled: length === 1 ? "" : null,
        onclick: (event) =>
          pressBin(
            variable,
            code,
            byId("several").checked || event.shiftKey || event.ctrlKey || event.metaKey,
          ),
      },
      make("span", { class: "label", title: text }, named(text)),
      make("span", { class: "track" }, make("i", { class: "mass" }), make("i", { class: "before" })),
      make("span", { class: "number" }),
      ...(countedRows() ? [make("span", { class: "number rows" })] : []),
    ),
  );
  return make(
    "section",
    { class: "card", "data-variable": variable, "aria-label": name },
    make("h3", {}, nameLink(variable), make("small", { class: "muted" })),
    make("div", { class: "states" }, ...states),
  );
}

/** Half the sum of absolute differences: the share of probability that moved. */
const movedShare = (before, after) =>
  before.reduce((sum, share, code) => sum + Math.abs(share - after[code]), 0) / 2;

/** Writes the answer into the cards. */
function renderCards() {
  if (answers.position !== view.selected || !byId("cards").childElementCount) return;
  const { before, after } = answers;
  const moved = model.data.variables.map((_, variable) =>
    before?.marginals && after?.marginals
      ? movedShare(before.marginals[variable], after.marginals[variable])
      : 0,
  );
  const next = rowsOfAnswers();
  for (const card of byId("cards").children) {
    const variable = Number(card.dataset.variable);
    const share = moved[variable];
    const rows = next?.columns.get(variable);
    const notes = [
      share >= 0.0005 ? `${finePercent(share)} changed` : "",
      rows ? `${rowsText(rows.n)} rows` : "",
    ];
    card.querySelector("h3 small").textContent = ` ${notes.filter(Boolean).join(" · ")}`;
    card.querySelector("h3 small").title =
      "Total variation distance from the answer without evidence; number of rows that have the evidence";
    for (const [code, state] of card.querySelectorAll(".state").entries()) {
      writeState(state, before?.marginals?.[variable][code], after?.marginals?.[variable][code]);
      writeRows(state, rows?.shares?.[code], isOff(next, variable, code));
    }
  }
  sortCards(moved);
}

function writeState(state, before, after) {
  const [mass, tick] = state.querySelectorAll("i");
  state.dataset.share = after ?? "";
  withShare(mass, after ?? 0);
  withShare(tick, before ?? 0);
  tick.hidden = before === undefined || !view.findings.size;
  const number = after === undefined ? "–" : finePercent(after);
  state.querySelector(".number").textContent = number;
  const was = before === undefined || before === after ? "" : `${finePercent(before)} without evidence`;
  state.setAttribute("aria-description", was);
}

const isOff = (next, variable, code) =>
  next?.off.some((figure) => figure.variable === variable && figure.code === code) ?? false;

/** Writes the share of the rows next to a probability, and marks one that differs by more than chance. */
function writeRows(state, share, off) {
  const place = state.querySelector(".rows");
  if (!place) return;
  place.textContent = share === undefined ? "" : finePercent(share);
  place.title = share === undefined ? "" : `Share of the rows${off ? ", off by more than chance" : ""}`;
  place.classList.toggle("off", off);
}

/** Puts the cards in the order of the columns, or those that moved most first; the focus stays where it was. */
function sortCards(moved) {
  const wanted = model.order.slice();
  if (view.cards === "moved") wanted.sort((a, b) => moved[b] - moved[a] || a - b);
  // the outcome comes first
  wanted.sort((a, b) => (b === view.target) - (a === view.target));
  const cards = [...byId("cards").children];
  if (cards.every((card, index) => Number(card.dataset.variable) === wanted[index])) return;
  const focused = document.activeElement;
  const cardOfVariable = new Map(cards.map((card) => [Number(card.dataset.variable), card]));
  byId("cards").replaceChildren(...wanted.map((variable) => cardOfVariable.get(variable)));
  if (byId("cards").contains(focused)) focused.focus();
}

/** Marks the bins and levels that are evidence, in the cards and in the drawing. */
function renderPressed() {
  const findings = fitting();
  const codes = new Map([...findings].map(([key, finding]) => [key, codesOf(finding, key, network())]));
  for (const card of byId("cards").children) {
    const chosen = codes.get(Number(card.dataset.variable));
    card.classList.toggle("known", chosen !== undefined);
    card.querySelectorAll(".state").forEach((state, code) => {
      state.setAttribute("aria-pressed", chosen?.includes(code) ?? false);
    });
  }
  for (const [variable, node] of graph.nodes.entries()) node.classList.toggle("known", codes.has(variable));
}
