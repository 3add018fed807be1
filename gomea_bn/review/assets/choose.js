// Ways to choose a network: buttons for landmarks, sliders for weights, and a table of all networks.

function buildChoose() {
  byId("landmarks").replaceChildren(...model.data.landmarks.map(landmarkButton));
  if (model.data.objectives.length > 1)
    byId("weights").replaceChildren(...model.data.objectives.flatMap(weightRow));
  byId("weights").parentElement.hidden = model.data.objectives.length < 2;
  byId("open-table").addEventListener("click", openTable);
  byId("close-table").addEventListener("click", () => byId("table-dialog").close());
  renderers.push(renderChoose);
}

function landmarkButton(landmark) {
  return make(
    "button",
    { type: "button", "data-key": landmark.key, onclick: () => select(landmarkTarget(landmark)) },
    landmark.label,
  );
}

/**
 * The position that a landmark's button leads to, null if no network passes the filters.
 * The recommended network is that of the whole front; the best of an objective is the best of the networks left.
 */
function landmarkTarget(landmark) {
  const position = model.data.ids.indexOf(landmark.id);
  if (position >= 0 && passes(position)) return position;
  if (landmark.objective === null || !view.left.length) return null;
  return bestOf(landmark.objective, view.left);
}

function weightRow(objective, index) {
  const slider = make("input", {
    type: "range",
    min: 0,
    max: 100,
    step: 5,
    id: `weight-${index}`,
    "data-objective": objective.name,
    oninput: (event) => weigh(index, Number(event.target.value)),
  });
  return [
    make("label", { for: `weight-${index}` }, objective.label),
    slider,
    make("output", { for: `weight-${index}` }),
  ];
}

function weigh(index, value) {
  const weights = sliderWeights().map((weight, other) => (other === index ? value : weight));
  view.weights = weights;
  select(nearestTo(weights, view.left) ?? view.selected);
}

/** The positions of the sliders: in the middle until one is moved. */
const sliderWeights = () => view.weights ?? model.data.objectives.map(() => 50);

/** The weights as shares of their sum, in which form they are shown and saved. */
function weightShares() {
  const weights = sliderWeights();
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (total > 0 ? weight / total : 1 / weights.length));
}

function renderChoose() {
  const shares = weightShares();
  byId("weights")
    .querySelectorAll("input")
    .forEach((slider, index) => {
      slider.value = sliderWeights()[index];
      const text = view.weights ? percent(shares[index]) : "equal";
      slider.setAttribute("aria-valuetext", text);
      slider.nextElementSibling.textContent = text;
    });
  byId("landmarks")
    .querySelectorAll("button")
    .forEach((button, index) => {
      const target = landmarkTarget(model.data.landmarks[index]);
      button.disabled = target === null;
      const { key } = model.data.landmarks[index];
      const what = key === "single" ? ": what a search for the score alone finds (penalised likelihood)" : "";
      button.title = target === null ? "Outside your filters" : `Network ${idOf(target)}${what}`;
      button.setAttribute("aria-pressed", target === view.selected);
    });
  if (byId("table-dialog").open) fillTable();
}

// ---- the table of all networks, for people who prefer reading

// number of rows of the table at first, and that each press of the button below it adds
const TABLE_ROWS = 500;

function openTable() {
  tableOrder.rows = TABLE_ROWS;
  fillTable();
  byId("table-dialog").showModal();
}

// the order of the table: position of an axis, null for the networks' own order, whether it falls, and number of rows
const tableOrder = { axis: null, falls: false, rows: TABLE_ROWS };

/** Orders the table by an axis; the same axis again turns the order around. */
function orderTable(axis) {
  tableOrder.falls = tableOrder.axis === axis && !tableOrder.falls;
  tableOrder.axis = axis;
  fillTable();
  byId("table-body").querySelector(`[data-axis="${axis}"]`).focus();
}

/** The values of an axis as texts with enough digits to differ wherever the values do. */
function distinctTexts(axis) {
  axis.texts ??= textsOf(axis);
  return axis.texts;
}

function textsOf(axis) {
  for (let decimals = axis.decimals; decimals < 12; decimals += 1) {
    const texts = new Set(axis.sorted.map((value) => shown(value, decimals, 6)));
    if (texts.size === axis.sorted.length) return (value) => shown(value, decimals, 6);
  }
  return String;
}

function fillTable() {
  const texts = model.axes.map(distinctTexts);
  const heads = model.axes.map((axis, index) => {
    const isOrder = tableOrder.axis === index;
    const arrow = isOrder ? (tableOrder.falls ? " ▼" : " ▲") : "";
    return make(
      "th",
      { "aria-sort": isOrder ? (tableOrder.falls ? "descending" : "ascending") : "none", scope: "col" },
      make(
        "button",
        { type: "button", class: "quiet", "data-axis": index, onclick: () => orderTable(index) },
        `${axis.label}${arrow}`,
      ),
      make("br"),
      make("small", { class: "muted" }, axis.unit),
    );
  });
  const head = make(
    "tr",
    {},
    make("th", { class: "text", scope: "col" }, "Network"),
    ...heads,
    make("th", { class: "text", scope: "col" }, "Filters"),
    make("th", { class: "text", scope: "col" }, "Mark"),
  );
  const positions = tablePositions();
  const rows = positions.slice(0, tableOrder.rows).map((position) => tableRow(position, texts));
  byId("table-body").replaceChildren(
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)),
    ...furtherRows(positions.length),
  );
}

/** A button for further rows, with a word on how many there are. */
function furtherRows(total) {
  if (tableOrder.rows >= total) return [];
  const shownRows = tableOrder.rows;
  const more = () => {
    tableOrder.rows += TABLE_ROWS;
    fillTable();
    byId("table-body").querySelectorAll("tbody th button")[shownRows].focus();
  };
  return [
    make(
      "p",
      { class: "muted" },
      `The first ${shownRows.toLocaleString("en")} of ${total.toLocaleString("en")} networks. `,
      make("button", { type: "button", id: "more-rows", onclick: more }, "Show more"),
    ),
  ];
}

function tablePositions() {
  const positions = model.data.ids.map((_, position) => position);
  if (tableOrder.axis === null) return positions;
  const { values } = model.axes[tableOrder.axis];
  const sign = tableOrder.falls ? -1 : 1;
  return positions.sort((a, b) => sign * (values[a] - values[b]) || a - b);
}

function tableRow(position, texts) {
  const id = idOf(position);
  const go = () => {
    byId("table-dialog").close();
    select(position);
  };
  const cells = model.axes.map((axis, index) => make("td", {}, texts[index](axis.values[position])));
  const kind = `${position === view.selected ? "current" : ""} ${passes(position) ? "" : "out"}`;
  return make(
    "tr",
    { class: kind },
    make("th", { scope: "row" }, make("button", { type: "button", class: "quiet", onclick: go }, String(id))),
    ...cells,
    make("td", { class: "text" }, passes(position) ? "passes" : "filtered out"),
    make(
      "td",
      { class: "text" },
      markButton(position, "star", view.stars.has(position), () => toggleStar(position)),
      " ",
      markButton(position, "pin", view.pin === position, () => togglePin(position)),
    ),
  );
}

/** A button of the table that stars or pins a network, and keeps the focus in the table that is drawn again. */
function markButton(position, mark, isOn, act) {
  const key = `${mark}-${idOf(position)}`;
  const words = { star: `Star network ${idOf(position)}`, pin: `Keep network ${idOf(position)} as A` }[mark];
  return make(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": words,
      "aria-pressed": isOn,
      "data-mark": key,
      onclick: () => {
        act();
        byId("table-body").querySelector(`[data-mark="${key}"]`).focus();
      },
    },
    { star: isOn ? "★" : "☆", pin: isOn ? "◉" : "○" }[mark],
  );
}
