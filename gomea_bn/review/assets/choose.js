// Ways to a network other than pointing at it: landmarks, weights, and the table of all.

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

/** Where a landmark's button leads: the knee is the whole front's, the best is the best of those left. */
function landmarkTarget(landmark) {
  const position = model.data.ids.indexOf(landmark.id);
  if (position >= 0 && passes(position)) return position;
  if (landmark.objective === null || !view.left.length) return null;
  return bestOf(landmark.objective, view.left);
}

function weightRow(objective, place) {
  const slider = make("input", {
    type: "range",
    min: 0,
    max: 100,
    step: 5,
    id: `weight-${place}`,
    "data-objective": objective.name,
    oninput: (event) => weigh(place, Number(event.target.value)),
  });
  return [
    make("label", { for: `weight-${place}` }, objective.label),
    slider,
    make("output", { for: `weight-${place}` }),
  ];
}

function weigh(place, value) {
  const weights = sliderWeights().map((weight, other) => (other === place ? value : weight));
  view.weights = weights;
  select(nearestTo(weights, view.left) ?? view.selected);
}

/** Where the sliders stand: in the middle until one is moved. */
const sliderWeights = () => view.weights ?? model.data.objectives.map(() => 50);

/** The weights as shares of their sum, as they are shown and saved. */
function weightShares() {
  const weights = sliderWeights();
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (total > 0 ? weight / total : 1 / weights.length));
}

function renderChoose() {
  const shares = weightShares();
  byId("weights")
    .querySelectorAll("input")
    .forEach((slider, place) => {
      slider.value = sliderWeights()[place];
      slider.setAttribute("aria-valuetext", percent(shares[place]));
      slider.nextElementSibling.textContent = percent(shares[place]);
    });
  byId("landmarks")
    .querySelectorAll("button")
    .forEach((button, place) => {
      const target = landmarkTarget(model.data.landmarks[place]);
      button.disabled = target === null;
      button.title = target === null ? "Outside your filters" : `Network ${idOf(target)}`;
      button.setAttribute("aria-pressed", target === view.selected);
    });
  if (byId("table-dialog").open) fillTable();
}

// ---- the table of all networks, for those who would rather read than look

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
