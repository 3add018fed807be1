// Bars inside the boxes of the drawing: a bin or level per row, which a click makes a finding.

const BAR_TITLE = 24;
const BAR_ROW = 18;
const BAR_FOOT = 5;
// widths of a full bar and a percentage, and the gap between parts
const BAR_PARTS = { bar: 48, number: 34, gap: 5 };
// widths of labels; longer ones are shortened
const LABEL = { least: 40, most: 96, font: "11.5px sans-serif" };
// columns with more bins or levels show the likeliest, as many as keep a row for the number of the others
const MOST_BARS = 8;

/** Draws boxes with bars, or without. */
function toggleBars() {
  change({ bars: graph.drawing.hasBars ? "off" : "on" });
}

/** The bins or levels of a column as short texts. */
const barLabels = (variable) =>
  binTexts(network(), variable, 3).map((text) => fitted(text.replaceAll(" – ", "–"), LABEL.most, LABEL.font));

/** The size of the box of a column with its bars. */
function barBox(variable) {
  const labels = barLabels(variable);
  ruler.font = LABEL.font;
  const label = Math.max(LABEL.least, ...labels.map((text) => ruler.measureText(text).width));
  const { bar, number, gap } = BAR_PARTS;
  return [
    Math.ceil(label) + bar + number + 4 * gap,
    BAR_TITLE + BAR_ROW * Math.min(labels.length, MOST_BARS) + BAR_FOOT,
  ];
}

/** An empty place for the bars of a column. */
const barsOf = (variable) => draw("g", { class: "bars", "aria-hidden": "true", "data-variable": variable });

/** The bins or levels with a bar: all, or the likeliest without evidence. */
function barCodes(shares) {
  const codes = shares.map((_, code) => code);
  if (codes.length <= MOST_BARS) return codes;
  const likeliest = codes.toSorted((a, b) => shares[b] - shares[a] || a - b);
  return likeliest.slice(0, MOST_BARS - 1).sort((a, b) => a - b);
}

/** Writes the answers into the boxes. */
function renderBars() {
  byId("bars").hidden = !hasOwnDrawing(view.selected);
  byId("bars").setAttribute("aria-pressed", graph.drawing.hasBars);
  if (!graph.drawing.hasBars) return;
  const isCurrent = answers.position === view.selected;
  for (const [variable, node] of graph.nodes.entries()) {
    const before = isCurrent ? answers.before?.marginals?.[variable] : null;
    const after = isCurrent ? answers.after?.marginals?.[variable] : null;
    const empty = new Array(binCount(network(), variable)).fill(0);
    const shares = Array.from(before ?? empty);
    const codes = barCodes(shares);
    const labels = barLabels(variable);
    const finding = view.findings.get(variable);
    const chosen = (finding && codesOf(finding, variable, network())) ?? [];
    const rows = codes.map((code, row) =>
      barRow(variable, {
        code,
        row,
        text: labels[code],
        before: shares[code],
        after: after?.[code],
        isChosen: chosen.includes(code),
      }),
    );
    const others = shares.length - codes.length;
    const place = { x: 0, y: rowMiddleOf(variable, codes.length), "text-anchor": "middle" };
    if (others) rows.push(barText(place, `${others} more`));
    node.querySelector(".bars").replaceChildren(...rows);
  }
}

const rowMiddleOf = (variable, row) =>
  BAR_TITLE + BAR_ROW * (row + 0.5) - graph.drawing.sizes[variable][1] / 2;

const barText = (place, text) => draw("text", { ...place, dy: 4 }, text);

/** One bin or level: its label, its probability as a bar, a line below it for the one without evidence, its number. */
function barRow(variable, { code, row, text, before, after, isChosen }) {
  const { bar, number: room, gap } = BAR_PARTS;
  const [width] = graph.drawing.sizes[variable];
  const y = rowMiddleOf(variable, row);
  const left = gap - width / 2;
  const start = width / 2 - 2 * gap - room - bar;
  const share = after ?? 0;
  const number = after === undefined ? "–" : percent(after);
  const was = view.findings.size ? `, ${finePercent(before)} without evidence` : "";
  return draw(
    "g",
    {
      class: isChosen ? "bar-row chosen" : "bar-row",
      "data-code": code,
      "data-share": after,
      onclick: (event) => {
        event.stopPropagation();
        pressBin(variable, code, event.shiftKey || event.ctrlKey || event.metaKey);
      },
    },
    draw("title", {}, `${text}: ${after === undefined ? "no answer" : finePercent(after)}${was}`),
    draw("path", {
      class: "row-touch",
      d: `M${left} ${y - BAR_ROW / 2}H${width / 2 - gap}v${BAR_ROW}H${left}Z`,
    }),
    barText({ x: left, y }, text),
    draw("path", { class: "row-track", d: `M${start} ${y}h${bar}` }),
    draw("path", { class: "row-bar", d: `M${start} ${y - 1}h${bar * share}` }),
    // below the bar, never on it
    draw("path", { class: "row-before", d: `M${start} ${y + 6}h${view.findings.size ? bar * before : 0}` }),
    barText({ x: width / 2 - gap, y, "text-anchor": "end" }, number),
  );
}
