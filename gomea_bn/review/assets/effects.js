// The effects of the parents on a column: one small panel per parent, with its band and the rows under it.

// pixels: the drawing of a panel, the bars of rows below it, the room above and below, and the axis at the left
const EFFECT = { tall: 84, rows: 15, above: 17, below: 16, left: 40, gap: 14, narrow: 130 };
/** Most outcomes that have a line, as many as there are colours. */
const MOST_LINES = 6;
const VERBS = { up: "rises with", down: "falls with", bends: "bends with", differs: "differs by" };

function effectParts() {
  const effects = model.data.effects?.[view.variable];
  if (!effects) return [];
  return [
    make("h3", {}, "How it goes with its parents"),
    effectWords(effects),
    effectLegend(effects),
    effectDrawing(effects),
  ];
}

/** The effects as a sentence whose names lead to their columns. */
function effectWords({ explained, additive, parents }) {
  const { continuous, levels } = model.data.variables[view.variable];
  const items = parents.flatMap(({ p, verb, share }, at) => [
    at ? ", " : "",
    levels && levels.length > 2 ? "" : `${VERBS[verb]} `,
    nameLink(p),
    ` (${percent(share)}${at ? "" : " of the effects"})`,
  ]);
  const subject = !levels
    ? ["it "]
    : levels.length === 2
      ? ["P(", named(levels[1]), ") "]
      : ["it depends on "];
  const rest = additive < 0.9 ? `; ${percent(1 - additive)} of this they explain only together` : "";
  const what = continuous ? "variance" : "variation";
  return make(
    "p",
    {},
    `They explain ${percent(explained)} of its ${what}: `,
    ...subject,
    ...items,
    `${rest}.`,
  );
}

function effectLegend({ outcomes }) {
  const { levels } = model.data.variables[view.variable];
  const band = "The band holds the central 80 %; grey bars show where rows are.";
  if (outcomes.length === 1) {
    const what = levels ? ["probability of ", named(levels[outcomes[0]])] : ["mean"];
    return make("p", { class: "muted" }, "Line: ", ...what, `, on average over the other columns. ${band}`);
  }
  const names = outcomes
    .slice(0, MOST_LINES)
    .flatMap((outcome, k) => [
      k ? ", " : "",
      make("b", { class: `effect-name o${k}` }, named(levels[outcome])),
    ]);
  return make(
    "p",
    { class: "muted" },
    "Lines: probabilities of ",
    ...names,
    ". Grey bars show where rows are.",
  );
}

function effectDrawing(effects) {
  const room = panelWidth() - EFFECT.left;
  const abreast = Math.max(1, Math.min(effects.parents.length, Math.floor(room / EFFECT.narrow)));
  const [step, tall] = [room / abreast, EFFECT.above + EFFECT.tall + EFFECT.rows + EFFECT.below];
  const lines = effects.outcomes.slice(0, MOST_LINES).map((_, k) => k);
  const ends = effects.parents.flatMap(({ mean, low, high }) =>
    lines.flatMap((k) => (lines.length === 1 ? [...low[k], ...high[k]] : mean[k])),
  );
  const span = [Math.min(...ends), Math.max(...ends)];
  const [width, height] = [panelWidth(), Math.ceil(effects.parents.length / abreast) * tall];
  const panels = effects.parents.map((effect, k) => {
    const [left, top] = [EFFECT.left + (k % abreast) * step, Math.floor(k / abreast) * tall];
    return draw(
      "g",
      { class: "effect", transform: `translate(${left} ${top})` },
      ...effectPanel(effect, lines, span, step - EFFECT.gap, k % abreast === 0),
    );
  });
  const names = effects.parents.map(({ p }) => model.data.variables[p].name).join(", ");
  const label = `Effects of ${names}`;
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  return draw("svg", { id: "effects", role: "img", "aria-label": label, ...size }, ...panels);
}

/** The panel of one parent: its name, bars of rows, a band and a line per outcome, and the ends of its axes. */
function effectPanel(effect, lines, span, width, hasAxis) {
  const { name, levels } = model.data.variables[effect.p];
  const floor = EFFECT.above + EFFECT.tall;
  const bottom = floor + EFFECT.rows;
  const first = effect.edges[0];
  const x = (value) => ((value - first) / (effect.edges[effect.edges.length - 1] - first)) * width;
  const y = (value) => floor - ((value - span[0]) / (span[1] - span[0] || 1)) * (EFFECT.tall - 4);
  // levels stand apart
  const apart = levels ? 0.1 : 0;
  const cells = effect.rows.map((_, k) => [x(effect.edges[k] + apart), x(effect.edges[k + 1] - apart)]);
  const box = (kind, [from, to], upper, lower) =>
    draw("rect", {
      class: kind,
      x: from.toFixed(1),
      width: Math.max(0.5, to - from).toFixed(1),
      y: upper.toFixed(1),
      height: Math.max(0, lower - upper).toFixed(1),
    });
  const bars = cells.map((cell, k) => box("bar", cell, bottom - effect.rows[k] * (EFFECT.rows - 3), bottom));
  const points = (values) => values.map((value, k) => `${x(effect.at[k]).toFixed(1)},${y(value).toFixed(1)}`);
  const bands = lines.length > 1 ? [] : effectBand(effect, cells, points, y, box);
  const means = lines.flatMap((k) => {
    const kind = `effect-line o${k}`;
    if (!levels) return [draw("polyline", { class: kind, points: points(effect.mean[k]).join(" ") })];
    return effect.mean[k].map((value, code) => {
      const [from, to] = cells[code];
      return draw("line", { class: kind, x1: from, x2: to, y1: y(value), y2: y(value) });
    });
  });
  const axes = draw("path", {
    class: "axis effect-axis",
    d: `M0 ${EFFECT.above}V${bottom}H${width.toFixed(1)}`,
  });
  const title = fitted(name, width - 44, "bold 11px sans-serif");
  const head = draw(
    "text",
    { class: "tick effect-title", x: 0, y: 11 },
    `${title} (${percent(effect.share)})`,
  );
  const texts = span.map((value) => (effect.isShare ? value.toFixed(2) : significant(value, 3)));
  const values = hasAxis
    ? texts.map((text, k) =>
        draw("text", { class: "tick muted", x: -4, y: y(span[k]) + 4, "text-anchor": "end" }, text),
      )
    : [];
  return [
    ...bars,
    ...bands,
    axes,
    ...means,
    head,
    ...values,
    ...effectTicks(effect, cells, width, bottom + 13),
  ];
}

/** The central 80 %: an area for a continuous parent, a field for each level of a discrete one. */
function effectBand(effect, cells, points, y, box) {
  const [low, high] = [effect.low[0], effect.high[0]];
  if (model.data.variables[effect.p].levels)
    return cells.map((cell, code) => box("effect-band", cell, y(high[code]), y(low[code])));
  const around = [...points(high), ...points(low).reverse()];
  return [draw("polygon", { class: "effect-band", points: around.join(" ") })];
}

/** The ends of a range below a panel, or the names of levels. */
function effectTicks(effect, cells, width, y) {
  const { levels } = model.data.variables[effect.p];
  const text = (x, anchor, content) =>
    draw("text", { class: "tick muted", x: x.toFixed(1), y, "text-anchor": anchor }, content);
  if (!levels) {
    const [low, high] = [effect.at[0], effect.at[effect.at.length - 1]];
    if (low === high) return [text(width / 2, "middle", significant(low, 4))];
    return [text(0, "start", significant(low, 4)), text(width, "end", significant(high, 4))];
  }
  const room = width / levels.length - 2;
  if (room < 12) return [text(width / 2, "middle", counted(levels.length, "level"))];
  return levels.map((level, code) =>
    text((cells[code][0] + cells[code][1]) / 2, "middle", fitted(level, room, "11px sans-serif")),
  );
}
