// Elements and texts. What comes from the data enters the page as a text node or an attribute's value only.

const byId = (id) => document.getElementById(id);

function dressed(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function make(tag, attributes = {}, ...children) {
  return dressed(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A name from the data, kept apart from the direction of the text around it. */
const named = (text) => make("bdi", { dir: "auto" }, text);

/** The share of a cell or bar; the page's policy forbids style attributes, but not the object model. */
function withShare(element, share) {
  element.style.setProperty("--share", share);
  return element;
}

const ruler = document.createElement("canvas").getContext("2d");

/** The text, or as much of its beginning as fits the width, with an ellipsis. */
function fitted(text, width, font) {
  ruler.font = font;
  const letters = Array.from(text.slice(0, 400).replace(/\s+/g, " "));
  const whole = letters.join("");
  if (whole.length >= text.trim().length && ruler.measureText(whole).width <= width) return whole;
  let kept = letters.length;
  while (kept > 1 && ruler.measureText(letters.slice(0, kept).join("") + "…").width > width) kept -= 1;
  return letters.slice(0, kept).join("") + "…";
}

/** Decimals with which values over such a span can be told apart. */
function decimalsFor(span) {
  if (!(span > 0)) return 3;
  return Math.min(10, Math.max(0, 2 - Math.floor(Math.log10(span))));
}

/** A number for people: fixed decimals, powers of ten only where they are needed. */
function shown(value, decimals) {
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 0.5 * 10 ** -Math.max(decimals, 6))) return value.toPrecision(4);
  const text = value.toLocaleString("en", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

/** Three or four round values inside an interval. */
function roundTicks(low, high, wanted) {
  const rough = (high - low) / wanted;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const stride = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let tick = Math.ceil(low / stride) * stride; tick <= high + stride * 1e-9; tick += stride)
    ticks.push(tick);
  return ticks;
}

/** Says what changed to people who listen to the page. */
function announce(text) {
  byId("live").textContent = text;
}
