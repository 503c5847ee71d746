import * as fc from "fast-check";
import { expect, test } from "vitest";
import { aPayout } from "../testing/server.ts";
import { parseExactly, parsePlain } from "./json-body.ts";

const pieces = String.raw`reference|amount|__proto__|a|| |é|\\|\"|\u0061|:1e3|, 1.5|{|]`.split("|");
const texts = fc.array(fc.constantFrom(...pieces, "\ud800"), { maxLength: 3 });
const string = texts.map((parts) => `"${parts.join("")}"`);
const literals = "0|-0|1.0|1e2|1e400|1.00000000000000000001|9007199254740993|01|NaN".split("|");
const number = fc.oneof(
  fc.constantFrom(...literals, "9".repeat(400)),
  fc.double().map(String),
  fc.bigInt().map(String),
);
const space = fc.constantFrom("", "", " ", "\n\t", "\u00a0");
const { value } = fc.letrec<{ value: string }>((tie) => {
  const list = fc.array(fc.oneof({ maxDepth: 2 }, string, tie("value")), { maxLength: 3 });
  const pair = fc.tuple(space, string, space, fc.oneof({ maxDepth: 2 }, string, number, tie("value")), space);
  const pairs = fc.array(pair, { maxLength: 4 });
  return {
    value: fc.oneof(
      { maxDepth: 3 },
      {
        weight: 4,
        arbitrary: pairs.map((all) => `{${all.map(([a, k, b, v, c]) => `${a}${k}${b}:${b}${v}${c}`).join()}}`),
      },
      { weight: 1, arbitrary: list.map((items) => `[${items.join()}]`) },
      { weight: 1, arbitrary: fc.constantFrom("null", "true", "false", "", "{", '{"a":1}}', '{"a":1,}') },
    ),
  };
});

test("the fast way to parse is taken by an ordinary body, and says what the exact way says or leaves it to it", () => {
  const ordinary = JSON.stringify(aPayout());
  expect(parsePlain(ordinary)).toStrictEqual(parseExactly(ordinary));
  let plain = 0;
  fc.assert(
    fc.property(value, (text) => {
      const parsed = parsePlain(text);
      if (parsed === undefined) return;
      plain++;
      expect(parsed).toStrictEqual(parseExactly(text));
    }),
    { numRuns: 3_000, seed: 7 },
  );
  expect(plain).toBeGreaterThan(200);
});
