import assert from "node:assert/strict";
import { test } from "node:test";

import { parse, stringify } from "./json.js";

test("no number loses a digit", () => {
  for (const text of [
    '{"a":9007199254740993,"b":[-9223372036854775808,18446744073709551615],"c":1.5}',
    '["9007199254740993","an integer:1","integer:12345678901234567890",12345678901234567890]',
    '{"9007199254740993":9007199254740993}',
    '["\\"12345678901234567890",0.12345678901234566,1.7976931348623157e+308,5e-324]',
    "9007199254740991",
    '{"\\u0000":"12345678901234567"}',
    "[1.5166948122082718e+19,-3.585328256939859e+17,1e+21]",
  ]) {
    assert.equal(stringify(parse(text)), text);
  }
});

test("only integers that would change become BigInts", () => {
  assert.deepEqual(parse("[1,9007199254740991,9007199254740992,1e300]"), [1, 9007199254740991, 9007199254740992n, 1e300]);
  assert.equal(stringify({ a: undefined, b: 1n, c: new Date(0) }), '{"b":1,"c":"1970-01-01T00:00:00.000Z"}');
  assert.throws(() => parse('{"a":12345678901234567890,}'), SyntaxError);
  assert.throws(() => parse("012345678901234567"), SyntaxError);
});

test("a number that JSON does not have is a fault", () => {
  for (const number of [Infinity, -Infinity, NaN, parse("1e400")]) {
    assert.throws(() => stringify({ size: [number] }), { name: "RangeError", message: `\`0\` is ${number}, which is no number of JSON` });
  }
});
