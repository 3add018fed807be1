// What the rows say next to an answer: the shares of those that have the findings, how many they are, and whether more
// than chance is between them and the network. The page has counts of pairs and triples of columns.

/** The counts of rows for the network that is shown; null if the page lacks them. */
const countedRows = () => model.data.rows?.[view.selected] ?? null;

/** The bins or levels of the findings by column; null if one is a likelihood, which no row can have. */
function allowedCodes(findings) {
  const entries = [...findings];
  if (entries.some(([, finding]) => finding.kind === "likelihoods")) return null;
  return new Map(entries.map(([variable, finding]) => [variable, codesOf(finding, variable, network())]));
}

/** The numbers of rows with the findings by the bins or levels of a column; null if the page lacks them. */
function matchedRows(variable, allowed) {
  if (!allowed || allowed.has(variable)) return null;
  const members = [variable, ...allowed.keys()].sort((a, b) => a - b);
  const table = countedRows()?.counts[members.join(",")];
  if (!table) return null;
  const cards = members.map((member) => binCount(network(), member));
  const counts = new Array(binCount(network(), variable)).fill(0);
  for (const [cell, number] of table.entries()) {
    let [rest, code, fits] = [cell, -1, true];
    for (let at = members.length - 1; at >= 0 && fits; at -= 1) {
      const own = rest % cards[at];
      rest = Math.floor(rest / cards[at]);
      if (members[at] === variable) code = own;
      else fits = allowed.get(members[at]).includes(own);
    }
    if (fits) counts[code] += number;
  }
  return counts;
}

/** By how many standard errors a share of rows is away from a probability: the root of the deviance. */
function errorsApart(probability, share, n) {
  const term = (q, p) => (q > 0 ? q * Math.log(q / p) : 0);
  const deviance = 2 * n * (term(share, probability) + term(1 - share, 1 - probability));
  return Math.sqrt(Math.max(0, deviance));
}

/** Probabilities that are free to differ: two of them sum to 1. */
const freeFigures = (card) => (card === 2 ? 1 : card);

/** The standard errors that chance alone exceeds in none of some figures. */
function limitOf(figures) {
  const { limits } = countedRows();
  return limits[Math.min(Math.ceil(Math.log2(Math.max(1, figures))), limits.length - 1)];
}

/**
 * The rows next to the answers about some columns: by column the number `n` of rows and their `shares`, and the figures
 * that are off by more than chance, the farthest first. Null where the rows are unknown.
 */
function rowsNextTo(variables, marginals, findings) {
  const rows = countedRows();
  if (!rows || !marginals) return null;
  const allowed = allowedCodes(findings);
  const columns = new Map();
  const compared = [];
  for (const variable of variables) {
    const counts = matchedRows(variable, allowed);
    if (!counts) continue;
    const n = counts.reduce((sum, number) => sum + number, 0);
    const shares = n ? counts.map((number) => number / n) : null;
    columns.set(variable, { n, shares });
    const hasGaps = [variable, ...allowed.keys()].some((member) => rows.gaps.includes(member));
    if (!shares || hasGaps || n * rows.evidence < rows.least) continue;
    for (const [code, share] of shares.entries()) {
      const probability = marginals[variable][code];
      const away = errorsApart(probability, share, n * rows.evidence);
      compared.push({ variable, code, probability, share, n, away });
    }
  }
  const figures = [...new Set(compared.map(({ variable }) => variable))].reduce(
    (sum, variable) => sum + freeFigures(binCount(network(), variable)),
    0,
  );
  const limit = limitOf(figures);
  const off = compared.filter(({ away }) => away > limit).sort((a, b) => b.away - a.away);
  return { columns, off };
}

/** A number of rows as text; those that count by weight need not be whole. */
const rowsText = (n) => Math.round(n).toLocaleString("en");

/** A figure of the network next to that of the rows. */
function figureText({ variable, code, probability, share, n }) {
  const text = stateText(variable, binTexts(network(), variable)[code]);
  const { name } = model.data.variables[variable];
  return `${name} ${text}: network ${finePercent(probability)}, rows ${finePercent(share)} of ${rowsText(n)}`;
}

/** The findings that a difference comes from: one of two where it differs alone, otherwise all. */
function culpritsOf(variable, findings) {
  const keys = [...findings.keys()];
  if (keys.length !== 2 || answers.waits) return keys;
  // the answer without the other finding
  const alone = keys.filter((key, at) => {
    const { marginals } = answers.alone[1 - at] ?? {};
    return rowsNextTo([variable], marginals, new Map([[key, findings.get(key)]]))?.off.length;
  });
  return alone.length ? alone.slice(0, 1) : keys;
}

/** Which missing edge, or which findings together, the rows point to. */
function offText(variable, findings) {
  const { name } = model.data.variables[variable];
  const arcs = model.edges[view.selected];
  const isJoined = (other) => arcs.has(arcKey(other, variable)) || arcs.has(arcKey(variable, other));
  const nameOf = (other) => model.data.variables[other].name;
  const culprits = culpritsOf(variable, findings);
  const apart = culprits.find((other) => !isJoined(other));
  const without = apart === undefined ? "" : `which has no edge between ${nameOf(apart)} and ${name}`;
  if (without && culprits.length === 1) return `The rows know more than this network, ${without}.`;
  const together = culprits.length > 1 ? " together" : "";
  const given = culprits.length ? `, given ${culprits.map(nameOf).join(" and ")}${together}` : "";
  const missing = without ? ` They know more than this network, ${without}.` : "";
  return `The rows differ from this network by more than chance${given}.${missing}`;
}

/** The rows next to the answers about some columns, in words. */
function rowsWords(next, findings) {
  // of a large front these alone have counts
  if (!next)
    return model.data.rows && !countedRows()
      ? "Rows stand next to the answers of the networks that have a button."
      : "";
  if (!next.columns.size) {
    const many = findings.size > 2 ? "more than two findings" : "these findings";
    return `The page has no counts of rows with ${many}; query in Python and gomea-bn query --data have.`;
  }
  if (!next.off.length) return "Behind each percentage: the share of the rows that have the evidence.";
  const [farthest] = next.off;
  const others = [...new Set(next.off.map(({ variable }) => variable))].filter(
    (variable) => variable !== farthest.variable,
  );
  const names = others.map((variable) => model.data.variables[variable].name);
  const listed =
    names.length > 5 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
  const further = names.length ? ` Other columns that are off: ${listed}.` : "";
  return `${figureText(farthest)}. ${offText(farthest.variable, findings)}${further}`;
}
