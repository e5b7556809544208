"use strict";

// Elements of lanes: fitted texts, ticks, patterns and boxes.

/** Returns the width in pixels of a text in the timeline; `strong`: bold, as on chips of the cycle. */
const measureText = (() => {
  const known = [new Map(), new Map()];
  let context = null;
  return (text, strong = false) => {
    const widths = known[strong ? 1 : 0];
    if (!widths.has(text)) {
      if (!context) context = document.createElement("canvas").getContext("2d");
      context.font = `${strong ? "600 " : ""}11px system-ui, sans-serif`;
      widths.set(text, context.measureText(text).width);
    }
    return widths.get(text);
  };
})();

/** Cuts `text` to `width` pixels, with an ellipsis; "" if too little of the text fits. */
function fitText(text, width, strong = false) {
  if (measureText(text, strong) <= width) return text;
  for (let end = text.length - 1; end >= 2; --end) {
    const cut = `${text.slice(0, end)}\u2026`;
    if (measureText(cut, strong) <= width) return cut;
  }
  return "";
}

/** Returns a round distance of ticks (1, 2 or 5 times a power of ten) that gives at most `most`
    ticks. */
function tickStep(length, most) {
  let step = 1;
  for (let i = 0; length / step > most; ++i) step *= i % 3 === 1 ? 2.5 : 2;
  return step;
}

const PATTERNS = `
  <pattern id="p-rows" width="4" height="4" patternUnits="userSpaceOnUse"><path d="M0 2H4"/></pattern>
  <pattern id="p-columns" width="4" height="4" patternUnits="userSpaceOnUse"><path d="M2 0V4"/></pattern>
  <pattern id="p-dots" width="5" height="5" patternUnits="userSpaceOnUse"><circle cx="2.5" cy="2.5" r="1"/></pattern>
  <pattern id="p-grid" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 2.5H5M2.5 0V5"/></pattern>
  <pattern id="p-slant" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M-1 6L6 -1M-1 1L1 -1M4 6L6 4"/></pattern>
  <pattern id="p-dashes" width="8" height="6" patternUnits="userSpaceOnUse"><path d="M0 2H4M4 5H8"/></pattern>
  <pattern id="p-cross" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 0L6 6M6 0L0 6"/></pattern>
  <pattern id="p-wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 3H6"/></pattern>
  <pattern id="p-rest" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 4H8"/></pattern>
  <marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z"/></marker>`;

/** Returns the CSS class of a kind of work; chunks have their own colors. */
function kindClass(kind, shade) {
  return shade > 0 ? `k-${kind} s-${shade}` : `k-${kind}`;
}

function kindRect(kind, x, y, width, height, more = "", shade = 0) {
  const pattern = KINDS[kind];
  const overlay = pattern && width >= 6
    ? `<rect class="overlay" x="${x}" y="${y}" width="${width}" height="${height}" fill="url(#p-${pattern})"/>`
    : "";
  const thin = width < 4 ? " thin" : "";  // an outline would hide the color
  return `<rect class="slice ${kindClass(kind, shade)}${thin}" x="${x}" y="${y}" width="${width}" height="${height}" ${more}/>${overlay}`;
}
