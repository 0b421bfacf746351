// The numbers of the page: arrays come as base64 and are unpacked when they are first needed.
const page = JSON.parse(document.getElementById("data").textContent);
const kinds = {
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, int32: Int32Array, float32: Float32Array,
};

function unpack(packed) {
  if (!packed.array) {
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    packed.array = new kinds[packed.kind](bytes.buffer);
    delete packed.data;
  }
  return packed.array;
}

const order = unpack(page.order);

// The label of an item at a step is a column of its memberships; its number is what is shown.
function numberOf(step, item) {
  return step.numbers[unpack(step.labels)[item]];
}

// Of each item the few largest memberships are kept, that in its own cluster first.
function membershipOf(step, item) {
  return unpack(step.memberships)[item * step.width] / 255;
}

// A loss that is not finite came as null.
function lossText(step) {
  return step.loss === null ? "not finite" : step.loss.toPrecision(4);
}

function sizesOf(step) {
  const sizes = new Map();
  const labels = unpack(step.labels);
  for (let i = 0; i < page.n; i++) {
    const number = step.numbers[labels[i]];
    sizes.set(number, (sizes.get(number) || 0) + 1);
  }
  return [...sizes].sort((a, b) => a[0] - b[0]);
}

function shortName(item, most = 40) {
  const letters = Array.from(page.names[item].slice(0, 4 * most));
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
}

const byId = (id) => document.getElementById(id);
