// The panel of one variable: its histogram with the bins, its probability table, its Markov blanket.

function variableParts() {
  if (view.variable === null)
    return [make("p", { class: "muted" }, "Choose a column in the drawing, or press / and type its name.")];
  const variable = model.data.variables[view.variable];
  const title = make("p", { class: "variable-name" }, named(variable.name));
  const values = variable.continuous ? histogramParts(variable) : levelParts(variable);
  return [
    title,
    ...values,
    ...unsaidParts(variable),
    ...blanketParts(),
    ...effectParts(),
    ...tableParts(),
    renameParts(variable),
  ];
}

/** A form for other names of the column and its levels. */
function renameParts({ column, ofColumn, name, levels }) {
  const index = view.variable;
  const field = (key, was, now) =>
    make(
      "label",
      { class: "pick" },
      make("span", {}, named(was)),
      make("input", { type: "search", name: key, value: now }),
    );
  const fields = [
    field(String(index), column, name),
    ...(ofColumn ?? []).map((level, code) => field(`${index}.${code}`, level, levels[code])),
  ];
  const submit = (event) => {
    event.preventDefault();
    const names = new Map(view.names);
    const columnNames = [column, ...(ofColumn ?? [])];
    [...event.target.elements]
      .filter((element) => element.name)
      .forEach((element, at) => {
        const text = element.value.trim();
        if (text && text !== columnNames[at]) names.set(element.name, text);
        else names.delete(element.name);
      });
    renameTo(names);
  };
  return make(
    "details",
    { class: "rename" },
    make("summary", {}, "Call it something else"),
    make(
      "form",
      { onsubmit: submit, autocomplete: "off" },
      ...fields,
      make("button", { type: "submit" }, "Use these names"),
    ),
    make("p", { class: "muted" }, "For this page and the decision; the table keeps its names."),
  );
}

/** A note on a variable that the expert did not mention or gave no bins. */
function unsaidParts(variable) {
  if (!variable.unsaid) return [];
  const count = variable.continuous ? binCount(model.data.expert, view.variable) : 0;
  const stand = `${counted(count, "bin")} of equal frequency ${count === 1 ? "stands" : "stand"} in for yours`;
  const bins = variable.continuous ? `You gave no bins: ${stand}.` : "";
  const text = variable.unsaid === "variable" ? `You did not mention this variable. ${bins}` : bins;
  return [make("p", { class: "muted unsaid" }, text.trim())];
}

/** The networks whose bins are drawn: this one, the pinned one, and the expert's if the expert gave bins. */
function binOwners() {
  const owners = [{ key: "this", text: "this network", network: network() }];
  if (view.pin !== null && view.pin !== view.selected)
    owners.push({ key: "pin", text: `A, network ${idOf(view.pin)}`, network: model.data.networks[view.pin] });
  if (model.data.expert && !model.data.variables[view.variable].unsaid)
    owners.push({ key: "yours", text: "yours", network: model.data.expert });
  return owners;
}

function panelWidth() {
  return Math.max(220, byId("panel").clientWidth - 14);
}

function histogramParts(variable) {
  const [width, tall, strip] = [panelWidth(), 92, 34];
  const owners = binOwners();
  const [low, high] = spanOf(variable);
  const x = (value) => 4 + ((value - low) / (high - low || 1)) * (width - 8);
  const height = tall + 18 + strip * owners.length;
  const densities = owners.map((owner) => densityOf(owner.network, view.variable));
  const average = averagedDensity(view.variable);
  const bars = densityParts(
    variable,
    average ? [...owners, { key: "averaged" }] : owners,
    average ? [...densities, average] : densities,
    x,
    tall,
  );
  const strips = owners.flatMap((owner, index) =>
    binStrip(owner, x, tall + 18 + index * strip, tall, [low, high]),
  );
  const ends = [
    ["start", 4, low],
    ["end", width - 4, high],
  ].map(([anchor, at, value]) =>
    draw(
      "text",
      { class: "tick muted", x: at, y: tall + 13, "text-anchor": anchor },
      shown(value, decimalsFor(high - low), digitsFor(low, high)),
    ),
  );
  const bins = owners.map((owner) => `${owner.text} ${binTexts(owner.network, view.variable).join(", ")}`);
  const label = `${variable.name}: ${bins.join("; ")}`;
  const numbers = cutNumbers(x, tall + 13, width, [low, high]);
  const plot = draw(
    "svg",
    { id: "histogram", role: "img", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}` },
    ...bars,
    ...ends,
    ...numbers,
    ...strips,
  );
  const why = variable.damaged
    ? "The histogram of this variable is damaged in the record, hence not drawn."
    : "The rows are not in this file, hence no histogram.";
  const missing = variable.histogram ? [] : [make("p", { class: "muted" }, why)];
  const inside = owners.map((owner, index) => {
    const costly = densities[index] ? "" : "; its density takes too long to compute for this page";
    return insideText(owner.network, view.variable) + costly;
  });
  const lines = inside.every((text) => text === inside[0])
    ? [`Inside the bins: ${inside[0]}.`]
    : inside.map((text, index) => `Inside the bins, ${owners[index].text}: ${text}.`);
  if (average) lines.push(averageText(view.variable));
  const notes = lines.map((text) => make("p", { class: "muted inside" }, text));
  return [...missing, plot, ...notes, ...binTables(owners)];
}

/** The cuts of this network as numbers below the axis, as many as fit without overlap between its ends. */
function cutNumbers(x, y, width, [low, high]) {
  ruler.font = "11px sans-serif";
  const endTexts = [low, high].map((value) => shown(value, decimalsFor(high - low), digitsFor(low, high)));
  const [first, last] = endTexts.map((text) => ruler.measureText(text).width);
  const cuts = cutsOf(network(), view.variable);
  const texts = cutTexts(view.variable, cuts);
  let taken = 4 + first + 6;
  return cuts.flatMap((cut, index) => {
    const half = ruler.measureText(texts[index]).width / 2;
    const at = x(cut);
    if (at - half < taken || at + half > width - 4 - last - 6) return [];
    taken = at + half + 6;
    return [draw("text", { class: "tick cut-number", x: at, y, "text-anchor": "middle" }, texts[index])];
  });
}

function spanOf(variable) {
  const edges = variable.histogram?.edges ?? variable.support;
  return [Math.min(edges[0], variable.support[0]), Math.max(edges[edges.length - 1], variable.support[1])];
}

/** The bars of the rows and the densities of the networks, on one scale. */
function densityParts(variable, owners, densities, x, tall) {
  const points = pointsOf(network(), view.variable);
  const rows = variable.histogram ? rowDensities(variable.histogram, points) : [];
  const peaks = densities
    .filter(Boolean)
    .map(({ vertices }) => Math.max(...vertices.map(([, height]) => height)));
  const highest = Math.max(0, ...rows.map(({ density }) => density));
  const few = fewValueScales(points);
  // the bars keep a third of the height under a density with a narrow peak, which leaves the drawing
  const tallest = Math.min(Math.max(highest, ...peaks), highest > 0 ? 3 * highest : Infinity) || 1;
  const most = few ? few.most : tallest;
  const y = (density) => tall - (density / most) * (tall - 6);
  const bars = rows.map(({ from, to, density }) => {
    const [left, right] = [x(from), x(to)];
    return draw("rect", {
      class: "bar",
      x: left,
      width: Math.max(0.5, right - left - (right - left > 4 ? 1 : 0)),
      y: y(density),
      height: tall - y(density),
    });
  });
  const marks = owners.map((owner, index) =>
    densities[index] ? densityMarks(owner, densities[index], x, y, tall, few?.ofMass ?? 1) : [],
  );
  const [low, high] = spanOf(variable);
  const axis = draw("line", { class: "axis", x1: x(low), x2: x(high), y1: tall, y2: tall });
  // this network's density lies above all others
  return [...bars, axis, ...marks.reverse().flat()];
}

/** The bins of one network as a strip of alternating fields; its cuts run up through the histogram. */
function binStrip(owner, x, y, tall, [low, high]) {
  const cuts = cutsOf(owner.network, view.variable);
  const ends = [low, ...cuts, high];
  const fields = ends.slice(1).map((end, index) =>
    draw("rect", {
      class: `fill ${owner.key}`,
      x: x(ends[index]),
      width: Math.max(0, x(end) - x(ends[index])),
      y: y + 16,
      height: 12,
      "fill-opacity": index % 2 ? 0.42 : 0.16,
    }),
  );
  const frame = draw("rect", {
    class: `strip ${owner.key}`,
    x: x(low),
    width: x(high) - x(low),
    y: y + 16,
    height: 12,
  });
  const lines = cuts.map((cut) =>
    draw("line", {
      class: `cut across ${owner.key}`,
      x1: x(cut),
      x2: x(cut),
      y1: owner.key === "this" ? 2 : 8,
      y2: tall,
    }),
  );
  const notches = cuts.map((cut) =>
    draw("line", { class: `cut ${owner.key}`, x1: x(cut), x2: x(cut), y1: y + 14, y2: y + 30 }),
  );
  const name = draw(
    "text",
    { class: "tick", x: 4, y: y + 12 },
    `${owner.text}: ${counted(cuts.length + 1, "bin")}`,
  );
  return [...fields, frame, ...lines, ...notches, name];
}

/** The bins of every owner as a table, the textual form of the histogram. */
function binTables(owners) {
  const tables = owners.map((owner) => {
    const counts = model.data.cuts[view.variable][owner.network.c[view.variable]].n;
    const rows = binTexts(owner.network, view.variable).map((text, index) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, text),
        ...(counts ? [make("td", {}, counts[index].toLocaleString("en"))] : []),
      ),
    );
    const head = make(
      "tr",
      {},
      make("th", { class: "text" }, `Bins, ${owner.text}`),
      ...(counts ? [make("th", {}, "rows")] : []),
    );
    return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  });
  return [
    make(
      "details",
      {},
      make("summary", {}, "Bins as a table"),
      ...tables,
      make("p", { class: "muted" }, "A value equal to a cut belongs to the lower bin."),
    ),
  ];
}

function levelParts(variable) {
  if (!variable.counts)
    return [
      ...(variable.damaged
        ? [make("p", { class: "muted" }, "The counts of this variable are damaged in the record.")]
        : []),
      make(
        "p",
        {},
        "Levels: ",
        ...variable.levels.flatMap((level, index) => [index ? ", " : "", named(level)]),
      ),
    ];
  const total = variable.counts.reduce((sum, count) => sum + count, 0) || 1;
  const most = Math.max(...variable.counts, 1);
  const rows = variable.levels.flatMap((level, index) => [
    named(level),
    make("span", {}, withShare(make("i"), variable.counts[index] / most)),
    make(
      "span",
      { class: "muted" },
      `${variable.counts[index].toLocaleString("en")} (${percent(variable.counts[index] / total)})`,
    ),
  ]);
  return [make("div", { class: "levels" }, ...rows)];
}

function blanketParts() {
  const { parents, children, partners } = blanket(model.edges[view.selected], view.variable);
  const list = (text, variables) =>
    variables.length
      ? [
          make(
            "p",
            {},
            make("span", { class: "muted" }, `${text}: `),
            ...variables.flatMap((variable, at) => [at ? ", " : "", nameLink(variable)]),
          ),
        ]
      : [];
  const lists = [
    ...list("Arrows from", parents),
    ...list("Arrows to", children),
    ...list("With it, arrows to the same columns", partners),
  ];
  if (!lists.length)
    return [
      make("h3", {}, "What tells about it"),
      make("p", {}, "Nothing: independent of all other columns here."),
    ];
  return [
    make(
      "h3",
      { title: "The Markov blanket: given these, the other columns say nothing more about it." },
      "What tells about it",
    ),
    ...lists,
    ...known(),
  ];
}

/** How many parents carry most of what is known of the variable, if the network says so. */
function known() {
  const text = model.data.known?.[view.variable];
  return text ? [make("p", { class: "muted" }, `${text}.`)] : [];
}

// ---- the probability table

function tableParts() {
  const table = probabilityTable("probabilities", 2);
  const name = model.data.variables[view.variable].name;
  const number = counted(table.tBodies[0].rows.length, "row");
  const parts = [
    make(
      "div",
      { class: "line" },
      make("h3", {}, "Probability table"),
      make("button", { type: "button", id: "enlarge", class: "quiet end", onclick: enlarge }, "Enlarge"),
    ),
    make(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": `Probability table of ${name}, ${number}`,
      },
      table,
    ),
  ];
  // effects say what a table of many rows hides
  if (!model.data.effects?.[view.variable]) return parts;
  return [make("details", { class: "as-table" }, make("summary", {}, "As a table over bins"), ...parts)];
}

function buildEnlarged() {
  byId("close-large").addEventListener("click", () => byId("large-dialog").close());
  byId("large-dialog").addEventListener("close", () => byId("enlarge")?.focus());
}

/** Opens the probability table over the whole page, with more digits. */
function enlarge() {
  const table = probabilityTable("large-probabilities", 4);
  byId("large-title").replaceChildren(
    "Probability table of ",
    named(model.data.variables[view.variable].name),
  );
  byId("large-body").replaceChildren(table);
  byId("large-dialog").showModal();
  keepParentsInSight(table);
}

/** Makes the columns of the parents stay in sight while the table scrolls to the side, up to half of its width. */
function keepParentsInSight(table) {
  const start = table.offsetLeft;
  const heads = [...table.tHead.querySelectorAll("th.text")];
  const kept = heads.filter(
    (head) => head.offsetLeft + head.offsetWidth - start < byId("large-body").clientWidth / 2,
  );
  const lefts = kept.map((head) => head.offsetLeft - start);
  for (const row of table.rows)
    lefts.forEach((left, at) => {
      row.cells[at].classList.add("kept");
      row.cells[at].style.setProperty("left", `${left}px`);
    });
}

/** The table of the variable that is looked at, with a number of decimals. */
function probabilityTable(id, decimals) {
  const whole = family(network(), view.variable);
  const entry = whole.v ?? whole;
  const rows = probabilityRows(entry, decimals);
  const which = entry.n ? "those with most data" : "the first";
  const part = entry.i ? ` Shown are ${rows.length} of ${entry.r.toLocaleString("en")} rows, ${which}.` : "";
  const noun = model.data.variables[view.variable].continuous ? "bin" : "level";
  const few = `Shown are ${entry.p.length} of ${counted(whole.p.length, "parent")}, those that add most. `;
  const left = entry.p.length < whole.p.length ? few : "";
  const caption = entry.p.length
    ? `Probability of each ${noun}, given the parents.`
    : "One row, without parents.";
  return make(
    "table",
    { id },
    make("caption", {}, left + caption + part),
    tableHead(entry),
    make("tbody", {}, ...rows),
  );
}

function tableHead(entry) {
  const parents = entry.p.map((parent) =>
    make("th", { class: "text", scope: "col" }, named(model.data.variables[parent].name)),
  );
  const bins = binTexts(network(), view.variable).map((text) => make("th", { scope: "col" }, named(text)));
  return make(
    "thead",
    {},
    make(
      "tr",
      {},
      ...parents,
      ...bins,
      ...(entry.n
        ? [make("th", { scope: "col", title: "Rows of data with these values of the parents" }, "rows")]
        : []),
    ),
  );
}

/** One table row per configuration of the parents that the page contains. */
function probabilityRows(entry, decimals) {
  const cards = entry.p.map((parent) => binCount(network(), parent));
  const labels = entry.p.map((parent) => binTexts(network(), parent));
  const card = binCount(network(), view.variable);
  const kept = entry.i ?? Array.from({ length: entry.r }, (_, row) => row);
  const probabilities = probabilitiesOf(entry);
  return kept.map((row, index) => {
    const parents = configuration(row, cards).map((code, at) =>
      make("th", { scope: "row" }, named(labels[at][code])),
    );
    const cells = Array.from(probabilities.subarray(row * card, (row + 1) * card), (share) =>
      probabilityCell(share, decimals),
    );
    return make(
      "tr",
      {},
      ...parents,
      ...cells,
      ...(entry.n ? [make("td", { class: "muted" }, entry.n[index].toLocaleString("en"))] : []),
    );
  });
}

/** The parents' codes in a row of the table; the last parent varies fastest. */
function configuration(row, cards) {
  const codes = [];
  for (const card of [...cards].reverse()) {
    codes.unshift(row % card);
    row = Math.floor(row / card);
  }
  return codes;
}

function probabilityCell(share, decimals) {
  const text = share < 0.00005 ? "<.0001" : share.toFixed(share < 0.01 ? 4 : decimals);
  return withShare(make("td", { class: "share" }, text), share);
}
