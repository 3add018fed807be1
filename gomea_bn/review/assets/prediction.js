// How well networks predict the column that a front is about, on rows that their tables leave out.

// of a chart, and of the room around its axes
const CHART = { width: 216, height: 196, left: 38, right: 8, top: 8, bottom: 34 };
// share of the heights above the largest net benefit, and of those below 0, that a decision curve shows
const BENEFIT_ROOM = 0.12;

const question = () => model.data.question;

function buildPrediction() {
  byId("show-prediction").hidden = !question();
  byId("show-prediction").addEventListener("click", () => change({ shows: "prediction" }));
  if (!question()) return;
  const { levels } = model.data.variables[question().target];
  byId("level-line").hidden = !levels || Boolean(question().note);
  byId("level").replaceChildren(
    ...(levels ?? []).map((level, code) => make("option", { value: code }, level)),
  );
  byId("level").addEventListener("change", (event) => change({ level: Number(event.target.value) }));
  renderers.push(renderPrediction);
}

/** The level whose prediction is shown, null for a continuous column. */
function shownLevel() {
  const { levels } = model.data.variables[question().target];
  if (!levels) return null;
  return levels[view.level] === undefined ? model.data.variables[question().target].outcome : view.level;
}

/** The left-out predictions of a network, of the shown level if there are levels; null without any. */
function predictionsOf(position) {
  const entry = question().networks?.[position];
  if (!entry) return null;
  const level = shownLevel();
  return level === null ? entry : { ...entry, ...entry.levels[level] };
}

const lossText = (loss) => shown(loss, decimalsFor(question().prior));

/** What is predicted, in a sentence. */
function outcomeText() {
  const { name, levels } = model.data.variables[question().target];
  return levels ? `${name} = ${levels[shownLevel()]}` : name;
}

function renderPrediction() {
  if (view.shows !== "prediction") return;
  byId("level").value = shownLevel();
  const entry = predictionsOf(view.selected);
  byId("prediction-words").textContent = predictionWords(entry);
  const series = [
    { kind: "this", entry },
    { kind: "pin", entry: view.pin === null || view.pin === view.selected ? null : predictionsOf(view.pin) },
  ].filter(({ entry: has }) => has);
  const charts = shownLevel() === null ? valueCharts : levelCharts;
  const parts = series.length ? charts(series) : [];
  if (!question().note) parts.push(userTable(), predictionNotes(entry));
  byId("prediction-parts").replaceChildren(...parts);
}

function predictionWords(entry) {
  const { note, prior, naive_bayes, n_rows } = question();
  if (note) return note;
  if (!entry)
    return `Network ${idOf(view.selected)} has no left-out predictions. The table has networks with them.`;
  const naive = naive_bayes === null ? "" : `, of naive Bayes ${lossText(naive_bayes)}`;
  const loss =
    `Its loss on ${counted(n_rows, "row")}, each predicted by tables that do not count it, is ${lossText(entry.loss)} ± ` +
    `${significant(entry.loss_error, 2)}, without any column ${lossText(prior)}${naive}. ` +
    "Edges and cuts were chosen with these rows, so that new rows are predicted worse; gomea-bn study says how well.";
  if (shownLevel() === null)
    return (
      `Network ${idOf(view.selected)} misses ${outcomeText()} by ${significant(entry.rmse, 3)}, and ` +
      `${percent(entry.coverage.at(-1))} of the rows are in their ${percent(question().coverages.at(-1))} intervals. ${loss}`
    );
  const sure = `expects ${outcomeText()} in ${finePercent(entry.expected)} of the rows, and ${finePercent(entry.share)} have it`;
  if (!entry.auc) return `Network ${idOf(view.selected)} ${sure}. ${loss}`;
  const [auc, low, high] = entry.auc.map((value) => (100 * value).toFixed(1));
  return (
    `Of a row with ${outcomeText()} and one without, network ${idOf(view.selected)} finds the right one in ${auc} ` +
    `of 100 cases (95 % interval ${low} to ${high}). It ${sure}. ${loss}`
  );
}

// ---- charts

/** A chart with axes `x` and `y`: { low, high, label, text of a tick }. `marks` draws by the scales of both. */
function chart(title, hint, words, x, y, marks) {
  const { width, height, left, right, top, bottom } = CHART;
  const scale =
    ({ low, high }, from, to) =>
    (value) =>
      from + ((value - low) / (high - low || 1)) * (to - from);
  const [atX, atY] = [scale(x, left, width - right), scale(y, height - bottom, top)];
  const grid = [
    ...roundTicks(x.low, x.high, 4).flatMap((tick) => [
      draw("line", { class: "grid", x1: atX(tick), x2: atX(tick), y1: top, y2: height - bottom }),
      draw(
        "text",
        {
          class: "tick muted",
          x: Math.min(atX(tick), width - 18),
          y: height - bottom + 13,
          "text-anchor": "middle",
        },
        x.text(tick),
      ),
    ]),
    ...roundTicks(y.low, y.high, 4).flatMap((tick) => [
      draw("line", { class: "grid", x1: left, x2: width - right, y1: atY(tick), y2: atY(tick) }),
      draw(
        "text",
        // the lowest label of this axis leaves room for the first one of the other
        {
          class: "tick muted",
          x: left - 5,
          y: atY(tick) + (atY(tick) > height - bottom - 4 ? 0 : 4),
          "text-anchor": "end",
        },
        y.text(tick),
      ),
    ]),
    draw(
      "text",
      { class: "tick", x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" },
      x.label,
    ),
  ];
  const svg = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}. ${words}` },
    ...grid,
    ...marks(atX, atY),
  );
  return make("figure", { class: "chart" }, make("figcaption", { title: hint }, title), svg);
}

const lineOf = (kind, points) =>
  draw("polyline", {
    class: kind,
    points: points.map((point) => point.map((value) => value.toFixed(1))).join(" "),
  });

/** A point with an interval; the point has the data for those who look closer. */
const pointOf = (kind, x, y, low, high, text) => [
  draw("line", { class: `interval ${kind}`, x1: x, x2: x, y1: low, y2: high }),
  draw("circle", { class: kind, cx: x, cy: y, r: 3 }, draw("title", {}, text)),
];

const shareAxis = (label) => ({ low: 0, high: 1, label, text: percent });

function levelCharts(series) {
  return [rocChart(series), calibrationChart(series), benefitChart(series)];
}

function rocChart(series) {
  const [{ entry }] = series;
  const words = entry.auc ? `The area under the curve is ${entry.auc[0].toFixed(3)}.` : "";
  return chart(
    "Found, by false alarms ↑",
    "Receiver operating characteristic (ROC): sensitivity against 1 − specificity, for every threshold",
    words,
    shareAxis(`share of rows without ${outcomeText()}`),
    shareAxis(),
    (x, y) => [
      lineOf("reference", [
        [x(0), y(0)],
        [x(1), y(1)],
      ]),
      ...series.map(({ kind, entry: { roc } }) =>
        lineOf(`density ${kind}`, [[x(0), y(0)], ...roc.map((share, at) => [x(at / 100), y(share)])]),
      ),
    ],
  );
}

function calibrationChart(series) {
  return chart(
    "How often it happens ↑",
    "Calibration: share of the rows with the level, by groups of about equally many rows; 95 % intervals (Wilson)",
    `${counted(series[0].entry.calibration.length, "group")} of rows.`,
    shareAxis("predicted probability"),
    shareAxis(),
    (x, y) => [
      lineOf("reference", [
        [x(0), y(0)],
        [x(1), y(1)],
      ]),
      ...series.flatMap(({ kind, entry: { calibration } }) =>
        calibration.flatMap(([mean, share, low, high, n]) =>
          pointOf(
            kind,
            x(mean),
            y(share),
            y(low),
            y(high),
            `predicted ${finePercent(mean)}, seen ${finePercent(share)} (${finePercent(low)} to ${finePercent(high)}) of ${counted(n, "row")}`,
          ),
        ),
      ),
    ],
  );
}

function benefitChart(series) {
  const { share } = series[0].entry;
  const low = -BENEFIT_ROOM * share;
  const threshold = (index) => (index + 1) / 100;
  const ofAll = series[0].entry.net_benefit.map(
    (_, index) => share - ((1 - share) * threshold(index)) / (1 - threshold(index)),
  );
  const line = (kind, x, y, benefits) => {
    // where a line leaves the chart it ends
    const last = benefits.findIndex((benefit) => benefit < low);
    const shownOnes = last < 0 ? benefits : benefits.slice(0, last);
    return lineOf(
      kind,
      shownOnes.map((benefit, index) => [x(threshold(index)), y(benefit)]),
    );
  };
  const better = series[0].entry.net_benefit
    .map((benefit, index) => [threshold(index), benefit - Math.max(ofAll[index], 0)])
    .filter(([, gain]) => gain > 0)
    .map(([at]) => at);
  const words = better.length
    ? `It is worth more than acting on all or none at some thresholds from ${percent(better[0])} to ${percent(better.at(-1))}.`
    : "It is never worth more than acting on all or none.";
  return chart(
    "Worth of acting on it ↑",
    `Decision curve: net benefit, true positives less weighted false positives per row (Vickers & Elkin 2006). ${words} ` +
      "Dotted: act on all, and on none",
    words,
    shareAxis("act from this probability on"),
    { low, high: share * (1 + BENEFIT_ROOM), text: (value) => significant(value, 2) },
    (x, y) => [
      line("reference", x, y, ofAll),
      line(
        "reference",
        x,
        y,
        ofAll.map(() => 0),
      ),
      ...series.map(({ kind, entry }) => line(`density ${kind}`, x, y, entry.net_benefit)),
    ],
  );
}

/** Charts of a continuous column: what was seen by what was predicted, and the coverage of intervals. */
function valueCharts(series) {
  const ends = series.flatMap(({ entry }) =>
    entry.groups.flatMap(([, mean, seen, deviation]) => [mean, seen - deviation, seen + deviation]),
  );
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const axis = { low, high, text: (value) => significant(value, 3) };
  const seen = chart(
    "What was seen ↑",
    "Means of groups of about equally many rows by their predicted mean; lines reach one standard deviation of the values",
    `${counted(series[0].entry.groups.length, "group")} of rows.`,
    { ...axis, label: "predicted mean" },
    axis,
    (x, y) => [
      lineOf("reference", [
        [x(low), y(low)],
        [x(high), y(high)],
      ]),
      ...series.flatMap(({ kind, entry }) =>
        entry.groups.flatMap(([n, mean, value, deviation]) =>
          pointOf(
            kind,
            x(mean),
            y(value),
            y(value - deviation),
            y(value + deviation),
            `predicted ${axis.text(mean)}, seen ${axis.text(value)} ± ${axis.text(deviation)} in ${counted(n, "row")}`,
          ),
        ),
      ),
    ],
  );
  const { coverages } = question();
  const covered = chart(
    "Rows inside their intervals ↑",
    "Coverage: share of the rows in the central interval that has this probability",
    coverages.map((level, at) => `${percent(level)}: ${percent(series[0].entry.coverage[at])}`).join(", "),
    { ...shareAxis("probability of the interval"), low: 0.4 },
    { ...shareAxis(), low: 0.4 },
    (x, y) => [
      lineOf("reference", [
        [x(0.4), y(0.4)],
        [x(1), y(1)],
      ]),
      ...series.flatMap(({ kind, entry }) =>
        coverages.flatMap((level, at) => {
          const share = Math.max(0.4, entry.coverage[at]);
          const text = `${percent(level)} intervals hold ${finePercent(entry.coverage[at])} of the rows`;
          return pointOf(kind, x(level), y(share), y(share), y(share), text);
        }),
      ),
    ],
  );
  return [seen, covered];
}

// ---- networks side by side

/** The columns on which a network predicts, and the column that it predicts. */
function usedColumns(position) {
  const { parents, children, partners } = blanket(model.edges[position], question().target);
  return new Set([...parents, ...children, ...partners]);
}

/** Which columns the networks with predictions use, and which of them predict as well as the best one up to chance. */
function userTable() {
  const positions = model.data.ids.map((_, at) => at).filter((at) => question().networks[at]);
  const used = positions.map(usedColumns);
  const users = model.order.map((column) => used.filter((columns) => columns.has(column)).length);
  const columns = model.order.filter((column) => users[column]).sort((a, b) => users[b] - users[a] || a - b);
  const heads = positions.map((position) =>
    make(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-pressed": position === view.selected,
        "aria-label": `Network ${idOf(position)}`,
        onclick: () => select(position),
      },
      String(idOf(position)),
    ),
  );
  const size = model.axes.find(({ key }) => key === "complexity");
  const facts = [
    ["as good as the best", (position) => (question().plausible.includes(position) ? "✓" : "–")],
    ["loss", (position) => lossText(question().networks[position].loss)],
    ...(size ? [["free parameters", (position) => axisText(size, size.values[position])]] : []),
    ...(shownLevel() === null
      ? []
      : [["area under ROC", (position) => predictionsOf(position).auc?.[0].toFixed(3) ?? "–"]]),
  ];
  const row = (head, cells, data = null) =>
    make("tr", { "data-column": data }, make("th", { scope: "row" }, head), ...cells);
  const rows = [
    ...facts.map(([head, text]) =>
      row(
        head,
        positions.map((position) => make("td", {}, text(position))),
      ),
    ),
    ...columns.map((column) =>
      row(
        nameLink(column),
        positions.map((position, at) =>
          used[at].has(column)
            ? make("td", { class: "used" }, String(binCount(model.data.networks[position], column)))
            : make("td", { class: "muted" }, "–"),
        ),
        column,
      ),
    ),
  ];
  const caption =
    "Networks side by side, and the columns that they use, with the number of their bins or levels. ✓: as good as the best one, up to chance";
  return make("div", { class: "scroll" }, tableOf("users", caption, ["Network", ...heads], rows));
}

function predictionNotes(entry) {
  const notes = [
    [
      "The dotted lines show what guesses reach, and what acting on all rows or on none is worth.",
      "Ten-fold cross-validation of the tables; probabilities are ranked inside a fold. ✓: the loss exceeds the least one by at most its standard error",
    ],
  ];
  if (view.pin !== null && view.pin !== view.selected)
    notes.push([
      entry && predictionsOf(view.pin)
        ? `Dashed violet: network A (${idOf(view.pin)}).`
        : `Network A (${idOf(view.pin)}) has no left-out predictions.`,
    ]);
  return make("div", { class: "muted note" }, ...notes.map(([note, title]) => make("p", { title }, note)));
}
