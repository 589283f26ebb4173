// Stack traces with the places of the author's files instead of those of the bundle. The build puts the source map
// into the component, because the engine reads none. This module needs no WebAssembly.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The numbers of a segment of `mappings`: base 64, five bits a digit, least significant first, then the sign. */
function numbers(segment) {
  const all = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    all.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return all;
}

/**
 * A text in which places of `file` are replaced by those that its source map names. Lines about the generated
 * bindings are left out.
 */
export function traced(text, { file, sources, mappings }) {
  const place = new RegExp(`${file.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}:(\\d+):(\\d+)`, "g");
  const wanted = new Map();
  for (const [, line, column] of text.matchAll(place)) {
    wanted.set(Number(line), (wanted.get(Number(line)) ?? new Map()).set(Number(column), undefined));
  }
  const last = Math.max(0, ...wanted.keys());
  let [source, row, column] = [0, 0, 0];
  mappings.split(";", last).forEach((segments, index) => {
    const columns = wanted.get(index + 1);
    let start = 0;
    for (const segment of segments.split(",")) {
      const [step, toSource, toRow, toColumn] = numbers(segment);
      if (step === undefined) continue;
      start += step;
      if (toSource === undefined) continue;
      source += toSource;
      row += toRow;
      column += toColumn;
      for (const at of columns?.keys() ?? []) {
        if (start < at) columns.set(at, `${sources[source]}:${row + 1}:${column + 1}`);
      }
    }
  });
  return text
    .replace(place, (whole, line, column) => wanted.get(Number(line)).get(Number(column)) ?? whole)
    .split("\n")
    .filter((line) => !/@\/.*\/sources\/initializer\.js:\d/.test(line))
    .join("\n");
}
