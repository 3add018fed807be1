// The search for a variable by a part of its name.

function buildSearch() {
  byId("names").replaceChildren(...model.data.variables.map(({ name }) => make("option", { value: name })));
  byId("find").addEventListener("input", () => findVariable(false));
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") findVariable(true);
  });
}

/** Marks the variables whose names contain the text; the Enter key opens an exact match or the first. */
function findVariable(open) {
  const written = byId("find").value.trim();
  const text = written.toLowerCase();
  const matches = model.order.filter(
    (index) => text && model.data.variables[index].name.toLowerCase().includes(text),
  );
  mark(matches);
  byId("find").setAttribute("aria-invalid", text !== "" && !matches.length);
  byId("find-note").textContent = searchNote(written, matches);
  if (!open || !matches.length) return;
  const exact = matches.find((index) => model.data.variables[index].name.toLowerCase() === text);
  byId("find").value = "";
  byId("find-note").textContent = "";
  mark([]);
  lookAt(exact ?? matches[0]);
  const card = byId("cards").querySelector(`[data-variable="${exact ?? matches[0]}"] .link`);
  (view.shows === "answers" ? card : graph.nodes[exact ?? matches[0]]).focus();
}

function mark(matches) {
  for (const [index, node] of graph.nodes.entries()) node.classList.toggle("found", matches.includes(index));
  for (const card of byId("cards").children)
    card.classList.toggle("found", matches.includes(Number(card.dataset.variable)));
}

function searchNote(text, matches) {
  if (text === "") return "";
  if (!matches.length) return `No name contains “${text.slice(0, 40)}”.`;
  return `${counted(matches.length, "match").replace("matchs", "matches")}; Enter opens the first.`;
}
