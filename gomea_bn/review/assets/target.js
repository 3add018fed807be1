// One column as the target: its answer with an interval, what drives it, what else would tell, and saved scenarios.

const target = {
  ticket: 0,
  asked: "",
  // the column that is asked about before there is an outcome
  first: 0,
  // what the worker said last, and the findings and scenarios that it was asked about
  insight: null,
  findings: [],
  scenarios: [],
  // the distributions under drawn tables, null until they are there
  draws: null,
  note: "",
};
const N_DRAWS = 200;
// what a column tells that is more than an error of rounding, in bits
const LEAST_BITS = 1e-9;
// columns that a page without an outcome offers as one
const MOST_ASKED = 4;
// the half-width of a central interval of 90 %, in standard errors
const NORMAL_90 = 1.6449;
// limit of the time for the draws, in cells of trees
const MOST_DRAWN = 2e8;

function buildTarget() {
  target.first = mostConnected();
  byId("show-target").addEventListener("click", () => change({ shows: "target" }));
  byId("target").replaceChildren(
    make("option", { value: "" }, "none chosen"),
    ...model.data.variables.map(({ name }, index) => make("option", { value: index }, name)),
  );
  byId("target").addEventListener("change", ({ target: { value } }) =>
    change({ target: value === "" ? null : Number(value), quantity: null }),
  );
  byId("quantity").addEventListener("change", (event) => change({ quantity: event.target.value }));
  byId("column-order").addEventListener("change", (event) => change({ columnOrder: event.target.value }));
  byId("save-scenario").addEventListener("click", saveScenario);
  byId("ask").append(
    ...likelyOutcomes().map((column) =>
      make(
        "button",
        { type: "button", onclick: () => change({ target: column, quantity: null }) },
        named(model.data.variables[column].name),
      ),
    ),
  );
  renderers.push(renderTarget);
}

/** Columns that a reader may ask about first: those of two levels with an edge, and the one with most edges. */
function likelyOutcomes() {
  const ends = new Set(model.edges.flatMap((edges) => [...edges].flatMap(arcOf)));
  const two = model.order.filter(
    (column) => ends.has(column) && model.data.variables[column].levels?.length === 2,
  );
  return [...new Set([...two.slice(-MOST_ASKED), target.first])];
}

const nameOfTarget = () => model.data.variables[targetColumn()].name;

const targetColumn = () => view.target ?? view.variable ?? target.first;

/** The column with most edges in all networks, the first of several. */
function mostConnected() {
  const numbers = model.data.variables.map(() => 0);
  for (const key of model.edges.flatMap((edges) => [...edges]))
    for (const end of arcOf(key)) numbers[end] += 1;
  return numbers.indexOf(Math.max(...numbers));
}

/** The means of a column's bins, null for a discrete column. */
const binMeans = (column) => model.data.cuts[column][network().c[column]].m;

/** What is asked of the target: the key "mean" or the position of a bin or level. */
function quantity() {
  const column = targetColumn();
  const code = Number(view.quantity);
  if (view.quantity !== null && view.quantity !== "mean" && code < binCount(network(), column)) return code;
  if (binMeans(column)) return "mean";
  return model.data.variables[column].outcome;
}

/** The value of the quantity under a distribution of the target. */
function quantityOf(share) {
  const key = quantity();
  if (key !== "mean") return share[key];
  return binMeans(targetColumn()).reduce((sum, mean, code) => sum + mean * share[code], 0);
}

/** A value of the quantity as text. */
function valueText(value) {
  if (quantity() !== "mean") return finePercent(value);
  const [low, high] = model.data.variables[targetColumn()].support;
  return shown(value, decimalsFor(high - low) + 1);
}

function quantityText() {
  const column = targetColumn();
  const { name } = model.data.variables[column];
  const key = quantity();
  return key === "mean"
    ? `mean of ${name}`
    : `probability of ${name} ${stateText(column, binTexts(network(), column)[key])}`;
}

const stateText = (column, text) => (model.data.variables[column].continuous ? text : `= ${text}`);

// ---- questions

function askTarget() {
  const findings = fitting();
  const column = targetColumn();
  const sets = [
    ...[...findings.keys()].map((variable) => without(findings, variable)),
    ...view.scenarios.map((scenario) => fittingOf(scenario.findings)),
    new Map(),
  ];
  const question = { target: column, ...questionOf(findings), questions: sets.map(questionOf) };
  const asked = JSON.stringify([view.selected, question]);
  if (asked === target.asked) return;
  target.asked = asked;
  target.ticket = post({ insight: question });
  Object.assign(target, { insight: null, draws: null, note: "", findings: [...findings] });
  target.scenarios = view.scenarios.slice();
}

/** Asks for the answer under drawn tables, unless the page lacks the number of rows or the tables are large. */
function askDraws() {
  const counts = rowsBehind(network());
  const cells = answers.after?.cells ?? 0;
  const number = Math.min(N_DRAWS, Math.floor(MOST_DRAWN / Math.max(cells, 1)));
  if (!counts) target.note = "No interval: the number of rows behind the tables is unknown.";
  else if (number < N_DRAWS)
    target.note = estimateNote() || "No interval: the tables of the answer are too large.";
  else {
    const { known, weights } = questionOf(fitting());
    target.ticket = post({ draws: { target: targetColumn(), known, weights, counts, number } });
    return;
  }
  document.body.dataset.described = target.ticket;
}

/** Per column, the number of rows of data behind each row of its table; null if one is unknown. */
function rowsBehind(candidate) {
  const counts = model.data.variables.map(({ counts: ofLevels }, variable) => {
    const entry = family(candidate, variable);
    if (entry.p.length) return rowCounts(entry);
    const ofStates = model.data.cuts[variable][candidate.c[variable]].n ?? ofLevels;
    return ofStates ? [ofStates.reduce((sum, count) => sum + count, 0)] : null;
  });
  return counts.every(Boolean) ? counts : null;
}

/** The number of rows of data behind every row of a table with parents, null if unknown. */
function rowCounts(entry) {
  if (!entry.i || !entry.n) return entry.n;
  if (!entry.z) return null;
  const counts = new Array(entry.r).fill(0);
  entry.i.forEach((row, index) => {
    counts[row] = entry.n[index];
  });
  for (const [row, count] of entry.z) counts[row] = count;
  return counts;
}

function receiveTarget({ ticket, insight, draws }) {
  if (ticket !== target.ticket) return;
  if (insight) {
    target.insight = insight;
    if (insight.columns) askDraws();
    else document.body.dataset.described = ticket;
  } else {
    target.draws = draws;
    document.body.dataset.described = ticket;
  }
  keepFocus(renderTarget);
}

// ---- the view

function renderTarget() {
  byId("target").value = view.target ?? "";
  byId("ask").hidden = view.target !== null;
  if (view.shows !== "target") return;
  document.body.dataset.described = "";
  const column = targetColumn();
  const states = binTexts(network(), column).map((text, code) =>
    make("option", { value: code }, `probability ${stateText(column, text)}`),
  );
  const mean = binMeans(column) ? [make("option", { value: "mean" }, "mean")] : [];
  byId("quantity").replaceChildren(...mean, ...states);
  byId("quantity").value = quantity();
  byId("column-order").value = view.columnOrder;
  byId("save-scenario").disabled = !view.findings.size;
  askTarget();
  byId("target-words").textContent = targetWords();
  const parts = target.insight ? [...driverParts(), ...scenarioParts(), ...columnParts(), noteParts()] : [];
  byId("target-parts").replaceChildren(...parts);
  if (target.insight && (target.draws || target.note || !target.insight.columns))
    document.body.dataset.described = target.ticket;
}

/** How to choose an outcome, while there is none. */
const choiceWords = () => (view.target === null ? " Choose your outcome at the top of the page." : "");

function targetWords() {
  const { insight } = target;
  if (answers.refusal) return answerText();
  if (!insight) return "Computing the answer …";
  const { name } = model.data.variables[targetColumn()];
  if (!insight.share) return impossibleText();
  if (!insight.columns) return `${name} is known. Remove its finding to ask about it.`;
  const start = insight.alone.at(-1).share;
  const now = `The ${quantityText()} is ${valueText(quantityOf(insight.share))}`;
  const before = view.findings.size && start ? `; without evidence ${valueText(quantityOf(start))}` : "";
  return `${now}${intervalText()}${before}. ${targetRows(insight.share)} ${target.note}${choiceWords()}`;
}

/** What the rows say about the outcome: a share, and whether it differs from that of the network. */
function targetRows(share) {
  const column = targetColumn();
  const marginals = model.data.variables.map((_, variable) => (variable === column ? share : null));
  const next = rowsNextTo([column], marginals, fitting());
  const rows = next?.columns.get(column);
  if (rows && !rows.shares) return "No row has all of this evidence.";
  if (!rows || next.off.length) return rowsWords(next, fitting());
  const code = quantity() === "mean" ? rows.shares.indexOf(Math.max(...rows.shares)) : quantity();
  return `${figureText({ variable: column, code, probability: share[code], share: rows.shares[code], n: rows.n })}.`;
}

/** The misfit of the column that is asked about, 0 where the network has no record of one. */
const misfitOfTarget = () => model.data.misfits?.[targetColumn()] ?? 0;

/** The variance of the quantity in one case, given the findings. */
function varianceOf(share) {
  const key = quantity();
  const means = key === "mean" ? binMeans(targetColumn()) : share.map((_, code) => Number(code === key));
  const squares = share.reduce((sum, part, code) => sum + part * means[code] ** 2, 0);
  return Math.max(0, squares - quantityOf(share) ** 2);
}

/** The 90 % interval of the answer, as of `explain`: from the draws, and from what arrows and bins do not know. */
function intervalText() {
  if (!target.draws) return target.note ? "" : " (interval: computing …)";
  const { share } = target.insight;
  const value = quantityOf(share);
  const values = target.draws.map(quantityOf);
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const ofTables = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
  const ofMisfit = misfitOfTarget() ** 2 * fitting().size * varianceOf(share);
  const half = NORMAL_90 * Math.sqrt(ofTables + ofMisfit);
  const [least, most] = quantity() === "mean" ? [-Infinity, Infinity] : [0, 1];
  const [low, high] = [Math.max(least, value - half), Math.min(most, value + half)];
  return ` (90 % interval ${valueText(low)} to ${valueText(high)})`;
}

const tableOf = (id, caption, heads, rows) =>
  make(
    "table",
    { id },
    make("caption", {}, caption),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        // a column without a name has no header
        ...heads.map((head, at) =>
          head ? make("th", { class: at ? null : "text", scope: "col" }, head) : make("td"),
        ),
      ),
    ),
    make("tbody", {}, ...rows),
  );

/** The answer without each finding, those that move it most first. */
function driverParts() {
  const { insight, findings } = target;
  if (!findings.length || !insight.share) return [];
  const drivers = findings
    .map(([variable, finding], index) => {
      const { share } = insight.alone[index];
      return { variable, finding, share, moved: share ? movedShare(share, insight.share) : null };
    })
    .sort((a, b) => (b.moved ?? 2) - (a.moved ?? 2));
  const rows = drivers.map(({ variable, finding, share, moved }) =>
    make(
      "tr",
      { "data-variable": variable, "data-moved": moved },
      make("th", { scope: "row" }, nameLink(variable), " ", named(findingText(variable, finding))),
      make("td", {}, share ? valueText(quantityOf(share)) : "impossible"),
      make("td", {}, share ? finePercent(moved) : "–"),
    ),
  );
  return [
    tableOf(
      "drivers",
      "What drives the answer: the answer without each finding",
      ["Without", quantityText(), "changes"],
      rows,
    ),
  ];
}

/** Per unknown column the lowest and highest value over its bins or levels, and its information. */
function columnEffects() {
  const { share, columns } = target.insight;
  return columns.flatMap((column, variable) => {
    if (!column || column.bits <= LEAST_BITS) return [];
    const card = column.shares.length;
    const ends = { low: null, high: null };
    for (let state = 0; state < card; state += 1) {
      if (!(column.shares[state] > 0)) continue;
      const given = Array.from(share, (_, code) => column.joint[code * card + state] / column.shares[state]);
      const value = quantityOf(given);
      if (!ends.low || value < ends.low.value) ends.low = { value, state };
      if (!ends.high || value > ends.high.value) ends.high = { value, state };
    }
    return [{ variable, ...ends, bits: column.bits }];
  });
}

/** What the rows say of the outcome if one more column is known, and how many they are; empty where they are unknown. */
function rowsOfEnd(variable, state) {
  const allowed = allowedCodes(fitting());
  const counts = allowed && matchedRows(targetColumn(), new Map([...allowed, [variable, [state]]]));
  if (!counts) return "";
  const n = counts.reduce((sum, number) => sum + number, 0);
  return n
    ? `rows ${valueText(quantityOf(counts.map((number) => number / n)))} of ${rowsText(n)}`
    : "no rows";
}

/** What other columns would tell: a tornado of the answer over their bins, and the value of their information. */
function columnParts() {
  const { share, columns } = target.insight;
  if (!columns) return [];
  const size = {
    range: ({ low, high }) => high.value - low.value,
    information: ({ bits }) => bits,
  }[view.columnOrder];
  const effects = columnEffects().sort((a, b) => size(b) - size(a) || a.variable - b.variable);
  if (!effects.length) return [];
  const ends = effects.flatMap(({ low, high }) => [low.value, high.value]);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const x = (value) => 2 + ((value - least) / (most - least || 1)) * 126;
  const now = x(quantityOf(share));
  const doubt = entropyOf(share);
  const rows = effects.map(({ variable, low, high, bits }) => {
    const texts = binTexts(network(), variable);
    const end = ({ value, state }) => {
      const rows = rowsOfEnd(variable, state);
      return make(
        "td",
        {},
        valueText(value),
        make("br"),
        small(texts[state]),
        ...(rows ? [make("br"), small(rows)] : []),
      );
    };
    const bar = draw(
      "svg",
      { class: "tornado", viewBox: "0 0 130 16", width: 130, height: 16, "aria-hidden": "true" },
      draw("rect", {
        class: "fill this",
        x: x(low.value),
        y: 3,
        height: 10,
        width: Math.max(1, x(high.value) - x(low.value)),
      }),
      draw("line", { class: "now", x1: now, x2: now, y1: 0, y2: 16 }),
    );
    return make(
      "tr",
      { "data-variable": variable, "data-low": low.value, "data-high": high.value, "data-bits": bits },
      make("th", { scope: "row" }, nameLink(variable)),
      end(low),
      make("td", {}, bar),
      end(high),
      make("td", { title: `${bits.toFixed(4)} bits` }, finePercent(doubt > 0 ? bits / doubt : 0)),
    );
  });
  const caption = `What else would tell: the ${quantityText()} if one more column were known`;
  return [tableOf("effects", caption, ["Column", "lowest, at", "", "highest, at", "tells"], rows)];
}

/** The entropy of a distribution in bits. */
const entropyOf = (share) =>
  -share.reduce((sum, chance) => sum + (chance > 0 ? chance * Math.log2(chance) : 0), 0);

/** How to read the tables: what a number says, and as a tooltip its exact name. */
function noteParts() {
  const { share, columns } = target.insight;
  if (!columns) return make("p");
  const n = columns.filter((column) => column && column.bits <= LEAST_BITS).length;
  const silent = n === 1 ? "One other column" : `${n} other columns`;
  const notes = [
    ...(n ? [[`${silent} would tell nothing more about ${nameOfTarget()} in this network.`]] : []),
    [
      "“Changes”: how many of a hundred cases would lie elsewhere without the finding.",
      "Total variation distance of the two distributions",
    ],
    [
      "“Tells”: the part of the doubt about your outcome that knowing the column would take away on average.",
      `Mutual information given the findings, as a share of the entropy, now ${entropyOf(share).toFixed(3)} bits`,
    ],
    [
      "All numbers say what to expect when a value is seen. They do not say what would follow if a value were changed.",
    ],
  ];
  if (target.draws) {
    const misfit = misfitOfTarget();
    const draws =
      `The variance of ${target.draws.length} answers under tables drawn from Dirichlet distributions around the ` +
      "probability tables, where each row has the weight of its rows of data plus 1";
    notes.push(
      misfit
        ? [
            "The interval shows how sure the answer is given the number of rows, and by how much arrows and " +
              "bins were off the rows of the fit.",
            `${draws}; and per finding the square of ${misfit.toFixed(3)} standard deviations of a case`,
          ]
        : [
            "The interval shows how sure the answer is given the number of rows. It takes the arrows and the " +
              "bins as given.",
            draws,
          ],
    );
  }
  return make("div", { class: "muted note" }, ...notes.map(([note, title]) => make("p", { title }, note)));
}

const small = (text) => make("small", { class: "muted" }, named(text));

// ---- scenarios

/** Saves the findings under the next free number. */
function saveScenario() {
  const numbers = view.scenarios.map(({ name }) => Number(name.slice(1)));
  const name = `S${Math.max(0, ...numbers) + 1}`;
  change({ scenarios: [...view.scenarios, { name, findings: new Map(view.findings) }] });
  announce(`Saved the evidence as scenario ${name}.`);
}

/** The target's distribution in every scenario, side by side. */
function scenarioParts() {
  const { insight, scenarios, findings } = target;
  if (!scenarios.length) return [];
  const saved = scenarios.map((scenario, index) => ({
    ...scenario,
    ...insight.alone[findings.length + index],
  }));
  const shares = [insight.alone.at(-1).share, insight.share, ...saved.map(({ share }) => share)];
  const cell = (share, text) => make("td", {}, share ? text(share) : "impossible");
  const row = (name, text) =>
    make("tr", {}, make("th", { scope: "row" }, named(name)), ...shares.map((share) => cell(share, text)));
  const states = binTexts(network(), targetColumn()).map((name, code) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, named(name)),
      ...shares.map((share) =>
        share
          ? withShare(
              make("td", { class: "share", "data-share": share[code] }, finePercent(share[code])),
              share[code],
            )
          : make("td", {}, "–"),
      ),
    ),
  );
  const heads = ["Scenario", "no evidence", "now", ...saved.map(scenarioHead)];
  const list = saved.map(({ name, findings: stored }) =>
    make("li", {}, make("b", {}, name), ": ", named(evidenceText(stored))),
  );
  const caption = `The distribution of ${nameOfTarget()} in the saved scenarios`;
  const rows = [row(quantityText(), (share) => valueText(quantityOf(share))), ...states];
  return [
    make("div", {}, tableOf("scenarios", caption, heads, rows), make("ul", { class: "plain-list" }, ...list)),
  ];
}

const evidenceText = (findings) =>
  [...findings]
    .map(([variable, finding]) => `${model.data.variables[variable].name} ${findingText(variable, finding)}`)
    .join(", ");

const scenarioHead = ({ name, findings }) =>
  make(
    "span",
    {},
    make(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `Use scenario ${name}`,
        onclick: () => change({ findings: new Map(findings) }),
      },
      name,
    ),
    make(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `Remove scenario ${name}`,
        onclick: () => change({ scenarios: view.scenarios.filter((scenario) => scenario.name !== name) }),
      },
      "×",
    ),
  );

// ---- the address

const scenarioCode = ({ name, findings }) =>
  [name, ...[...findings].map(([variable, finding]) => findingCode(variable, finding))].join(";");

/** The scenarios of texts from the address; those without a finding that fits these data are left out. */
function recalledScenarios(texts) {
  return texts
    .map((text) => {
      const [name, ...codes] = text.split(";");
      return { name, findings: recalledFindings(codes) };
    })
    .filter(({ name, findings }) => /^S\d{1,4}$/.test(name) && findings.size);
}
