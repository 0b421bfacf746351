// Colours of the page, light or dark, and what every figure shares.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const isDark = () => dark.matches && !printing;
// The page's own print style is not in force yet when a figure is redrawn for it.
const onPaper = { ink: "#000000", soft: "#444444", line: "#bbbbbb", accent: "#005f99", chosen: "#b54708", none: "#e3e5e8" };

function colour(name) {
  if (printing) return onPaper[name];
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// On a dark page the palette is mixed with white, so that its darker colours are seen.
function clusterColour(number) {
  const hex = page.colours[number % page.colours.length];
  if (!isDark()) return hex;
  const channels = [1, 3, 5].map((i) => Math.round(0.75 * parseInt(hex.slice(i, i + 2), 16) + 0.25 * 255));
  return "rgb(" + channels.join(",") + ")";
}

function scaleOfBlues() {
  const blues = ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"];
  const night = ["#14181d", "#143a5c", "#2171b5", "#6baed6", "#f7fbff"];
  return (isDark() ? night : blues).map((c, i) => [i / 4, c]);
}

function axis(title, more) {
  return {
    title: { text: title, font: { size: 13 }, standoff: 8 }, color: colour("soft"), gridcolor: colour("line"),
    zeroline: false, automargin: true, fixedrange: true, ...more,
  };
}

function layoutOf(more) {
  return {
    margin: { l: 50, r: 12, t: 10, b: 42 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colour("ink") },
    hoverlabel: { font: { size: 12 } }, showlegend: false, dragmode: false, ...more,
  };
}

const config = { displayModeBar: false, responsive: true };

// Text for a figure's own small markup: nothing in it is a tag.
function plain(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
