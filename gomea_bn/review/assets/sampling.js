// Answers from drawn cases, for networks whose junction tree is too large. Runs in the worker.

const N_SAMPLED = 20_000;

/** Pseudorandom numbers in (0, 1), the same for the same seed (mulberry32). */
function uniforms(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

/** The variables in an order in which parents precede their children. */
function parentsFirst(families) {
  const order = [];
  const placed = new Set();
  const place = (variable) => {
    if (placed.has(variable)) return;
    placed.add(variable);
    families[variable].p.forEach(place);
    order.push(variable);
  };
  families.forEach((_, variable) => {
    place(variable);
  });
  return order;
}

/**
 * The answer from cases that are drawn and weighted by the evidence (likelihood weighting: Fung & Chang 1990), as
 * that of the junction tree. `agreeing` is the number of cases without weights that would be as accurate, 0 if no case
 * agrees with the evidence.
 */
function sampled({ cards, families }, known, weights, cells) {
  const order = parentsFirst(families);
  const uniform = uniforms(1);
  const likelihoods = new Map(weights);
  const codes = new Int32Array(cards.length);
  const marginals = cards.map((card) => new Float64Array(card));
  let [total, squares] = [0, 0];
  for (let draw = 0; draw < N_SAMPLED; draw += 1) {
    let weight = 1;
    for (const variable of order) {
      const { p, t } = families[variable];
      let start = 0;
      for (const parent of p) start = start * cards[parent] + codes[parent];
      start *= cards[variable];
      let code = known[variable];
      if (code >= 0) weight *= t[start + code];
      else {
        let left = uniform();
        for (code = 0; code < cards[variable] - 1 && left >= t[start + code]; code += 1)
          left -= t[start + code];
        weight *= likelihoods.get(variable)?.[code] ?? 1;
      }
      codes[variable] = code;
    }
    total += weight;
    squares += weight * weight;
    codes.forEach((code, variable) => {
      marginals[variable][code] += weight;
    });
  }
  if (!(total > 0)) return { cells, marginals: null, log: -Infinity, drawn: N_SAMPLED, agreeing: 0 };
  for (const marginal of marginals) normalised(marginal);
  const log = Math.log(total / N_SAMPLED);
  return { cells, marginals, log, drawn: N_SAMPLED, agreeing: (total * total) / squares };
}
