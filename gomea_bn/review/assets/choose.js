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
 * The knee is that of the whole front; the best of an objective is the best of the networks left.
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
      slider.setAttribute("aria-valuetext", percent(shares[index]));
      slider.nextElementSibling.textContent = percent(shares[index]);
    });
  byId("landmarks")
    .querySelectorAll("button")
    .forEach((button, index) => {
      const target = landmarkTarget(model.data.landmarks[index]);
      button.disabled = target === null;
      button.title = target === null ? "Outside your filters" : `Network ${idOf(target)}`;
      button.setAttribute("aria-pressed", target === view.selected);
    });
  if (byId("table-dialog").open) fillTable();
}

// ---- the table of all networks, for people who prefer reading

function openTable() {
  fillTable();
  byId("table-dialog").showModal();
}

function fillTable() {
  const head = make(
    "tr",
    {},
    make("th", { class: "text" }, "Network"),
    ...model.axes.map((axis) =>
      make("th", {}, axis.label, make("br"), make("small", { class: "muted" }, axis.unit)),
    ),
    make("th", { class: "text" }, "Filters"),
  );
  const rows = model.data.ids.map((id, position) => {
    const go = make(
      "button",
      {
        type: "button",
        class: "quiet",
        onclick: () => {
          byId("table-dialog").close();
          select(position);
        },
      },
      `${id}${view.stars.has(position) ? " ★" : ""}`,
    );
    const cells = model.axes.map((axis) => make("td", {}, axisText(axis, axis.values[position])));
    const kind = `${position === view.selected ? "current" : ""} ${passes(position) ? "" : "out"}`;
    return make(
      "tr",
      { class: kind },
      make("th", { scope: "row" }, go),
      ...cells,
      make("td", { class: "text" }, passes(position) ? "passes" : "filtered out"),
    );
  });
  byId("table-body").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}
