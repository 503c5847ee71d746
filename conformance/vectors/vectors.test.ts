import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { vectors, vectorsText } from "./vectors.ts";

test("webhooks.json is up to date", () => {
  expect(readFileSync(new URL("webhooks.json", import.meta.url), "utf8") === vectorsText(), "run npm run vectors").toBe(
    true,
  );
});

test("there are at least forty vectors of both verdicts, each under its own id and with a reason", () => {
  expect(vectors.length).toBeGreaterThanOrEqual(40);
  expect(new Set(vectors.map(({ id }) => id)).size).toBe(vectors.length);
  expect(new Set(vectors.map(({ verdict }) => verdict)).size).toBe(2);
  expect(vectors.filter(({ why }) => !/^[A-Z].*\.$/.test(why)).map(({ id }) => id)).toEqual([]);
});

test("no two vectors are the same request", () => {
  const requests = vectors.map(({ secrets, headers, body }) => JSON.stringify([secrets, headers, body]));
  expect(new Set(requests).size).toBe(requests.length);
});
