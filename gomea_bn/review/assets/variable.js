// One variable: its values with the bins, its probability table, its Markov blanket.

function variableParts() {
  if (view.variable === null)
    return [make("p", { class: "muted" }, "Choose a variable in the drawing, or press / and type its name.")];
  const variable = model.data.variables[view.variable];
  const title = make("p", { class: "variable-name" }, named(variable.name));
  const values = variable.continuous ? histogramParts(variable) : levelParts(variable);
  return [title, ...values, ...unsaidParts(variable), ...blanketParts(), ...tableParts()];
}

/** What the expert did not say of a variable. */
function unsaidParts(variable) {
  if (!variable.unsaid) return [];
  const count = variable.continuous ? binCount(model.data.expert, view.variable) : 0;
  const stand = `${counted(count, "bin")} of equal frequency ${count === 1 ? "stands" : "stand"} in for yours`;
  const bins = variable.continuous ? `You gave no bins: ${stand}.` : "";
  const text = variable.unsaid === "variable" ? `You did not mention this variable. ${bins}` : bins;
  return [make("p", { class: "muted unsaid" }, text.trim())];
}

/** This network, the pinned one and the expert's, if they gave bins: those whose bins are drawn. */
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
  const bars = variable.histogram ? histogramBars(variable.histogram, x, tall) : [];
  const strips = owners.flatMap((owner, place) =>
    binStrip(owner, x, tall + 18 + place * strip, tall, [low, high]),
  );
  const ends = [
    ["start", 4, low],
    ["end", width - 4, high],
  ].map(([anchor, at, value]) =>
    draw(
      "text",
      { class: "tick muted", x: at, y: tall + 13, "text-anchor": anchor },
      shown(value, decimalsFor(high - low)),
    ),
  );
  const bins = owners.map((owner) => `${owner.text} ${binTexts(owner.network, view.variable).join(", ")}`);
  const label = `${variable.name}: ${bins.join("; ")}`;
  const plot = draw(
    "svg",
    { id: "histogram", role: "img", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}` },
    ...bars,
    ...ends,
    ...strips,
  );
  const why = variable.damaged
    ? "The histogram of this variable is damaged in the record, hence not drawn."
    : "The rows are not in this file, hence no histogram.";
  const missing = variable.histogram ? [] : [make("p", { class: "muted" }, why)];
  return [...missing, plot, ...binTables(owners)];
}

function spanOf(variable) {
  const edges = variable.histogram?.edges ?? variable.support;
  return [Math.min(edges[0], variable.support[0]), Math.max(edges[edges.length - 1], variable.support[1])];
}

function histogramBars({ edges, counts }, x, tall) {
  const most = Math.max(...counts, 1);
  const bars = counts.map((count, place) => {
    const [from, to] = [x(edges[place]), x(edges[place + 1])];
    const height = (count / most) * (tall - 6);
    return draw("rect", {
      class: "bar",
      x: from,
      width: Math.max(0.5, to - from - (to - from > 4 ? 1 : 0)),
      y: tall - height,
      height,
    });
  });
  return [
    ...bars,
    draw("line", { class: "axis", x1: x(edges[0]), x2: x(edges[edges.length - 1]), y1: tall, y2: tall }),
  ];
}

/** The bins of one network as a row of alternating fields, its cuts drawn up through the histogram. */
function binStrip(owner, x, y, tall, [low, high]) {
  const cuts = cutsOf(owner.network, view.variable);
  const ends = [low, ...cuts, high];
  const fields = ends.slice(1).map((end, place) =>
    draw("rect", {
      class: `fill ${owner.key}`,
      x: x(ends[place]),
      width: Math.max(0, x(end) - x(ends[place])),
      y: y + 16,
      height: 12,
      "fill-opacity": place % 2 ? 0.42 : 0.16,
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
      class: `cut ${owner.key}`,
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

/** The bins of every owner as a table: the readable twin of the histogram. */
function binTables(owners) {
  const tables = owners.map((owner) => {
    const counts = model.data.cuts[view.variable][owner.network.c[view.variable]].n;
    const rows = binTexts(owner.network, view.variable).map((text, place) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, text),
        ...(counts ? [make("td", {}, counts[place].toLocaleString("en"))] : []),
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
        ...variable.levels.flatMap((level, place) => [place ? ", " : "", named(level)]),
      ),
    ];
  const total = variable.counts.reduce((sum, count) => sum + count, 0) || 1;
  const most = Math.max(...variable.counts, 1);
  const rows = variable.levels.flatMap((level, place) => [
    named(level),
    make("span", {}, withShare(make("i"), variable.counts[place] / most)),
    make(
      "span",
      { class: "muted" },
      `${variable.counts[place].toLocaleString("en")} (${percent(variable.counts[place] / total)})`,
    ),
  ]);
  return [make("div", { class: "levels" }, ...rows)];
}

function blanketParts() {
  const { parents, children, partners } = blanket(model.edges[view.selected], view.variable);
  const list = (text, places) =>
    places.length
      ? [
          make(
            "p",
            {},
            make("span", { class: "muted" }, `${text}: `),
            ...places.flatMap((place, at) => [at ? ", " : "", nameLink(place)]),
          ),
        ]
      : [];
  const found = [
    ...list("Depends on", parents),
    ...list("Influences", children),
    ...list("Shares children with", partners),
  ];
  if (!found.length)
    return [
      make("h3", {}, "Markov blanket"),
      make("p", {}, "Empty: independent of all other variables here."),
    ];
  return [
    make("h3", { title: "Given these, the other variables say nothing more about it." }, "Markov blanket"),
    ...found,
  ];
}

// ---- the probability table

function tableParts() {
  const found = family(network(), view.variable);
  const rows = probabilityRows(found);
  const name = model.data.variables[view.variable].name;
  const which = found.n ? "those with most data" : "the first";
  const part = found.i ? ` Shown are ${rows.length} of ${found.r.toLocaleString("en")} rows, ${which}.` : "";
  const what = model.data.variables[view.variable].continuous ? "bin" : "level";
  const given = found.p.length ? `Probability of each ${what}, given the parents.` : "No parents: one row.";
  const table = make(
    "table",
    { id: "probabilities" },
    make("caption", {}, given + part),
    tableHead(found),
    make("tbody", {}, ...rows),
  );
  return [
    make("h3", {}, "Probability table"),
    make(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": `Probability table of ${name}, ${counted(rows.length, "row")}`,
      },
      table,
    ),
  ];
}

function tableHead(found) {
  const parents = found.p.map((parent) =>
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
      ...(found.n
        ? [make("th", { scope: "col", title: "Rows of data with these values of the parents" }, "rows")]
        : []),
    ),
  );
}

/** One table row per configuration of the parents that the page holds. */
function probabilityRows(found) {
  const cards = found.p.map((parent) => binCount(network(), parent));
  const labels = found.p.map((parent) => binTexts(network(), parent));
  const card = binCount(network(), view.variable);
  const held = found.i ?? Array.from({ length: found.r }, (_, row) => row);
  return held.map((row, place) => {
    const parents = configuration(row, cards).map((code, at) =>
      make("th", { scope: "row" }, named(labels[at][code])),
    );
    const cells = found.t.slice(place * card, (place + 1) * card).map(probabilityCell);
    return make(
      "tr",
      {},
      ...parents,
      ...cells,
      ...(found.n ? [make("td", { class: "muted" }, found.n[place].toLocaleString("en"))] : []),
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

function probabilityCell(tenThousandths) {
  const share = tenThousandths / 10000;
  const text = tenThousandths === 0 ? "<.0001" : share.toFixed(share < 0.01 ? 4 : 2);
  return withShare(make("td", { class: "share" }, text), share);
}
