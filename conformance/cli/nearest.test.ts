import { expect, test } from "vitest";
import { catalogue } from "../contract/requirements.ts";
import { didYouMean, nearest } from "./nearest.ts";

const ids = catalogue.map(({ id }) => id);

test.each([
  ["create.acepted", ["create.accepted"]],
  ["CREATE.ACCEPTED", ["create.accepted"]],
  ["verify.unknown", ["verify.unknown-404"]],
  ["nothing-like-it", []],
  ["", []],
])("the nearest requirements to %j are %j", (word, expected) => {
  expect(nearest(word, ids).slice(0, 1)).toEqual(expected);
});

test("at most three names are suggested, the most similar first", () => {
  expect(nearest("rate", ["rates", "rated", "crate", "date"])).toEqual(["rates", "rated", "crate"]);
  expect(didYouMean("rate", ["rates", "report"])).toBe(" Did you mean rates?");
  expect(didYouMean("rate", ["report"])).toBe("");
});
