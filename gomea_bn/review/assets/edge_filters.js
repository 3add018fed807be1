// Filters by edges: networks that have an edge, have it in either direction, or lack it.

const EDGE_RULES = { has: "has", either: "has in either direction", lacks: "lacks in both directions" };

function buildEdgeFilters() {
  const options = () => model.data.variables.map(({ name }, index) => make("option", { value: index }, name));
  byId("edge-from").replaceChildren(...options());
  byId("edge-to").replaceChildren(...options());
  byId("edge-to").value = 1;
  byId("edge-rule").replaceChildren(
    ...Object.entries(EDGE_RULES).map(([key, text]) => make("option", { value: key }, text)),
  );
  byId("edge-form").addEventListener("submit", addEdgeFilter);
  renderers.push(renderEdgeFilters);
}

function addEdgeFilter(event) {
  event.preventDefault();
  const [from, to] = [Number(byId("edge-from").value), Number(byId("edge-to").value)];
  if (from === to) return announce("An edge joins two different columns.");
  const rule = { from, to, rule: byId("edge-rule").value };
  change({ edgeFilters: [...view.edgeFilters, rule] });
  return announceLeft();
}

/** Whether a network passes all filters by edges. */
function passesEdges(position) {
  return view.edgeFilters.every(({ from, to, rule }) => {
    const [has, turned] = [arcKey(from, to), arcKey(to, from)].map((key) => model.edges[position].has(key));
    return { has, either: has || turned, lacks: !has && !turned }[rule];
  });
}

function edgeFilterText({ from, to, rule }) {
  const [tail, head] = [from, to].map((index) => model.data.variables[index].name);
  return { has: `has ${tail} → ${head}`, either: `has ${tail} – ${head}`, lacks: `lacks ${tail} – ${head}` }[
    rule
  ];
}

function renderEdgeFilters() {
  const items = view.edgeFilters.map((filter, index) =>
    make(
      "li",
      { class: "finding" },
      named(edgeFilterText(filter)),
      make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `Remove the filter ${edgeFilterText(filter)}`,
          onclick: () => {
            change({ edgeFilters: view.edgeFilters.filter((_, other) => other !== index) });
            byId("edge-from").focus();
          },
        },
        "×",
      ),
    ),
  );
  byId("edge-filters").replaceChildren(...items);
}

// ---- the address

const edgeFilterCode = ({ from, to, rule }) => `${from}-${to}-${rule}`;

/** The filters of texts from the address; those that do not fit these data are left out. */
function recalledEdgeFilters(texts) {
  return texts.flatMap((text) => {
    const [, from, to, rule] = text.match(/^(\d+)-(\d+)-(has|either|lacks)$/) ?? [];
    const isKnown = model.data.variables[from] && model.data.variables[to] && from !== to;
    return isKnown ? [{ from: Number(from), to: Number(to), rule }] : [];
  });
}
