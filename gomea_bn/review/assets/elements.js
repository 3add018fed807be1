// Elements and texts. Data enter the page only as text nodes or as values of attributes.

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

/** Sets the class of an element where it differs, since every write makes the browser compute styles. */
function setClass(element, name) {
  if (element.getAttribute("class") !== name) element.setAttribute("class", name);
}

/** A name from the data, isolated from the writing direction of the text around it. */
const named = (text) => make("bdi", { dir: "auto" }, text);

/** The element with the share that its bar shows; the page's policy forbids style attributes, but not this call. */
function withShare(element, share) {
  element.style.setProperty("--share", share);
  return element;
}

const ruler = document.createElement("canvas").getContext("2d");

/** The text, or the longest beginning that fits the width, with an ellipsis. */
function fitted(text, width, font) {
  ruler.font = font;
  const letters = Array.from(text.slice(0, 400).replace(/\s+/g, " "));
  const whole = letters.join("");
  if (whole.length >= text.trim().length && ruler.measureText(whole).width <= width) return whole;
  const cut = (length) => `${letters.slice(0, length).join("")}…`;
  let length = letters.length;
  while (length > 1 && ruler.measureText(cut(length)).width > width) length -= 1;
  return cut(length);
}

/** Number of decimals that distinguish values over a range of this length. */
function decimalsFor(span) {
  if (!(span > 0)) return 3;
  return Math.min(10, Math.max(0, 2 - Math.floor(Math.log10(span))));
}

/** Number of significant digits, from 4 to 17, that distinguish values over a range far from 0. */
function digitsFor(low, high) {
  const ratio = Math.max(Math.abs(low), Math.abs(high)) / (high - low);
  return ratio >= 1 && ratio < Infinity ? Math.min(17, 4 + Math.floor(Math.log10(ratio))) : 4;
}

/** A number with a number of significant digits, without zeros at the end of its decimals. */
function significant(value, digits) {
  const [, decimals = ""] = String(Number(value.toPrecision(digits))).split(".");
  return shown(value, decimals.includes("e") ? digits : Math.min(20, decimals.length), digits);
}

// by number of decimals; a format is costly to make
const formats = new Map();

function formatOf(decimals) {
  if (!formats.has(decimals))
    formats.set(
      decimals,
      new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
    );
  return formats.get(decimals);
}

/** A number as text with fixed decimals; very large and very small ones with `digits` and a power of ten. */
function shown(value, decimals, digits = 4) {
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 0.5 * 10 ** -Math.max(decimals, 6)))
    return value.toPrecision(digits);
  const text = formatOf(decimals).format(value);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** A number with its noun, for example "1 edge" or "2,000 edges". */
function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

/** Round values inside an interval, about `number` of them, and at least three where steps of a half would give them. */
function roundTicks(low, high, number) {
  const rough = (high - low) / number;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const factors = [0.5, 1, 2, 5, 10];
  const at = factors.findIndex((factor) => factor * power >= rough);
  const ticks = multiplesOf(factors[at] * power, low, high);
  return ticks.length < 3 && at > 0 ? multiplesOf(factors[at - 1] * power, low, high) : ticks;
}

/** The multiples of a number inside an interval. */
function multiplesOf(stride, low, high) {
  const multiples = [];
  for (let k = Math.ceil(low / stride); k * stride <= high + stride * 1e-9; k += 1)
    multiples.push(k * stride);
  return multiples;
}

/** Announces a change to users of a screen reader. */
function announce(text) {
  byId("live").textContent = text;
}

/** Offers a file for download. */
function download(file, name) {
  const link = make("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  announce(`Saved ${name}.`);
}
