// The marginal density of a continuous variable: a line over the bars of the rows, and stems for point masses.

/**
 * The marginal density of a variable in a network, null if the page lacks it.
 * Follows `marginal_density` of the package: in every bin, the density inside the bins times the bin's factor.
 * `vertices` are pairs of a value and a density, `masses` pairs of a value and its probability.
 */
function densityOf(candidate, variable) {
  const position = candidate.d[variable];
  if (position === null) return null;
  const ratios = model.data.ratios[variable][position];
  const bins = model.data.cuts[variable][candidate.c[variable]];
  const curve = model.data.curves[variable][bins.s];
  const ends = [curve.x[0], ...bins.at, curve.x[curve.x.length - 1]];
  const vertices = ratios.flatMap((ratio, code) => {
    const [low, high] = [ends[code], ends[code + 1]];
    const first = curve.x.findIndex((value) => value > low);
    const last = curve.x.findIndex((value) => value >= high);
    const inner = curve.x.slice(first, last).map((value, index) => [value, ratio * curve.y[first + index]]);
    return [
      [low, ratio * heightBefore(curve, first, low)],
      ...inner,
      [high, ratio * heightBefore(curve, last, high)],
    ];
  });
  const masses = curve.p.map(([value, mass]) => [
    value,
    mass * ratios[bins.at.filter((cut) => cut < value).length],
  ]);
  return { vertices, masses };
}

/** The averaged marginal density of a variable, null if the page has none. */
function averagedDensity(variable) {
  const average = model.data.averaged?.[variable];
  if (!average) return null;
  return { vertices: average.x.map((value, index) => [value, average.y[index]]), masses: average.p };
}

/** What the line of an averaged density is, in words. */
function averageText(variable) {
  const { copies, line, words } = model.data.averaged[variable];
  const share = line === null ? "" : `, ${percent(line)} of it by the parents, as ${words}`;
  const sets = copies === 0 ? "" : ` averaged over ${copies} ${copies === 1 ? "set" : "sets"} of cuts`;
  return `Dashed: the density${sets}${share}.`;
}

/** The height of a curve at a value, on the line that ends at the vertex of this index. */
function heightBefore({ x, y }, index, value) {
  const end = Math.max(1, index);
  return y[end - 1] + ((value - x[end - 1]) / (x[end] - x[end - 1])) * (y[end] - y[end - 1]);
}

/** Most point masses that a text names one by one, and the share of the rows that those of a column of few values have. */
const [MOST_POINTS, FEW_VALUES_SHARE] = [4, 0.9499];

/** The point masses of the density inside the bins, with their shares of the rows. */
const pointsOf = (candidate, variable) =>
  model.data.curves[variable][model.data.cuts[variable][candidate.c[variable]].s].p;

/** How a continuous variable is distributed inside its bins, and its point masses, in words. */
function insideText(candidate, variable) {
  const curve = model.data.curves[variable][model.data.cuts[variable][candidate.c[variable]].s];
  // a uniform density has no vertex between the ends
  const shape = curve.x.length > 2 || curve.y[0] !== curve.y[1] || curve.p.length;
  if (!shape) return "uniform";
  const digits = digitsFor(curve.x[0], curve.x[curve.x.length - 1]) + 2;
  const text = ([value, mass]) => `${significant(value, Math.min(17, digits))} in ${percent(mass)} of rows`;
  if (curve.p.length > MOST_POINTS) {
    const frequent = curve.p.reduce((best, point) => (point[1] > best[1] ? point : best));
    const total = percent(Math.min(1, sumOfMasses(curve.p)));
    return `shape of its column; ${curve.p.length} values in ${total} of rows, the most frequent one is ${text(frequent)}`;
  }
  return ["shape of its column", ...(curve.p.length ? [curve.p.map(text).join(", ")] : [])].join("; ");
}

const sumOfMasses = (points) => points.reduce((sum, [, mass]) => sum + mass, 0);

/**
 * The heights of a drawing, as shares of it, per probability of a point mass and per density; null without a column of
 * few values, whose axis is that of the probabilities: a density counts as the probability of a bin for one value.
 */
function fewValueScales(points) {
  if (points.length < 2 || sumOfMasses(points) < FEW_VALUES_SHARE) return null;
  const values = points.map(([value]) => value).sort((a, b) => a - b);
  const gap = Math.min(...values.slice(1).map((value, index) => value - values[index]));
  const largest = Math.max(...points.map(([, mass]) => mass));
  return { ofMass: 1 / largest, most: largest / gap };
}

/** The histogram as densities: per bin its ends, and the rows per unit; rows at point masses do not count. */
function rowDensities({ edges, counts }, points) {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  return counts.map((count, index) => {
    const [from, to] = [edges[index], edges[index + 1]];
    const inside = points.filter(
      ([value]) => (value > from || (index === 0 && value === from)) && value <= to,
    );
    const rows = count - inside.reduce((sum, [, mass]) => sum + Math.round(mass * total), 0);
    return { from, to, density: Math.max(0, rows) / (total * (to - from)) };
  });
}

/** The line of a density and the stems of its point masses; `y` maps densities, `ofMass` is the share of `tall` of 1. */
function densityMarks(owner, density, x, y, tall, ofMass) {
  const line = density.vertices.map(([value, height]) => `${x(value).toFixed(2)},${y(height).toFixed(2)}`);
  const stems = density.masses.flatMap(([value, mass]) => {
    const top = tall - Math.min(1, mass * ofMass) * (tall - 6);
    return [
      draw("line", { class: `stem ${owner.key}`, x1: x(value), x2: x(value), y1: top, y2: tall }),
      draw("circle", { class: `fill ${owner.key}`, cx: x(value), cy: top, r: 3 }),
    ];
  });
  return [draw("polyline", { class: `density ${owner.key}`, points: line.join(" ") }), ...stems];
}
