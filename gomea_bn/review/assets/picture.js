// The drawing as a file: SVG, or PNG with three pixels per unit.

// attributes of SVG that stand for the style sheet in the file
const DRAWN_STYLES = [
  "display",
  "fill",
  "fill-opacity",
  "font-family",
  "font-size",
  "font-weight",
  "opacity",
  "paint-order",
  "stroke",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-opacity",
  "stroke-width",
];
const PICTURE_SCALE = 3;
// larger canvases are empty in some browsers
const MOST_PIXELS = 8000;

function buildPicture() {
  byId("save-svg").addEventListener("click", saveSvg);
  byId("save-png").addEventListener("click", savePng);
}

const pictureName = (ending) =>
  isSingle() ? `network.${ending}` : `network_${idOf(view.selected)}.${ending}`;

/** The whole drawing as the text of an SVG file, which needs no style sheet. */
function pictureText() {
  const { width, height } = graph.drawing;
  const copy = byId("graph").cloneNode(true);
  const originals = byId("graph").querySelectorAll("*");
  const touched = [...copy.querySelectorAll(".touch")];
  copy.querySelectorAll("*").forEach((element, index) => {
    const styles = getComputedStyle(originals[index]);
    for (const name of DRAWN_STYLES) element.setAttribute(name, styles.getPropertyValue(name));
    element.removeAttribute("class");
    element.removeAttribute("tabindex");
  });
  for (const element of touched) element.remove();
  const paper = getComputedStyle(document.body).backgroundColor;
  copy.prepend(draw("rect", { width, height, fill: paper }));
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return new XMLSerializer().serializeToString(copy);
}

const pictureFile = () => new Blob([pictureText()], { type: "image/svg+xml" });

function saveSvg() {
  download(pictureFile(), pictureName("svg"));
}

function savePng() {
  const { width, height } = graph.drawing;
  const scale = Math.min(PICTURE_SCALE, MOST_PIXELS / Math.max(width, height));
  const image = new Image();
  const source = URL.createObjectURL(pictureFile());
  const refuse = () => announce("This browser cannot turn the drawing into a PNG file.");
  image.addEventListener("error", () => {
    URL.revokeObjectURL(source);
    refuse();
  });
  image.addEventListener("load", () => {
    const canvas = make("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(source);
    // browsers refuse canvases above sizes of their own
    canvas.toBlob((file) => (file ? download(file, pictureName("png")) : refuse()), "image/png");
  });
  image.src = source;
}
