import { describe, expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import { anyPayee, commonPairs, dollars, otherPairs, payeeIn } from "./countries.ts";
import { createRandom } from "./random.ts";

const options = (recipient: string, over: Partial<RunOptions> = {}) =>
  ({ recipient, assumed: ["recipient"], loopback: true, ...over }) as unknown as RunOptions;
const named = (recipient: string) => options(recipient, { assumed: [] });
const random = () => createRandom(7, "a check");
const live = { loopback: false, environment: "live" } as const;

test.each([...commonPairs, dollars, ...otherPairs])(
  "a made-up number in $country has its calling code and length, and the recipient's last digits",
  (pair) => {
    const { phoneNumber } = payeeIn(pair, named("33612345002"), random());
    expect(phoneNumber).toMatch(/^[0-9]{10,15}$/);
    expect(phoneNumber).toHaveLength(pair.digits);
    expect(phoneNumber.startsWith(pair.code) && phoneNumber.endsWith("002")).toBe(true);
  },
);

test("without a recipient of the caller's, the last digits vary and force no outcome", () => {
  const next = random();
  const ends = Array.from({ length: 2000 }, () => payeeIn(commonPairs[0], options("2257038102473"), next)).map(
    ({ phoneNumber }) => phoneNumber.slice(-3),
  );
  expect(new Set(ends).size).toBeGreaterThan(700);
  for (const forced of ["001", "002", "089", "129", "408", "500", "503", "504", "601", "609"])
    expect(ends).not.toContain(forced);
});

function payees(over: Partial<RunOptions>) {
  const next = random();
  return Array.from({ length: 60 }, () => anyPayee(options("2257038102473", over), next));
}

describe("payees", () => {
  test("are the recipient alone where a payout could reach a stranger", () => {
    const recipient = { phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
    expect(new Set(payees(live).map((payee) => JSON.stringify(payee)))).toEqual(new Set([JSON.stringify(recipient)]));
  });
});
