// What the user knows of columns: findings, their words, and how they fit the bins of a network.
// A finding is a "value" of a continuous column, or "ranges" of it that begin and end at cuts, or "levels" by position,
// or "likelihoods": a weight per bin between these cuts, or per level.
// It is stored in these terms, and not by bins, so that it can outlast a change of the network.

/** The first and last value of every bin; the end bins are open. */
function binEnds(candidate, variable) {
  const cuts = cutsOf(candidate, variable);
  return [...cuts, Infinity].map((high, code) => [code ? cuts[code - 1] : -Infinity, high]);
}

/** The positions of the bins or levels that a finding allows, null if the bins of the network do not fit it. */
function codesOf(finding, variable, candidate) {
  if (finding.kind === "levels") return finding.codes;
  if (finding.kind === "likelihoods") {
    if (finding.weights.length !== binCount(candidate, variable)) return null;
    if ((cutsOf(candidate, variable) ?? []).join() !== finding.cuts.join()) return null;
    return finding.weights.flatMap((weight, code) => (weight > 0 ? [code] : []));
  }
  if (finding.kind === "value")
    return [cutsOf(candidate, variable).filter((cut) => cut < finding.value).length];
  const ends = binEnds(candidate, variable);
  const codes = [];
  for (const [low, high] of finding.ranges) {
    const [first, last] = [ends.findIndex((bin) => bin[0] === low), ends.findIndex((bin) => bin[1] === high)];
    if (first < 0 || last < first) return null;
    for (let code = first; code <= last; code += 1) codes.push(code);
  }
  return codes;
}

/** The finding that a column lies in one of these bins or levels; neighbouring bins become one range. */
function findingOf(variable, codes) {
  const sorted = [...codes].sort((a, b) => a - b);
  if (!model.data.variables[variable].continuous) return { kind: "levels", codes: sorted };
  const ends = binEnds(network(), variable);
  const ranges = [];
  for (const [index, code] of sorted.entries()) {
    if (index && sorted[index - 1] === code - 1) ranges[ranges.length - 1][1] = ends[code][1];
    else ranges.push([...ends[code]]);
  }
  return { kind: "ranges", ranges };
}

/** Sets a bin or level as what is known of its column, or with `adds` adds it or takes it away. */
function pressBin(variable, code, adds) {
  const finding = view.findings.get(variable);
  const now = new Set(finding ? codesOf(finding, variable, network()) : []);
  const next = adds ? now : new Set();
  const isOn = now.has(code) && (adds || now.size === 1);
  if (isOn) next.delete(code);
  else next.add(code);
  const says = next.size > 0 && next.size < binCount(network(), variable);
  setFinding(variable, says ? findingOf(variable, next) : null);
}

function setFinding(variable, finding) {
  const findings = new Map(view.findings);
  if (finding) findings.set(variable, finding);
  else findings.delete(variable);
  change({ findings });
}

/** What a typed text says of a column: a finding, or an error in words. */
function readTyped(variable, text) {
  const { name, continuous, levels } = model.data.variables[variable];
  const code = continuous ? -1 : levels.indexOf(text);
  if (code >= 0) return { finding: { kind: "levels", codes: [code] } };
  const weights = text.split(/\s+/).map(Number);
  if (weights.length > 1 && weights.every(Number.isFinite)) return readLikelihoods(variable, weights);
  if (!continuous) {
    const some = levels.slice(0, 8).join(", ") + (levels.length > 8 ? ", …" : "");
    return { error: `${name} has the levels ${some}; “${text}” is none of them.` };
  }
  // a comma between digits may be a decimal or a thousands separator
  // the page prints minus signs (U+2212)
  const value = text === "" || text.includes(",") ? Number.NaN : Number(text.replaceAll("\u2212", "-"));
  if (!Number.isFinite(value)) return { error: `${name} needs a number such as 1.5; got “${text}”.` };
  return { finding: { kind: "value", value } };
}

/** Likelihoods that were typed: one per bin or level, in their order. */
function readLikelihoods(variable, weights) {
  const { name } = model.data.variables[variable];
  const card = binCount(network(), variable);
  if (weights.length !== card)
    return {
      error: `${name} has ${card} bins or levels, so it needs ${card} likelihoods; got ${weights.length}.`,
    };
  if (weights.some((weight) => weight < 0) || !weights.some((weight) => weight > 0))
    return { error: "Likelihoods must be at least 0, and one of them more than 0." };
  return { finding: { kind: "likelihoods", weights, cuts: cutsOf(network(), variable) ?? [] } };
}

// ---- words

/** A range in words, with the cuts as the cards show them. */
function rangeText(variable, [low, high]) {
  const cuts = cutsOf(network(), variable);
  const texts = cutTexts(variable, cuts);
  const digits = (value) => texts[cuts.indexOf(value)] ?? significant(value, 6);
  if (low === -Infinity) return `≤ ${digits(high)}`;
  return high === Infinity ? `> ${digits(low)}` : `${digits(low)} – ${digits(high)}`;
}

/** A finding in words without its column, for example "= male or female". */
function findingText(variable, finding) {
  if (finding.kind === "value") return `= ${significant(finding.value, 10)}`;
  if (finding.kind === "likelihoods")
    return `by likelihoods ${finding.weights.map((weight) => significant(weight, 4)).join(" : ")}`;
  if (finding.kind === "levels")
    return `= ${finding.codes.map((code) => model.data.variables[variable].levels[code]).join(" or ")}`;
  return finding.ranges.map((range) => rangeText(variable, range)).join(" or ");
}

/** A note on a typed value beyond the range of the data; null for others. */
function outsideText(variable, finding) {
  if (finding.kind !== "value") return null;
  const [low, high] = model.data.variables[variable].support;
  if (finding.value >= low && finding.value <= high) return null;
  const [least, most] = [low, high].map((end) => significant(end, 6));
  const name = model.data.variables[variable].name;
  return `${name} ${findingText(variable, finding)} lies outside ${least} to ${most} and counts as in the end bin.`;
}

// ---- the address

/** A finding as a text for the address. */
function findingCode(variable, finding) {
  const number = (value) => (Number.isFinite(value) ? String(value) : "");
  const text = {
    value: () => String(finding.value),
    levels: () => finding.codes.join(","),
    ranges: () => finding.ranges.map((range) => range.map(number).join("~")).join(","),
    likelihoods: () => `${finding.weights.join(",")}~${finding.cuts.join(",")}`,
  }[finding.kind]();
  return `${variable}:${finding.kind}:${text}`;
}

/** The findings of texts from the address; those that do not fit these data are left out. */
function recalledFindings(texts) {
  const findings = new Map();
  for (const text of texts) {
    const [key, kind, body = ""] = text.split(":");
    const variable = key === "" ? -1 : Number(key);
    const column = model.data.variables[variable];
    if (!column || (column.continuous && kind === "levels")) continue;
    if (!column.continuous && !["levels", "likelihoods"].includes(kind)) continue;
    const finding = recalledFinding(kind, body, column);
    if (finding) findings.set(variable, finding);
  }
  return findings;
}

function recalledFinding(kind, body, column) {
  if (body === "") return null;
  if (kind === "value") return Number.isFinite(Number(body)) ? { kind, value: Number(body) } : null;
  if (kind === "levels") {
    const codes = [...new Set(body.split(",").map(Number))].sort((a, b) => a - b);
    const fits = codes.every((code) => Number.isInteger(code) && code >= 0 && code < column.levels.length);
    return fits && codes.length < column.levels.length ? { kind, codes } : null;
  }
  if (kind === "likelihoods") {
    const [weights, cuts] = body.split("~").map((part) => part.split(",").filter(Boolean).map(Number));
    const fits = weights.every((weight) => weight >= 0) && weights.some((weight) => weight > 0) && cuts;
    return fits ? { kind, weights, cuts } : null;
  }
  if (kind !== "ranges") return null;
  const ranges = body.split(",").map((range) => {
    const [low = "", high = ""] = range.split("~");
    return [low === "" ? -Infinity : Number(low), high === "" ? Infinity : Number(high)];
  });
  return ranges.every(([low, high]) => low < high) ? { kind, ranges } : null;
}
