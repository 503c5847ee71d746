// Checks fees, the limits on references, amounts and bodies, and the limits that the target adds (§8, D14, D15, D45).
import { findLimits, mostPayouts, NothingToTry } from "../../allowances/find.ts";
import { allPairs } from "../../allowances/search.ts";
import { define } from "../../check.ts";
import { shuffled } from "../../generate/random.ts";
import type { CheckOptions } from "../../run-options.ts";
import { bothRefused, expectStatus, same, shows } from "../../steps/expect.ts";
import { findDelay } from "../../steps/notifications.ts";
import { asJson, checkoutBody, disbursementBody, someAddress, withAmount } from "../../steps/bodies.ts";
import { dataOf } from "../../steps/responses.ts";
import { paid, verified } from "../../steps/records.ts";
import { pay, payInvalid, startCheckout } from "../../steps/requests.ts";
import { usualAmount } from "../../generate/plan.ts";
import { largestTried } from "../create/checks.ts";

const controls = ["\0", "\n", "\t", "\u007f", "\u0085"];

/** Amounts and their fees, rounded half up: 1 % for a disbursement, 4.8 % for a checkout. */
const fees = {
  disbursement: [
    [49, 0],
    [50, 1],
    [149, 1],
    [150, 2],
    [12_345, 123],
  ],
  checkout: [
    [10, 0],
    [11, 1],
    [100, 5],
    [2500, 120],
    [12_345, 593],
  ],
} as const;

const overMaximum = ["9007199254740992", "9007199254740993", "10000000000000000000", "1e300", "1e400"];

/** Returns the body as JSON, padded with spaces to this number of bytes. The body must contain ASCII only. */
const padded = (body: Record<string, unknown>, bytes: number) => {
  const plain = JSON.stringify(body);
  return asJson(plain.slice(0, -1) + " ".repeat(bytes - plain.length) + "}");
};

const id = "limits.added";
const currencies = [...new Set(allPairs.map(({ currency }) => currency))];

/** Returns true if the budget covers the largest amount in every currency. */
const reachesCurrencies = ({ maxTotal }: CheckOptions) => maxTotal === Infinity;

export const checks = define([
  {
    name: "References of 1 to 64 code points are accepted",
    ids: ["limits.reference-length"],
    pays: 5,
    async run(context) {
      const start = context.fresh();
      const accepted = [start.padEnd(64, start), start + "💸".repeat(64 - start.length)];
      for (const reference of accepted) {
        const response = await pay(context, { ...disbursementBody(context), reference });
        expectStatus(context, "limits.reference-length", response, 200, "for 64 code points");
      }
      // An earlier run may have used this character as a reference. In this case the 409 proves that the target
      // accepted the character.
      const single = String.fromCodePoint(0x4e00 + (Number.parseInt(context.options.runId.slice(0, 4), 16) % 20_000));
      const shortest = await pay(context, { ...disbursementBody(context), reference: single });
      const when = "for one character; 409 only if an earlier run used it";
      expectStatus(context, "limits.reference-length", shortest, [200, 409], when);
      for (const reference of ["", start.padEnd(65, start), start + "💸".repeat(65 - start.length)]) {
        const response = await payInvalid(context, { ...disbursementBody(context), reference });
        expectStatus(context, "limits.reference-length", response, 422, `for ${[...reference].length} code points`);
      }
    },
  },
  {
    name: "References with control characters are refused",
    ids: ["limits.reference-characters"],
    async run(context) {
      for (const character of controls) {
        const reference = `${context.fresh()}${character}x`;
        const code = `U+${character.codePointAt(0)?.toString(16).padStart(4, "0")}`;
        const response = await payInvalid(context, { ...disbursementBody(context), reference });
        expectStatus(context, "limits.reference-characters", response, 422, `for a reference with ${code}`);
      }
    },
  },
  {
    name: "Amounts above the maximum are refused",
    ids: ["limits.amount-maximum"],
    async run(context) {
      for (const amount of overMaximum) {
        const what = `an amount of ${amount}`;
        await bothRefused(context, "limits.amount-maximum", 422, what, (body) => withAmount(body, amount));
      }
    },
  },
  {
    name: "Maximum amount is returned unchanged",
    ids: ["limits.amount-maximum-kept"],
    async run(context) {
      const response = await startCheckout(context, checkoutBody(context, { amount: Number.MAX_SAFE_INTEGER }));
      const ok = response.status === 200 && /"amount"\s*:\s*9007199254740991\b/.test(response.text);
      shows(context, "limits.amount-maximum-kept", response, ok, "200 with amount 9007199254740991");
    },
  },
  {
    name: "Fees follow the default rates and leave the amount unchanged",
    ids: ["fee.on-top", "fee.default-rates"],
    pays: fees.disbursement.length,
    upTo: () => fees.disbursement.map(([amount]) => amount),
    async run(context) {
      for (const [amount, fee] of shuffled(fees.disbursement, context.random)) {
        const { data, reference, response } = await paid(context, { amount });
        const { data: record, response: verify } = await verified(context, reference);
        const consistent = Number.isInteger(data.fee) && data.fee >= 0 && data.fee === record.fee;
        const kept = data.amount === amount && record.amount === amount;
        const actual = `fee ${data.fee}, then ${record.fee}; amount ${data.amount}, then ${record.amount}`;
        const expected = `the same integer fee in response and record, and amount ${amount} in both`;
        context.judge("fee.on-top", consistent && kept, expected, actual, [response, verify]);
        const what = `for ${amount}, fee`;
        same(context, "fee.default-rates", { what, actual: data.fee, expected: fee }, response);
      }
      for (const [amount, fee] of shuffled(fees.checkout, context.random)) {
        const response = await startCheckout(context, checkoutBody(context, { amount }));
        const what = `for a checkout of ${amount}, fee`;
        same(context, "fee.default-rates", { what, actual: dataOf(response)["fee"], expected: fee }, response);
      }
    },
  },
  {
    name: "Body of 16 KiB is accepted, and a larger one is refused with 413",
    ids: ["limits.body-size"],
    // A target without the limit pays for the larger bodies too.
    pays: 3,
    async run(context) {
      for (const bytes of [16 * 1024 + 1, 200_000]) {
        const response = await payInvalid(context, undefined, padded(disbursementBody(context), bytes));
        expectStatus(context, "limits.body-size", response, 413, `for ${bytes} bytes`);
      }
      const response = await pay(context, undefined, padded(disbursementBody(context), 16 * 1024));
      expectStatus(context, "limits.body-size", response, 200, "for 16384 bytes");
    },
  },
  {
    name: "Finds and proves the limits of the target",
    ids: [id],
    phase: "limits",
    // One more payout shows when its notification comes.
    pays: mostPayouts + 1,
    upTo: (options) => [
      largestTried(options),
      ...(reachesCurrencies(options) ? currencies.map(() => largestTried(options)) : []),
      ...Array<number>(mostPayouts).fill(usualAmount),
    ],
    async run(context) {
      const { options, limits } = context;
      const address = () => someAddress(context).replace(/^https:/, "http:");
      try {
        const { throttled, unproved } = await findLimits(options, {
          ...context,
          largest: largestTried(options),
          reachesCurrencies: reachesCurrencies(options),
          address,
        });
        if (throttled === undefined) await findDelay(context);
        context.observe(id, "limits", limits.found);
        if (unproved.length > 0) {
          const fields = unproved.join(", ");
          context.couldNotRun(id, `declared, but not proved, because of the budget or of slow responses: ${fields}`);
        }
        if (throttled !== undefined) context.couldNotRun(id, `${throttled} Declare velocity in certify.yaml.`);
      } catch (error) {
        if (error instanceof NothingToTry) context.couldNotRun(id, error.message);
        else throw error;
      } finally {
        limits.freeze();
      }
    },
  },
]);
