// The worker's side of the talk with the page: it keeps the network of the last message that has one. A message has
// "questions", whose answers are all distributions, or "insight" or "draws" about one column; see insight.js.

let network = null;

self.addEventListener("message", ({ data }) => {
  if (data.network) network = data.network;
  const { ticket } = data;
  const start = performance.now();
  try {
    if (data.insight) postMessage({ ticket, insight: insight(network, data.insight) });
    else if (data.draws) postMessage({ ticket, draws: draws(network, data.draws) });
    else {
      const answers = data.questions.map(({ known, weights }) => answer(network, known, weights));
      postMessage({ ticket, answers, milliseconds: performance.now() - start });
    }
  } catch (error) {
    // an allocation of tables can fail where memory is short
    postMessage({ ticket, error: String(error) });
  }
});
