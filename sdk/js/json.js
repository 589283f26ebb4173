// JSON with every digit. JavaScript's numbers hold integers exactly only up to 2^53 - 1, so a larger one is
// read as a `BigInt`, and a `BigInt` is written as a number. A larger number that is no `BigInt` is written with
// an exponent: `JSON.stringify` pads it with zeros, which makes it another integer.

const LONG = /\d{16}/;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** Reads JSON. */
export function parse(text) {
  if (!LONG.test(text)) return JSON.parse(text);
  // Faults are reported at their place in the original text.
  const plain = JSON.parse(text);
  const mark = unused(text);
  let any = false;
  const marked = text.replace(TOKEN, (token) => {
    if (token.length < 16 || !/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token))) return token;
    any = true;
    return `"${mark}${token}"`;
  });
  if (!any) return plain;
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Writes JSON, as `JSON.stringify` does, which would write `null` for a number that JSON does not have. */
export function stringify(value) {
  let any = false;
  const without = JSON.stringify(value, (name, item) => {
    if (typeof item === "number" && !Number.isFinite(item)) {
      throw new RangeError(`\`${name}\` is ${item}, which is no number of JSON`);
    }
    if (exact(item) === undefined) return item;
    any = true;
    return 0;
  });
  if (!any) return without;
  const mark = unused(without);
  const marked = JSON.stringify(value, (_, item) => {
    const number = exact(item);
    return number === undefined ? item : `${mark}${number}`;
  });
  return marked.replace(new RegExp(`"${mark}([-+.e\\d]+)"`, "g"), "$1");
}

/** A number that `JSON.stringify` does not write as it is. */
function exact(item) {
  if (typeof item === "bigint") return item.toString();
  return Number.isInteger(item) && !Number.isSafeInteger(item) ? item.toExponential() : undefined;
}

/** A text that does not occur in another. */
function unused(text) {
  let mark = "integer:";
  while (text.includes(mark)) mark = `an ${mark}`;
  return mark;
}
