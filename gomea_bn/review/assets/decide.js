// The selected network's headline, the shortlist, the notes, and the decision as a file.

// edges that the reason for a network names
const MOST_NAMED = 3;

function buildDecide() {
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("star").addEventListener("click", () => toggleStar());
  byId("pin").addEventListener("click", () => togglePin());
  byId("note").addEventListener("input", writeNote);
  byId("save").addEventListener("click", saveDecision);
  byId("passing").addEventListener("click", () => {
    const distance = (position) => Math.abs(position - view.selected);
    select(view.left.reduce((best, position) => (distance(position) < distance(best) ? position : best)));
  });
  renderers.push(renderHead, renderDecide);
}

function renderHead() {
  const id = idOf(view.selected);
  byId("network-title").textContent = isSingle() ? "The network" : `Network ${id}`;
  const tags = model.data.landmarks
    .filter((landmark) => landmark.id === id)
    .map((landmark) => landmark.label.toLowerCase());
  if (!passes(view.selected)) tags.unshift(isSingle() ? "your rules are against it" : "outside your filters");
  byId("passing").hidden = passes(view.selected) || !view.left.length;
  const isRecommended = model.data.landmarks.some(({ key, id: of }) => key === "recommended" && of === id);
  byId("reason").hidden = !isRecommended;
  if (isRecommended) {
    const [reason, detail] = model.data.reason;
    byId("reason").textContent = `Why this one first: ${reason} ${expertWords()}`;
    byId("reason").title = detail;
  }
  byId("network-tags").textContent = tags.join(" · ");
  const starred = view.stars.has(view.selected);
  byId("star").setAttribute("aria-pressed", starred);
  byId("star").textContent = starred ? "★ Star" : "☆ Star";
  byId("pin").setAttribute("aria-pressed", view.pin === view.selected);
  byId("pin").textContent = view.pin === view.selected ? "Kept as A" : "Keep as A";
  document.body.classList.toggle("compared", view.pin !== null && view.pin !== view.selected);
  byId("values").replaceChildren(...model.axes.map(valueEntry));
}

/** Which of the expert's edges the network lacks, and whether the rows say that she may be right. */
function expertWords() {
  if (!model.expertEdges?.size) return "";
  const here = model.edges[view.selected];
  const lacks = (from, to) => !here.has(arcKey(from, to)) && !here.has(arcKey(to, from));
  const number = [...model.expertEdges].filter((key) => lacks(...arcOf(key))).length;
  if (!number) return "It joins all columns that your edges join.";
  const words = `It lacks ${counted(number, "edge")} of yours`;
  const { tested } = model.data;
  if (!tested) return `${words}; the page was made without a test of them (--test-graph).`;
  const supported = tested.supported.filter(([from, to]) => lacks(from, to));
  if (!supported.length) return `${words}, and the rows support none of these.`;
  const nameOf = (index) => model.data.variables[index].name;
  const names = supported.slice(0, MOST_NAMED).map(([from, to]) => `${nameOf(from)} → ${nameOf(to)}`);
  const more = supported.length > MOST_NAMED ? ` and ${supported.length - MOST_NAMED} more` : "";
  return `${words}. You may be right: the rows support ${names.join(", ")}${more}.`;
}

/** One value of the network, and its difference from the pinned network's value. */
function valueEntry(axis) {
  const value = axis.values[view.selected];
  const parts = [axisText(axis, value), " ", make("small", { class: "unit", title: axis.exact }, axis.unit)];
  if (view.pin !== null && view.pin !== view.selected) {
    const difference = value - axis.values[view.pin];
    const sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
    parts.push(
      " ",
      make(
        "small",
        { class: "difference", title: "Compared with A" },
        `(${sign}${axisText(axis, Math.abs(difference))})`,
      ),
    );
  }
  return make("div", {}, make("dt", {}, axis.label), make("dd", {}, ...parts));
}

function renderDecide() {
  const id = idOf(view.selected);
  byId("note-label").textContent = isSingle() ? "Your note" : `Your note on network ${id}`;
  const note = byId("note");
  const text = view.notes.get(view.selected) ?? "";
  if (note.value !== text) note.value = text;
  byId("save").textContent = isSingle() ? "Save decision" : `Save decision: network ${id}`;
  if (model.data.kind === "network") byId("save").textContent = "Save rules and note";
  // what was saved is no longer what is shown
  if (byId("saved").dataset.content !== contentOf(decision())) byId("saved").replaceChildren();
  const stars = [...view.stars].sort((a, b) => a - b);
  const items = stars.map((position) =>
    make(
      "li",
      {},
      make(
        "button",
        {
          type: "button",
          "aria-current": position === view.selected ? "true" : null,
          "aria-label": `Shortlisted network ${idOf(position)}`,
          onclick: () => select(position),
        },
        `★ ${idOf(position)}`,
      ),
    ),
  );
  byId("shortlist").replaceChildren(
    ...(items.length || isSingle() ? items : [make("li", {}, "No network starred yet")]),
  );
}

function writeNote() {
  const text = byId("note").value;
  if (text.trim()) view.notes.set(view.selected, text);
  else view.notes.delete(view.selected);
  renderDecide();
  renderPrint();
  remember();
}

/** The decision as a plain value, in the format that `gomea-bn accept` reads. */
function decision() {
  const names = model.data.objectives.map((objective) => objective.name);
  const shares = view.weights ? weightShares() : null;
  return {
    format: "gomea-bn decision",
    format_version: 1,
    run_hash: model.data.run_hash,
    network: idOf(view.selected),
    shortlist: sortedIds(view.stars),
    notes: Object.fromEntries([...view.notes].map(([position, text]) => [String(idOf(position)), text])),
    // sliders that nobody moved say nothing about preferences
    weights: shares ? Object.fromEntries(names.map((name, index) => [name, shares[index]])) : {},
    filters: Object.fromEntries([...view.filters].map(([axis, ends]) => [model.axes[axis].key, ends])),
    ...(view.rules.length ? { rules: view.rules.map(ruleText), ...edgeRules() } : {}),
    ...renamed(),
    made: new Date().toISOString(),
  };
}

/** The names of columns and levels that the reader wrote, as the fields of a decision. */
function renamed() {
  const [names, levels] = [{}, {}];
  model.data.variables.forEach(({ column, ofColumn, name, levels: texts }) => {
    if (name !== column) names[column] = name;
    const changed = (ofColumn ?? []).flatMap((level, code) =>
      texts[code] === level ? [] : [[level, texts[code]]],
    );
    if (changed.length) levels[column] = Object.fromEntries(changed);
  });
  const parts = { names, levels };
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => Object.keys(part).length));
}

/** A decision as a text without its time. */
const contentOf = (value) => JSON.stringify({ ...value, made: null });

/** The reader's rules and limits that the chosen network breaks, in words. */
function brokenRules() {
  const { filters } = view;
  const limits = [...filters.keys()].filter(
    (axis) => !passes(view.selected, { filters: new Map([[axis, filters.get(axis)]]), rules: [] }),
  );
  const limitText = (axis) => {
    const [low, high] = filters.get(axis).map((end) => withUnit(model.axes[axis], end));
    return `${model.axes[axis].label} from ${low} to ${high}`;
  };
  return [
    ...view.rules.filter((rule) => !follows(view.selected, rule)).map(ruleText),
    ...limits.map(limitText),
  ];
}

/** Says why the decision is not saved, and offers ways out: texts of buttons, and what they do. */
function refuseDecision(reason, ways) {
  byId("saved").dataset.content = contentOf(decision());
  byId("saved").replaceChildren(
    make("p", { role: "alert" }, make("b", {}, "Not saved"), `: ${reason}`),
    ...ways.map(([text, onclick]) => make("button", { type: "button", onclick }, named(text))),
  );
}

/** Refuses a decision that contradicts its own rules although there is a way out; returns whether it did. */
function isRefused(broken) {
  const clash = contradiction(view.rules);
  if (clash) {
    const without = (rule) => () => change({ rules: view.rules.filter((other) => other !== rule) });
    refuseDecision(
      `no network can follow all of your rules: ${clash.map(ruleText).join("; ")}. Remove one of them.`,
      clash.map((rule) => [`Remove “${ruleText(rule)}”`, without(rule)]),
    );
  } else if (model.data.kind === "front" && broken.length && view.left.length) {
    refuseDecision(
      `network ${idOf(view.selected)} breaks your own ${broken.length === 1 ? "rule" : "rules"}: ${broken.join("; ")}. Choose a network that follows your rules, or remove what it breaks.`,
      [["Show the nearest network that follows my rules", () => byId("passing").click()]],
    );
  } else return false;
  return true;
}

function saveDecision() {
  const broken = brokenRules();
  if (isRefused(broken)) return;
  const content = decision();
  const file = new Blob([`${JSON.stringify(content, null, 2)}\n`], { type: "application/json" });
  download(file, "decision.json");
  const isFront = model.data.kind === "front";
  const what = [
    ...(isFront ? [`network ${content.network}`] : []),
    ...(content.shortlist.length ? [`${counted(content.shortlist.length, "network")} of the shortlist`] : []),
    ...(Object.keys(content.notes).length ? [counted(Object.keys(content.notes).length, "note")] : []),
    ...(content.rules ? [counted(content.rules.length, "rule")] : []),
  ].join(", ");
  const hasEdges = content.required_edges || content.forbidden_edges;
  const command = (text) => make("code", {}, text);
  const whose = isFront ? "No network follows all of your rules. This one" : "The network";
  const steps = [
    ...(broken.length ? [make("p", {}, `${whose} breaks: ${broken.join("; ")}.`)] : []),
    make(
      "p",
      {},
      isFront ? "It takes the network out of the front: " : "It writes the network with your note: ",
      command("gomea-bn accept FOLDER decision.json -o model.json"),
    ),
    ...(hasEdges
      ? [
          make(
            "p",
            {},
            "It searches again with your rules: ",
            command(`gomea-bn ${isFront ? "front" : "learn"} DATA --rules decision.json`),
          ),
        ]
      : []),
  ];
  byId("saved").dataset.content = contentOf(content);
  byId("saved").replaceChildren(
    make(
      "p",
      {},
      make("b", {}, "✓ Saved"),
      ` ${what || "nothing but the time"}: decision.json, in the folder of your downloads. Send it to whoever sent you this page.`,
    ),
    ...steps,
  );
  renderPrint();
}
