// The worker's side of the talk with the page: it keeps the network of the last "network" and answers each "question".

let network = null;

self.addEventListener("message", ({ data }) => {
  if (data.network) network = data.network;
  const { ticket, questions } = data;
  const start = performance.now();
  try {
    const answers = questions.map(({ known, weights }) => answer(network, known, weights));
    postMessage({ ticket, answers, milliseconds: performance.now() - start });
  } catch (error) {
    // an allocation of tables can fail where memory is short
    postMessage({ ticket, error: String(error) });
  }
});
