// Answers: the distributions of all columns given the findings, computed in a worker, and shown as a card per column.

const answers = {
  worker: null,
  // why no worker could be started
  refusal: null,
  // number of the last question; answers to earlier ones are ignored
  ticket: 0,
  // number of the last message to the worker
  posted: 0,
  // what was asked last, as a text
  asked: "",
  // position of the network that the worker has
  sent: -1,
  // whether the answer to what was asked last is still to come
  waits: false,
  // answers without and with the findings, of the network at `position`
  before: null,
  after: null,
  position: -1,
  // answers without each of several findings
  alone: [],
  // findings without any one of which the others are possible
  culprits: [],
  typed: "",
};

function buildAnswers() {
  byId("show-graph").addEventListener("click", () => change({ shows: "graph" }));
  byId("show-answers").addEventListener("click", () => change({ shows: "answers" }));
  byId("clear-evidence").addEventListener("click", () => {
    change({ findings: new Map() });
    announce("No evidence.");
    byId("show-answers").focus();
  });
  byId("card-order").addEventListener("change", (event) => change({ cards: event.target.value }));
  byId("typed-variable").replaceChildren(
    ...model.data.variables.map(({ name }, index) => make("option", { value: index }, name)),
  );
  byId("typed-variable").addEventListener("change", renderTyped);
  byId("typed").addEventListener("submit", setTyped);
  renderers.push(renderAnswers);
}

function setTyped(event) {
  event.preventDefault();
  const variable = Number(byId("typed-variable").value);
  const { finding, error } = readTyped(variable, byId("typed-value").value.trim());
  answers.typed = error ?? "";
  byId("typed-value").setAttribute("aria-invalid", Boolean(error));
  if (error) return renderWords();
  byId("typed-value").value = "";
  return setFinding(variable, finding);
}

function renderTyped() {
  const { continuous, levels } = model.data.variables[Number(byId("typed-variable").value)];
  byId("typed-value").setAttribute("inputmode", continuous ? "decimal" : "text");
  byId("typed-value").placeholder = continuous ? "a number" : "a level";
  byId("typed-value").title = "Or a likelihood for each bin or level, such as 1 2 0.5";
  byId("typed-values").replaceChildren(
    ...(continuous ? [] : levels.map((level) => make("option", { value: level }))),
  );
}

// ---- questions

// cells of a table beyond which a browser may lack the memory for it
const MOST_UNPACKED = 2 ** 25;

/** What the worker needs of a network, null if its tables are too large for a browser. */
function tablesOf(candidate) {
  const cards = model.data.variables.map((_, variable) => binCount(candidate, variable));
  const entries = cards.map((_, variable) => family(candidate, variable));
  if (entries.some((entry, variable) => entry.r * cards[variable] > MOST_UNPACKED)) return null;
  return { cards, families: entries.map((entry) => ({ p: entry.p, t: probabilitiesOf(entry) })) };
}

/** The findings as codes of single bins or levels, -1 for others, and weights of sets. */
function questionOf(findings) {
  const known = model.data.variables.map(() => -1);
  const weights = [];
  for (const [variable, finding] of findings) {
    const codes = codesOf(finding, variable, network());
    if (codes === null) continue;
    if (codes.length === 1) known[variable] = codes[0];
    else if (finding.kind === "likelihoods") weights.push([variable, finding.weights]);
    else {
      const values = new Array(binCount(network(), variable)).fill(0);
      for (const code of codes) values[code] = 1;
      weights.push([variable, values]);
    }
  }
  return { known, weights };
}

/** Those of some findings that fit the network that is shown. */
const fittingOf = (findings) =>
  new Map([...findings].filter(([variable, finding]) => codesOf(finding, variable, network())));

const fitting = () => fittingOf(view.findings);

const without = (findings, variable) => new Map([...findings].filter(([other]) => other !== variable));

/** Asks for the distributions without and with the findings, and, with several, without each one. */
function ask() {
  const findings = fitting();
  const sets = [new Map(), findings];
  if (findings.size > 1) sets.push(...[...findings.keys()].map((variable) => without(findings, variable)));
  const questions = sets.map(questionOf);
  const asked = JSON.stringify([view.selected, questions]);
  if (asked === answers.asked) return;
  answers.asked = asked;
  document.body.dataset.answered = "";
  answers.waits = true;
  answers.ticket = post({ questions });
}

/** Sends a message to the worker, with the network if it has another; the number of the message. */
function post(message) {
  answers.posted += 1;
  if (!startWorker()) return answers.posted;
  if (answers.sent !== view.selected) {
    message.network = tablesOf(network());
    answers.refusal = message.network
      ? null
      : "The probability tables of this network are too large for a browser.";
    if (!message.network) {
      Object.assign(answers, { before: null, after: null, position: view.selected });
      renderCards();
      return answers.posted;
    }
    answers.sent = view.selected;
  }
  answers.worker.postMessage({ ticket: answers.posted, ...message });
  return answers.posted;
}

/** Starts the worker from the script that the page carries; whether there is one. */
function startWorker() {
  if (answers.worker) return true;
  try {
    const script = new Blob([byId("worker").textContent], { type: "text/javascript" });
    answers.worker = new Worker(URL.createObjectURL(script));
  } catch (error) {
    answers.refusal = `This browser does not let the page compute answers: ${error}`;
    return false;
  }
  answers.worker.addEventListener("message", ({ data }) =>
    data.insight || data.draws ? [receiveTarget, receiveEdge].map((take) => take(data)) : receive(data),
  );
  answers.worker.addEventListener("error", (event) =>
    receive({ ticket: answers.ticket, error: event.message }),
  );
  return true;
}

function receive({ ticket, answers: results, error, milliseconds }) {
  if (ticket !== answers.ticket) return;
  answers.waits = false;
  answers.refusal = error ?? null;
  [answers.before, answers.after] = results ?? [null, null];
  answers.alone = results?.slice(2) ?? [];
  answers.position = view.selected;
  const findings = [...fitting().keys()];
  answers.culprits = findings.filter((_, index) => results?.[index + 2]?.marginals);
  renderCards();
  renderBars();
  renderWords();
  document.body.dataset.milliseconds = milliseconds ?? "";
  document.body.dataset.answered = ticket;
}

/** The rows next to the distributions of all columns; null while an answer is to come. */
const rowsOfAnswers = () =>
  answers.waits ? null : rowsNextTo(model.order, answers.after?.marginals, fitting());

// ---- the evidence in words

function renderAnswers() {
  const isShown = view.shows === "answers";
  const isAsked = view.shows !== "graph";
  for (const shows of SHOWS) byId(`show-${shows}`).setAttribute("aria-pressed", view.shows === shows);
  document.body.classList.toggle("answering", isAsked);
  document.body.dataset.shows = view.shows;
  byId("evidence").hidden = !isAsked && !view.findings.size;
  byId("card-order").value = view.cards;
  renderFindings();
  if (isShown && byId("cards").dataset.network !== String(view.selected)) buildCards();
  if (isAsked || view.findings.size) ask();
  renderCards();
  renderPressed();
  renderTyped();
  renderWords();
}

function renderFindings() {
  const items = [...view.findings].map(([variable, finding]) => {
    const text = findingText(variable, finding);
    const { name } = model.data.variables[variable];
    const fits = codesOf(finding, variable, network()) !== null;
    const note = fits ? [] : [make("small", {}, " not counted: other bins here")];
    return make(
      "li",
      { class: fits ? "finding" : "finding resting" },
      nameLink(variable),
      " ",
      named(text),
      ...note,
      make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `Remove the finding ${name} ${text}`,
          onclick: () => {
            setFinding(variable, null);
            byId("show-answers").focus();
          },
        },
        "×",
      ),
    );
  });
  byId("findings").replaceChildren(
    ...(items.length
      ? items
      : [make("li", { class: "muted" }, "None yet: choose bins or levels under Distributions.")]),
  );
  byId("clear-evidence").hidden = !items.length;
}

/** What the answer says as a whole: an error, an impossible evidence, or the probability of the evidence. */
function renderWords() {
  const outside = [...fitting()].map(([variable, finding]) => outsideText(variable, finding));
  const next = rowsOfAnswers();
  const words = [
    answers.typed,
    ...outside,
    answerText(),
    rowsWords(next, fitting()),
    estimateNote(),
    averageNote(),
  ]
    .filter(Boolean)
    .join(" ");
  if (byId("answer-words").textContent !== words) byId("answer-words").textContent = words;
  byId("evidence-words").textContent = view.shows === "graph" && view.findings.size ? answerText() : "";
  const isWrong = answers.typed !== "" || answers.refusal !== null || !answers.after?.marginals;
  byId("answer-words").classList.toggle(
    "wrong",
    isWrong && Boolean(answers.after || answers.refusal || answers.typed),
  );
}

/** How far answers from the shown tables are from those of the densities that the tables are computed from. */
function averageNote() {
  if (!model.data.averaged || !answers.after) return "";
  const note = "Answers follow the tables shown.";
  const { n, median, most } = model.data.coarseness ?? {};
  if (n === undefined) return note;
  return (
    `${note} In ${n} questions about a child of a column, probabilities differed from those of the network's ` +
    `densities by ${median.toFixed(3)} (median) and at most ${most.toFixed(3)}; query(…) in Python uses these.`
  );
}

/** What makes an answer an estimate: draws in place of sums, or rows of tables that stand for others. */
function estimateNote() {
  const { after } = answers;
  const notes = [];
  if (after?.agreeing !== undefined)
    notes.push(
      `Estimated from ${after.drawn.toLocaleString("en")} drawn cases, since the network is too large to add up all: ` +
        `a percentage may be off by ${(100 / Math.sqrt(Math.max(1, after.agreeing))).toPrecision(1)} points. More findings make ` +
        "answers exact sooner.",
    );
  if (model.data.variables.some((_, variable) => !family(network(), variable).w))
    notes.push("Where a table is too large for this page, rare rows of it are replaced by their mean.");
  return after ? notes.join(" ") : "";
}

function answerText() {
  const { after, refusal } = answers;
  if (refusal) return `No answers: ${refusal} The method query of the network in Python answers.`;
  if (!after) return "";
  if (!after.marginals) return impossibleText();
  const findings = fitting();
  if (!findings.size)
    return "No evidence: click a bin or level that you know. Black ticks will mark the probabilities without evidence.";
  // likelihoods count up to a factor
  if ([...findings.values()].some(({ kind }) => kind === "likelihoods")) return "";
  const chance = Math.exp(after.log);
  const share = chance >= 0.001 ? finePercent(chance) : `${(100 * chance).toPrecision(2)}\u00a0%`;
  return `${findings.size === 1 ? "This finding has" : "These findings together have"} probability ${share}.`;
}

function impossibleText() {
  if (answers.after?.agreeing === 0)
    return "None of the drawn cases has these findings: together they are very rare in this network. Remove one.";
  const names = answers.culprits.map((variable) => model.data.variables[variable].name);
  const advice = names.length ? ` Without ${names.join(" or ")} the rest is possible.` : " Remove a finding.";
  return fitting().size > 1
    ? `Impossible: these findings never occur together in this network.${advice}`
    : "Impossible: this finding has probability 0 in this network. Remove it.";
}
