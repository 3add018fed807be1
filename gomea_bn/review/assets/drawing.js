// Where boxes and edges are drawn: in a network's own drawing, stretched to the frame, or at positions that all share.

// scale at which names, of 12.5 pixels, have 11
const READABLE = 0.885;
const LARGEST = 1.45;
// largest factors by which the distances of boxes and of rows grow where the frame has room
const STRETCH = { wider: 2.4, higher: 3 };
const FRAME_MARGIN = 10;
// frames narrower than this show all of a drawing at any scale
const PHONE = 500;
// windows narrower than this show all of a drawing from this scale on
const TABLET = 1100;
const NEARLY_READABLE = 0.64;
// distances of the middle of an edge that the drawing lacks from a straight line, as shares of twice its length
const CHORD_BENDS = [0.12, -0.12, 0.24, -0.24, 0.4, -0.4, 0.6, -0.6, 0.85, -0.85];
// where along that line such an edge bends, as shares of its length; the middle is tried first
const CHORD_PLACES = [0.5, 0.25, 0.75, 0.1, 0.9];
// number of parts at whose ends such an edge is compared with a box, and the least distance between them
const CHORD_STEPS = 32;
const CHORD_GAP = 4;
// scale of boxes of columns that stand alone, as in the style sheet
const SMALL = 0.8;
// factor of the distances of rows of boxes that hold bars, whose edges run further to the side
const WIDER_GAPS = 1.8;
// least distance of boxes of a row; `drawings.py` has a pixel more, and rounds
const BOX_GAP = 9;

/** The scale at which a drawing starts in a frame, by the scale at which all of it fits. */
function startScale(fit, { width }, hasBars) {
  const isSmall = width < PHONE || (window.innerWidth < TABLET && fit >= NEARLY_READABLE);
  return isSmall && !hasBars ? fit : Math.max(fit, READABLE);
}

/** Whether a network is drawn at positions of its own. */
const hasOwnDrawing = (position) => view.places === "own" && model.data.drawing_of[position] !== null;

/**
 * The drawing of a network for a frame: its `width` and `height`, the `centres` and `sizes` of the boxes, `hasBars`
 * whether they hold bars, and `curveOf` an edge: the 3 k + 1 points [x, y] of k Bezier pieces, from its parent to its
 * child. Until the reader says otherwise, boxes hold bars where all of them can be read in the frame.
 */
function drawingOf(position, frame) {
  if (!hasOwnDrawing(position)) return sharedDrawing(position);
  const entry = model.data.drawings[model.data.drawing_of[position]];
  if (view.bars !== "off") {
    const drawing = stretched(entry, frame, model.order.map(barBox), true);
    if (view.bars === "on" || drawing.fit >= READABLE) return drawing;
  }
  return stretched(entry, frame, plainBoxes(position), false);
}

/** The columns that no edge joins to another, in a network with edges. */
function aloneIn(position) {
  const joined = new Set([...model.edges[position]].flatMap(arcOf));
  return new Set(joined.size ? model.order.filter((index) => !joined.has(index)) : []);
}

/** The sizes of boxes without bars; columns that stand alone have small ones. */
function plainBoxes(position) {
  const alone = aloneIn(position);
  return model.data.layout.boxes.map(([, , width, height], index) =>
    [width, height].map((size) => (alone.has(index) ? SMALL * size : size)),
  );
}

/** The drawing at the positions that all networks share, with a route for every edge of any network. */
function sharedDrawing(position) {
  const { layout } = model.data;
  const curves = new Map(layout.curves.map(([i, j, curve]) => [`${i},${j}`, curve]));
  const curveOf = (from, to) =>
    from < to ? curves.get(`${from},${to}`) : curves.get(`${to},${from}`).slice().reverse();
  return {
    width: layout.width,
    height: layout.height,
    centres: layout.boxes.map(([x, y]) => [x, y]),
    sizes: plainBoxes(position),
    hasBars: false,
    groups: [],
    curveOf,
    wider: 1,
    higher: 1,
  };
}

/** A network's own drawing, with distances that fill the frame; follows `NetworkSketch` of the package. */
function stretched(entry, frame, sizes, hasBars) {
  const margin = 2 * FRAME_MARGIN;
  const plain = model.data.layout.boxes[0][3];
  // rows are as high as their highest box, and boxes of a row as far apart as the wider ones need
  const tall = entry.t.map((_, row) =>
    Math.max(plain, ...sizes.flatMap(([, height], index) => (entry.r[index] === row ? [height] : []))),
  );
  const spread = spreadOf(entry, sizes);
  const left = Math.min(...entry.x.map((x, index) => x * spread - sizes[index][0] / 2), 0);
  const right = Math.max(...entry.x.map((x, index) => x * spread + sizes[index][0] / 2), entry.w * spread);
  const tops = [0];
  const gaps = hasBars ? WIDER_GAPS : 1;
  for (const [row, height] of tall.slice(0, -1).entries())
    tops.push(tops[row] + height + gaps * (entry.t[row + 1] - entry.t[row] - plain));
  const [across, down] = [right - left, tops.at(-1) + tall.at(-1)];
  const fit = Math.min(frame.width / (across + margin), frame.height / (down + margin));
  const scale = Math.min(startScale(fit, frame, hasBars), LARGEST);
  const factor = (room, size, most) => Math.min(Math.max((room / scale - margin) / size, 1), most);
  const wider = factor(frame.width, across, STRETCH.wider);
  const higher = factor(frame.height, down, STRETCH.higher);
  const at = (x, row) => [FRAME_MARGIN + (x * spread - left) * wider, FRAME_MARGIN + tops[row] * higher];
  const centres = entry.x.map((x, variable) => {
    const [middle, top] = at(x, entry.r[variable]);
    return [middle, top + Math.max(plain, sizes[variable][1]) / 2];
  });
  const curves = new Map(
    entry.e.map(([from, to, bends, above, below]) => {
      const [upper, lower] = entry.r[from] < entry.r[to] ? [from, to] : [to, from];
      const [x, y] = at(entry.x[upper], entry.r[upper]);
      const [own, row] = [sizes[upper][1], tall[entry.r[upper]]];
      const points = [[x + above, y + own]];
      // below a box lower than its row the edge leaves the row first
      if (own < row) points.push(...vertical(points[0], row - own));
      bends.forEach((bend, index) => {
        const crossed = entry.r[upper] + 1 + index;
        const top = at(bend, crossed);
        points.push(...bow(points.at(-1), top), top, ...vertical(top, tall[crossed]));
      });
      const end = at(entry.x[lower], entry.r[lower]);
      end[0] += below;
      points.push(...bow(points.at(-1), end), end);
      return [`${from},${to}`, upper === from ? points : points.reverse()];
    }),
  );
  const size = { width: across * wider + margin, height: down * higher + margin };
  const curveOf = (from, to) => curves.get(`${from},${to}`) ?? chord({ centres, sizes, size }, from, to);
  return { ...size, centres, sizes, hasBars, fit, curves, curveOf, wider, higher, groups: entry.g ?? [] };
}

/** The factor by which distances in x must grow so that boxes of these sizes stay apart. */
function spreadOf({ x, r }, sizes) {
  const boxes = model.order.toSorted((a, b) => r[a] - r[b] || x[a] - x[b]);
  const needs = boxes.slice(1).map((box, index) => {
    const before = boxes[index];
    if (r[box] !== r[before]) return 1;
    return ((sizes[box][0] + sizes[before][0]) / 2 + BOX_GAP) / (x[box] - x[before]);
  });
  return Math.max(1, ...needs);
}

/** The inner control points of a piece that starts and ends vertically. */
function bow([x0, y0], [x1, y1]) {
  const middle = (y0 + y1) / 2;
  return [
    [x0, middle],
    [x1, middle],
  ];
}

/** The further points of a vertical piece of this height that starts at a point. */
const vertical = ([x, y], height) => [1, 2, 3].map((third) => [x, y + (height * third) / 3]);

/**
 * A bent piece between two boxes, for an edge that the drawing lacks: the least bent one that meets fewest other boxes
 * and stays in the drawing.
 */
function chord({ centres, sizes, size: { width, height } }, from, to) {
  const [start, end] = [centres[from], centres[to]];
  const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
  const others = centres.map((_, index) => index).filter((index) => index !== from && index !== to);
  let [best, least] = [null, Number.POSITIVE_INFINITY];
  for (const [place, bend] of CHORD_PLACES.flatMap((at) => CHORD_BENDS.map((by) => [at, by]))) {
    const control = [start[0] + place * dx - bend * dy, start[1] + place * dy + bend * dx];
    const [a, b] = [borderPoint(start, sizes[from], control), borderPoint(end, sizes[to], control)];
    const towards = (point) => [0, 1].map((axis) => (point[axis] + 2 * control[axis]) / 3);
    const piece = [a, towards(a), towards(b), b];
    const points = pointsOn(piece);
    const isOutside = points.some(([x, y]) => x < 0 || y < 0 || x > width || y > height);
    const hits = others.filter((index) => meetBox(points, centres[index], sizes[index])).length;
    const cost = hits + (isOutside ? 3 : 0);
    if (cost < least) [best, least] = [piece, cost];
    if (cost === 0) break;
  }
  return best;
}

/** Points along a cubic Bezier piece. */
function pointsOn([a, b, c, d]) {
  return Array.from({ length: CHORD_STEPS + 1 }, (_, step) => {
    const t = step / CHORD_STEPS;
    const u = 1 - t;
    return [0, 1].map(
      (axis) => u ** 3 * a[axis] + 3 * u * u * t * b[axis] + 3 * u * t * t * c[axis] + t ** 3 * d[axis],
    );
  });
}

/** Whether one of several points comes close to a box. */
function meetBox(points, [centreX, centreY], [width, height]) {
  return points.some(
    ([x, y]) =>
      Math.abs(x - centreX) < width / 2 + CHORD_GAP && Math.abs(y - centreY) < height / 2 + CHORD_GAP,
  );
}

/** The point where the line from the centre of a box to another point leaves the box. */
function borderPoint([x, y], [width, height], [goalX, goalY]) {
  const [dx, dy] = [goalX - x, goalY - y];
  const share = Math.min(width / 2 / Math.abs(dx || 1e-9), height / 2 / Math.abs(dy || 1e-9), 1);
  return [x + share * dx, y + share * dy];
}
