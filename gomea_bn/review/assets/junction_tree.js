// Exact inference: a junction tree over the variables without a single known value. Runs in a worker, without the page.
// A network is { cards, families }: numbers of bins or levels, and per variable its parents `p` and its table `t`, a
// Float64Array in which the variable itself varies fastest and then the last parent.

/** Largest number of cells of a tree: 64 MB. */
const MOST_CELLS = 2 ** 23;

const cellsOf = (scope, cards) => scope.reduce((product, variable) => product * cards[variable], 1);

/** For every variable of a table its stride, in C order. */
function stridesOf(scope, cards) {
  const strides = new Map();
  let stride = 1;
  for (const variable of [...scope].reverse()) {
    strides.set(variable, stride);
    stride *= cards[variable];
  }
  return strides;
}

/** For every cell of a table over `scope`, its position in a table with these strides. */
function positionsIn(scope, cards, strides) {
  const positions = new Int32Array(cellsOf(scope, cards));
  let length = 1;
  for (const variable of [...scope].reverse()) {
    const stride = strides.get(variable) ?? 0;
    for (let code = 1; code < cards[variable]; code += 1)
      for (let cell = 0; cell < length; cell += 1)
        positions[code * length + cell] = positions[cell] + code * stride;
    length *= cards[variable];
  }
  return positions;
}

// ---- the tree

/** The families without their known variables. */
const openScopes = (families, known) =>
  families.map(({ p }, child) => [...p, child].filter((variable) => known[variable] < 0));

/** For every variable the set of those with which it shares a family. */
function moralGraph(scopes) {
  const neighbours = scopes.map(() => new Set());
  for (const scope of scopes) for (const a of scope) for (const b of scope) if (a !== b) neighbours[a].add(b);
  return neighbours;
}

/** Number of edges that the elimination of a variable adds. */
function fillOf(variable, neighbours) {
  const around = [...neighbours[variable]];
  let missing = 0;
  around.forEach((a, at) => {
    for (let other = at + 1; other < around.length; other += 1)
      if (!neighbours[a].has(around[other])) missing += 1;
  });
  return missing;
}

/** The cliques of a greedy elimination: at each step the variable of least cost, with its neighbours. */
function eliminated(variables, scopes, cards, costOf) {
  const neighbours = moralGraph(scopes);
  const left = new Set(variables);
  const costs = new Map();
  const cliques = [];
  while (left.size) {
    let [best, least] = [-1, Infinity];
    for (const variable of left) {
      if (!costs.has(variable)) costs.set(variable, costOf(variable, neighbours, cards));
      if (costs.get(variable) < least) [best, least] = [variable, costs.get(variable)];
    }
    const around = [...neighbours[best]];
    cliques.push({ variable: best, scope: [best, ...around] });
    left.delete(best);
    for (const a of around) {
      neighbours[a].delete(best);
      for (const b of around) if (a !== b) neighbours[a].add(b);
    }
    // a new edge changes the fill of all common neighbours of its ends
    for (const a of around) {
      costs.delete(a);
      for (const b of neighbours[a]) costs.delete(b);
    }
  }
  return cliques;
}

const weightOf = (variable, neighbours, cards) => cellsOf([variable, ...neighbours[variable]], cards);

/** Costs of eliminating a variable; the order with the smaller tree is used. */
const COSTS = [
  // Kjaerulff (1990): fewest new edges, then the smallest table
  (variable, neighbours, cards) =>
    fillOf(variable, neighbours) + 1 - 1 / (1 + weightOf(variable, neighbours, cards)),
  weightOf,
];

/**
 * The junction tree of the unknown variables: cliques in an order in which parents precede their children.
 * A clique has its `scope`, the position of its `parent` (-1 for a root), and the `separator` they share.
 * `home` is the clique that holds a variable's family. The cliques are null where the tables would be too large.
 */
function treeOf(network, known) {
  const { cards, families } = network;
  const scopes = openScopes(families, known);
  const variables = cards.map((_, variable) => variable).filter((variable) => known[variable] < 0);
  const orders = COSTS.map((costOf) => eliminated(variables, scopes, cards, costOf));
  const sizes = orders.map((cliques) => cliques.reduce((sum, { scope }) => sum + cellsOf(scope, cards), 0));
  const cliques = orders[sizes.indexOf(Math.min(...sizes))];
  const tree = joined(cliques);
  const cells = tree.cliques.reduce((sum, { scope }) => sum + cellsOf(scope, cards), 0);
  if (cells > MOST_CELLS) return { cells, cliques: null };
  // a family lies in the clique of the member that was eliminated first
  const home = scopes.map((scope) =>
    scope.length
      ? tree.cliqueOf.get(scope.reduce((a, b) => (tree.order.get(a) < tree.order.get(b) ? a : b)))
      : -1,
  );
  return { cells, cliques: tree.cliques, home, scopes };
}

/** The tree of the cliques of an elimination, without cliques that are part of another. */
function joined(eliminations) {
  const order = new Map(eliminations.map(({ variable }, at) => [variable, at]));
  const above = eliminations.map(({ scope }) =>
    scope.length > 1 ? Math.min(...scope.slice(1).map((variable) => order.get(variable))) : -1,
  );
  // the elimination whose clique contains that of this one
  const host = eliminations.map((_, at) => at);
  const top = host.slice();
  above.forEach((next, at) => {
    // the next clique contains this one without its variable, so it is that set if the sizes agree
    const isPart = next >= 0 && eliminations[next].scope.length === eliminations[at].scope.length - 1;
    if (!isPart || host[next] !== next) return;
    host[next] = host[at];
    top[host[at]] = next;
  });
  const children = new Map();
  host.forEach((of, at) => {
    if (of !== at) return;
    const next = above[top[at]];
    const parent = next < 0 ? -1 : host[next];
    children.set(parent, [...(children.get(parent) ?? []), at]);
  });
  const cliques = [];
  const positionOf = new Map([[-1, -1]]);
  const waiting = [[-1, -1]];
  while (waiting.length) {
    const [at, parent] = waiting.pop();
    if (at >= 0) {
      const { scope } = eliminations[at];
      const shared = parent < 0 ? [] : scope.filter((variable) => cliques[parent].scope.includes(variable));
      positionOf.set(at, cliques.length);
      cliques.push({ scope, parent, separator: shared });
    }
    for (const child of children.get(at) ?? []) waiting.push([child, positionOf.get(at)]);
  }
  const cliqueOf = new Map(eliminations.map(({ variable }, at) => [variable, positionOf.get(host[at])]));
  return { cliques, order, cliqueOf };
}

// ---- an answer

/** Multiplies a table by another, at these positions from a start on. */
function multiply(table, positions, factor, start = 0) {
  for (let cell = 0; cell < table.length; cell += 1) table[cell] *= factor[start + positions[cell]];
}

/** The sums of a table over the cells with the same position. */
function summed(table, positions, length) {
  const sums = new Float64Array(length);
  for (let cell = 0; cell < table.length; cell += 1) sums[positions[cell]] += table[cell];
  return sums;
}

/** Divides a table by its sum, and returns that sum. */
function normalised(table) {
  let total = 0;
  for (const value of table) total += value;
  if (total > 0) for (let cell = 0; cell < table.length; cell += 1) table[cell] /= total;
  return total;
}

/** The product of the families and weights in every clique, and the log probability of families without unknowns. */
function potentials(network, known, weights, tree) {
  const { cards, families } = network;
  const tables = tree.cliques.map(({ scope }) => new Float64Array(cellsOf(scope, cards)).fill(1));
  let log = 0;
  families.forEach(({ p, t }, child) => {
    const strides = stridesOf([...p, child], cards);
    let start = 0;
    for (const [variable, stride] of strides) if (known[variable] >= 0) start += known[variable] * stride;
    const home = tree.home[child];
    if (home < 0) log += Math.log(t[start]);
    else multiply(tables[home], positionsIn(tree.cliques[home].scope, cards, strides), t, start);
  });
  for (const [variable, values] of weights) {
    const home = tree.home[variable];
    multiply(tables[home], positionsIn(tree.cliques[home].scope, cards, new Map([[variable, 1]])), values);
  }
  return { tables, log };
}

/** The answer by sums over all cases, or by drawn cases where the tables would be too large; see `sampled`. */
function answer(network, known, weights) {
  const tree = treeOf(network, known);
  return tree.cliques
    ? summedUp(network, known, weights, tree)
    : sampled(network, known, weights, tree.cells);
}

/**
 * P(variable | evidence) for every variable, and the log probability of the evidence.
 * `known` has a code per variable, -1 for an unknown one; `weights` maps unknown variables to likelihoods of their
 * bins or levels. The marginals are null if the evidence is impossible, and `cells` says how large the tables are.
 */
function summedUp(network, known, weights, tree) {
  const { cards } = network;
  const { cliques } = tree;
  const { tables, log: start } = potentials(network, known, weights, tree);
  let log = start;
  const separators = cliques.map(({ separator }) => stridesOf(separator, cards));
  const sizes = cliques.map(({ separator }) => cellsOf(separator, cards));
  const messages = [];
  for (let at = cliques.length - 1; at >= 0; at -= 1) {
    const { scope, parent } = cliques[at];
    log += Math.log(normalised(tables[at]));
    if (parent < 0) continue;
    messages[at] = summed(tables[at], positionsIn(scope, cards, separators[at]), sizes[at]);
    multiply(tables[parent], positionsIn(cliques[parent].scope, cards, separators[at]), messages[at]);
  }
  if (log === -Infinity) return { cells: tree.cells, marginals: null, log };
  cliques.forEach(({ scope, parent }, at) => {
    if (parent < 0) return;
    const outside = positionsIn(cliques[parent].scope, cards, separators[at]);
    const ratios = summed(tables[parent], outside, sizes[at]);
    // where the message is 0, so is the table
    messages[at].forEach((value, cell) => {
      ratios[cell] = value > 0 ? ratios[cell] / value : 0;
    });
    multiply(tables[at], positionsIn(scope, cards, separators[at]), ratios);
  });
  return { cells: tree.cells, marginals: marginalsOf(cards, known, tree, tables), log };
}

function marginalsOf(cards, known, tree, tables) {
  return cards.map((card, variable) => {
    const marginal = new Float64Array(card);
    if (known[variable] >= 0) {
      marginal[known[variable]] = 1;
      return marginal;
    }
    const home = tree.home[variable];
    const positions = positionsIn(tree.cliques[home].scope, cards, new Map([[variable, 1]]));
    const sums = summed(tables[home], positions, card);
    normalised(sums);
    return sums;
  });
}
