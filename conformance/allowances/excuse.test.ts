import { expect, test } from "vitest";
import { describeResponse, Prerequisite } from "../check.ts";
import type { Requirement } from "../results.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { excuseOf, excuseOfUnjudged } from "./excuse.ts";

const core = { id: "a", profile: "core" } as Requirement;
const extended = { id: "a", profile: "extended" } as Requirement;
const response = (limit?: string) =>
  ({ status: 422, exchange: { responseBody: "{}" }, ...(limit === undefined ? {} : { limit }) }) as TargetResponse;
const limited = response("amounts above 5");
const because = { code: "target", text: "the target refuses amounts above 5" };

test("a failed finding is excused by evidence that met a limit, in the core profile only", () => {
  expect(excuseOf(core, [response(), limited])).toEqual(because);
  expect(excuseOf(core, [response()])).toBeUndefined();
  expect(excuseOf(extended, [limited])).toBeUndefined();
});

test("an unjudged requirement is excused if the check names only responses that met the limit", () => {
  const text = describeResponse(limited);
  const missing = (actual: string) => excuseOfUnjudged(core, new Prerequisite("200", actual), limited);
  expect(missing(text)).toEqual(because);
  expect(missing(`${text}; ${text}`)).toEqual(because);
  expect(missing(`${text}; 500`)).toBeUndefined();
  expect(missing("no webhook")).toBeUndefined();
  expect(excuseOfUnjudged(core, new Prerequisite("200", text), response())).toBeUndefined();
  expect(excuseOfUnjudged(core, new Error(text), limited)).toBeUndefined();
});
