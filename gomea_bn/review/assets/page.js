// The start of the page: reads the data, builds each part once, restores the view, listens to keys.

function setTexts() {
  const { title, headline, origin } = model.data;
  document.title = title ? `${title} – networks` : headline;
  byId("title").hidden = !title;
  byId("title").textContent = title ?? "";
  byId("headline").textContent = headline;
  byId("origin").textContent = origin;
  byId("origin").title = origin;
  document.body.classList.toggle("single", isSingle());
  document.body.classList.toggle("report", model.data.kind === "network");
}

// ---- panels at the sides that can be folded away

const PANELS = { choose: "filters", inspect: "details" };

function buildPanels() {
  for (const panel of Object.keys(PANELS)) byId(`fold-${panel}`).addEventListener("click", () => fold(panel));
  byId("fold-choose").hidden = isSingle();
  renderers.push(renderPanels);
}

function fold(panel) {
  const folded = new Set(view.folded);
  if (!folded.delete(panel)) folded.add(panel);
  change({ folded });
}

function renderPanels() {
  for (const panel of Object.keys(PANELS)) {
    const isFolded = view.folded.has(panel);
    byId(`fold-${panel}`).setAttribute("aria-expanded", !isFolded);
    byId(`fold-${panel}`).textContent = `${isFolded ? "Show" : "Hide"} ${PANELS[panel]}`;
    document.body.classList.toggle(`folded-${panel}`, view.folded.has(panel));
  }
}

/** Selects the recommended network, the first two objectives as axes, and the column that a front is about. */
function setStart() {
  const first = model.data.landmarks.find((landmark) => landmark.key === "recommended");
  view.selected = first ? Math.max(0, model.data.ids.indexOf(first.id)) : 0;
  view.x = Math.min(model.data.objectives.length, 1);
  view.y = 0;
  view.target = targetAtStart();
  view.shows = showsAtStart();
}

/** Whether the focused element needs the key itself. */
function isTyping(target) {
  return target.closest("input, textarea, select, [role=slider], [role=tab], dialog") !== null;
}

const keys = {
  ArrowRight: () => step(1),
  ArrowLeft: () => step(-1),
  s: () => toggleStar(),
  p: () => togglePin(),
  d: () => change({ shows: view.shows === "answers" ? "graph" : "answers" }),
  t: () => change({ shows: view.shows === "target" ? "graph" : "target" }),
  e: () => model.data.question && change({ shows: view.shows === "prediction" ? "graph" : "prediction" }),
  "/": () => byId("find").focus(),
  "+": zoomIn,
  "=": zoomIn,
  "-": () => zoomBy(1 / ZOOM_STEP),
  0: () => showWhole(),
  f: () => toggleFullScreen(),
  b: () => toggleBars(),
  o: () => togglePlaces(),
  "[": () => fold("choose"),
  "]": () => fold("inspect"),
};
// keys of a page that shows one network
const KEYS_OF_ONE = ["/", "b", "d", "t", "+", "=", "-", "0", "f", "]"];
// by Shift and an arrow: pixels by which the drawing moves
const PANS = { ArrowLeft: [-80, 0], ArrowRight: [80, 0], ArrowUp: [0, -80], ArrowDown: [0, 80] };

function onKey(event) {
  if (event.key === "Escape") return leave(event);
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return undefined;
  if (event.shiftKey && PANS[event.key]) {
    event.preventDefault();
    return panBy(...PANS[event.key]);
  }
  if (isSingle() && !KEYS_OF_ONE.includes(event.key)) return undefined;
  if (!keys[event.key]) return undefined;
  event.preventDefault();
  return keys[event.key]();
}

/** Closes the first of these that is open: the help, the search, the variable. A dialog closes by itself. */
function leave(event) {
  if (byId("help").open) byId("help").open = false;
  else if (event.target === byId("find")) {
    byId("find").value = "";
    findVariable(false);
    byId("find").blur();
  } else if (event.target.closest("textarea, select")) event.target.blur();
  else if (view.variable !== null && !document.querySelector("dialog[open]")) lookAt(null);
}

async function start() {
  const data = await readData();
  view.names = recalledNames();
  rename(data, view.names);
  buildModel(data);
  setTexts();
  setStart();
  renderers.push(renderRules);
  buildRules();
  if (isSingle()) byId("save").before(byId("rule-form"), byId("rule-note"), byId("rules"));
  else {
    buildFilters();
    buildScatter();
    buildChoose();
  }
  buildGraph();
  buildAnswers();
  buildTarget();
  buildPrediction();
  buildDecide();
  buildPanel();
  buildEnlarged();
  buildPanels();
  renderers.push(renderPrint);
  recall();
  refresh();
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", () => {
    recall();
    refresh();
  });
  new ResizeObserver(renderPanel).observe(byId("inspect"));
  // ready means painted with the sizes known, one frame after the observers' first call
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      document.body.dataset.ready = "1";
    }),
  );
}

start().catch((error) => {
  byId("headline").textContent = "This page could not be drawn. Open it in a newer browser.";
  byId("origin").textContent = String(error);
  throw error;
});
