// What an answer about one column, the target, rests on. Runs in the worker, on `answer` of the junction tree.

/**
 * The distribution of a target given the findings, and what it rests on.
 * `alone`: the target's distributions under other questions, for findings that are left out and for scenarios.
 * `columns`: per unknown column its distribution `shares`, the `joint` distribution with the target (the column varies
 * fastest), and `bits`: the mutual information given the findings, by which knowing the column reduces the entropy of
 * the target on average. It is null for the target and for known columns.
 */
function insight(network, { target, known, weights, questions }) {
  const now = answer(network, known, weights);
  const alone = questions.map((question) => {
    const { log, marginals } = answer(network, question.known, question.weights);
    return { log, share: marginals?.[target] ?? null };
  });
  if (!now.marginals) return { log: now.log, share: null, alone, columns: null };
  const share = now.marginals[target];
  if (known[target] >= 0) return { log: now.log, share, alone, columns: null };
  const others = weights.filter(([variable]) => variable !== target);
  const given = Array.from(share, (chance, code) => {
    if (chance === 0) return null;
    const stated = known.slice();
    stated[target] = code;
    return answer(network, stated, others).marginals;
  });
  const columns = network.cards.map((card, column) => {
    if (column === target || known[column] >= 0) return null;
    const joint = new Float64Array(share.length * card);
    given.forEach((marginals, code) => {
      for (let state = 0; marginals && state < card; state += 1)
        joint[code * card + state] = share[code] * marginals[column][state];
    });
    return { shares: now.marginals[column], joint, bits: informationOf(joint, share, now.marginals[column]) };
  });
  return { log: now.log, share, alone, columns };
}

/** Mutual information in bits of two columns with this joint distribution and these marginals. */
function informationOf(joint, rows, columns) {
  let bits = 0;
  joint.forEach((chance, cell) => {
    const product = rows[Math.floor(cell / columns.length)] * columns[cell % columns.length];
    if (chance > 0) bits += chance * Math.log2(chance / product);
  });
  return Math.max(0, bits);
}

// ---- how sure an answer is, given the number of rows

/** The logarithm of a draw from a gamma distribution (Marsaglia and Tsang 2000), which may underflow itself. */
function logGamma(shape, uniform) {
  if (shape < 1) return logGamma(shape + 1, uniform) + Math.log(uniform()) / shape;
  const d = shape - 1 / 3;
  for (;;) {
    const normal = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
    const v = (1 + normal / Math.sqrt(9 * d)) ** 3;
    if (v > 0 && Math.log(uniform()) < normal ** 2 / 2 + d - d * v + d * Math.log(v)) return Math.log(d * v);
  }
}

/**
 * A table whose rows are drawn from Dirichlet distributions around the rows of another table. The weight of a row is
 * its number of rows of data plus 1; probabilities of 0 stay 0.
 */
function drawnTable(table, card, counts, uniform) {
  const drawn = new Float64Array(table.length);
  for (let start = 0; start < table.length; start += card) {
    const weight = counts[start / card] + 1;
    const logs = Array.from(table.subarray(start, start + card), (chance) =>
      chance > 0 ? logGamma(chance * weight, uniform) : -Infinity,
    );
    const most = Math.max(...logs);
    const sizes = logs.map((log) => Math.exp(log - most));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    sizes.forEach((size, code) => {
      drawn[start + code] = size / total;
    });
  }
  return drawn;
}

/** The target's distributions under drawn tables; draws under which the findings are impossible are left out. */
function draws(network, { target, known, weights, counts, number }) {
  const uniform = uniforms(1);
  const shares = [];
  for (let draw = 0; draw < number; draw += 1) {
    const families = network.families.map(({ p, t }, child) => ({
      p,
      t: drawnTable(t, network.cards[child], counts[child], uniform),
    }));
    const { marginals } = answer({ cards: network.cards, families }, known, weights);
    if (marginals) shares.push(marginals[target]);
  }
  return shares;
}
