// Checks fees, the limits on references, amounts, bodies and addresses, and the limits that the target adds (§8, D7a, D14,
// D15, D45).
import { findLimits, mostPayouts } from "../../allowances/find.ts";
import { allPairs } from "../../allowances/search.ts";
import { judges, type Check, type Context } from "../../check.ts";
import { shuffled } from "../../generate/random.ts";
import type { CheckOptions } from "../../run-options.ts";
import { bothRefused, expectStatus, same } from "../../steps/expect.ts";
import { findDelay } from "../../steps/notifications.ts";
import { asJson, checkoutBody, disbursementBody, siteOf, someAddress, withAmount } from "../../steps/bodies.ts";
import { dataOf } from "../../target/exchange.ts";
import { paid, verified } from "../../steps/records.ts";
import { pay, payInvalid, startCheckout, startInvalidCheckout } from "../../steps/requests.ts";
import { usualAmount } from "../../generate/plan.ts";
import { largestTried } from "../create/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const controls = ["\0", "\n", "\t", "\u007f", "\u0085"];

/** Amounts and their fees, rounded half up: 1 % for a disbursement, 4.8 % for a checkout. */
const payoutFees = { 49: 0, 50: 1, 149: 1, 150: 2, 12345: 123 };
const checkoutFees = { 10: 0, 11: 1, 100: 5, 2500: 120, 12345: 593 };
const amounts = Object.keys(payoutFees).map(Number);

const overMaximum = ["9007199254740992", "9007199254740993", "10000000000000000000", "1e300", "1e400"];

/** Returns the body as JSON, padded with spaces to this number of bytes. The body must contain ASCII only. */
const padded = (body: Record<string, unknown>, bytes: number) => {
  const plain = JSON.stringify(body);
  return asJson(plain.slice(0, -1) + " ".repeat(bytes - plain.length) + "}");
};

const currencies = [...new Set(allPairs.map(({ currency }) => currency))];

/** Returns true if the budget covers the largest amount in every currency. */
const reachesCurrencies = ({ maxTotal }: CheckOptions) => maxTotal === Infinity;

const badAddresses = (site: string) => [
  `ftp://${site}/hooks`,
  "javascript:alert(1)",
  `mailto:hooks@${site}`,
  `https://user@${site}/hooks`,
  `https://user:password@${site}/hooks`,
  `//${site}/hooks`,
  "https:///hooks",
];

/** Addresses where nothing listens, so that deliveries fail immediately. */
const goodAddresses = [
  "http://127.0.0.1:1",
  "https://127.0.0.1:1/a%20b/?x=1&y=%C3%A9#part",
  "HTTP://127.0.0.1:1/Hooks",
];

/** Expects an address to be refused as webhookURL. */
const refuse = (context: Context, id: RequirementId, address: string, what: string) =>
  bothRefused(context, id, 422, what, (valid) => ({ json: { ...valid, webhookURL: address } }));

export const checks: readonly Check[] = [
  judges("limits.reference-length", { pays: 5 }, async (context, id) => {
    const start = context.fresh();
    for (const reference of [start.padEnd(64, start), start + "💸".repeat(64 - start.length)]) {
      const response = await pay(context, { ...disbursementBody(context), reference });
      expectStatus(context, id, response, 200, "for 64 code points");
    }
    // An earlier run may have used this character as a reference. The 409 then proves that the target accepted it.
    const single = String.fromCodePoint(0x4e00 + (Number.parseInt(context.options.runId.slice(0, 4), 16) % 20_000));
    const shortest = await pay(context, { ...disbursementBody(context), reference: single });
    expectStatus(context, id, shortest, [200, 409], "for one character; 409 only if an earlier run used it");
    for (const reference of ["", start.padEnd(65, start), start + "💸".repeat(65 - start.length)]) {
      const response = await payInvalid(context, { ...disbursementBody(context), reference });
      expectStatus(context, id, response, 422, `for ${[...reference].length} code points`);
    }
  }),
  judges("limits.reference-characters", {}, async (context, id) => {
    for (const character of controls) {
      const reference = `${context.fresh()}${character}x`;
      const response = await payInvalid(context, { ...disbursementBody(context), reference });
      expectStatus(context, id, response, 422, `for a reference with ${JSON.stringify(character)}`);
    }
  }),
  judges("limits.amount-maximum", {}, async (context, id) => {
    for (const amount of overMaximum)
      await bothRefused(context, id, 422, `an amount of ${amount}`, (body) => withAmount(body, amount));
  }),
  judges("limits.amount-maximum-kept", {}, async (context, id) => {
    const response = await startCheckout(context, checkoutBody(context, { amount: Number.MAX_SAFE_INTEGER }));
    const ok = response.status === 200 && /"amount"\s*:\s*9007199254740991\b/.test(response.text);
    context.judge(id, ok, "200 with amount 9007199254740991", response);
  }),
  judges(["fee.on-top", "fee.default-rates"], { pays: amounts.length, upTo: () => amounts }, async (context, id) => {
    for (const [text, fee] of shuffled(Object.entries(payoutFees), context.random)) {
      const amount = Number(text);
      const { data, reference, response } = await paid(context, { amount });
      const { data: record, response: verify } = await verified(context, reference);
      const consistent = Number.isInteger(data.fee) && data.fee >= 0 && data.fee === record.fee;
      const kept = data.amount === amount && record.amount === amount;
      const actual = `fee ${data.fee}, then ${record.fee}; amount ${data.amount}, then ${record.amount}`;
      const expected = `the same integer fee in response and record, and amount ${amount} in both`;
      context.judge(id, consistent && kept, expected, actual, [response, verify]);
      same(context, "fee.default-rates", `for ${amount}, fee`, data.fee, fee, response);
    }
    for (const [amount, expected] of shuffled(Object.entries(checkoutFees), context.random)) {
      const response = await startCheckout(context, checkoutBody(context, { amount: Number(amount) }));
      const actual = dataOf(response)["fee"];
      same(context, "fee.default-rates", `for a checkout of ${amount}, fee`, actual, expected, response);
    }
  }),
  // A target without the limit pays for the larger bodies too.
  judges("limits.body-size", { pays: 3 }, async (context, id) => {
    for (const bytes of [16 * 1024 + 1, 200_000]) {
      const response = await payInvalid(context, undefined, padded(disbursementBody(context), bytes));
      expectStatus(context, id, response, 413, `for ${bytes} bytes`);
    }
    const response = await pay(context, undefined, padded(disbursementBody(context), 16 * 1024));
    expectStatus(context, id, response, 200, "for 16384 bytes");
  }),
  judges("addresses.refused", {}, async (context, id) => {
    for (const address of badAddresses(siteOf(context))) {
      await refuse(context, id, address, `webhookURL ${address}`);
      const response = await startInvalidCheckout(context, checkoutBody(context, { redirectURL: address }));
      expectStatus(context, id, response, 422, `for a checkout with redirectURL ${address}`);
    }
  }),
  judges("limits.address-length", {}, async (context, id) => {
    const address = `https://${siteOf(context)}/`.padEnd(2049, "a");
    await refuse(context, id, address, `a webhookURL of ${address.length} characters`);
  }),
  judges(["addresses.kept", "addresses.left-out"], { pays: goodAddresses.length + 2 }, async (context, id) => {
    const longest = `http://127.0.0.1:1/${"a".repeat(2048 - 19)}`;
    for (const webhookURL of [...goodAddresses, longest]) {
      const { reference } = await paid(context, { webhookURL });
      const { data, response } = await verified(context, reference);
      same(context, id, "webhookURL", data.webhookURL, webhookURL, response);
    }
    const { reference } = await paid(context);
    const { data, response } = await verified(context, reference);
    const isLeftOut = !("webhookURL" in data);
    context.judge("addresses.left-out", isLeftOut, "no webhookURL field", [JSON.stringify(data.webhookURL)], response);
  }),
  judges(
    "limits.added",
    {
      phase: "limits",
      // `findDelay` creates one more payout.
      pays: mostPayouts + 1,
      upTo: (options) => [
        largestTried(options),
        ...(reachesCurrencies(options) ? currencies.map(() => largestTried(options)) : []),
        ...Array<number>(mostPayouts).fill(usualAmount),
      ],
    },
    async (context, id) => {
      const { options, limits } = context;
      try {
        const { throttled, unproved } = await findLimits(options, {
          ...context,
          maxAmountTried: largestTried(options),
          reachesCurrencies: reachesCurrencies(options),
          address: () => someAddress(context).replace(/^https:/, "http:"),
        });
        if (throttled === undefined) await findDelay(context);
        context.observe(id, "limits", limits.found);
        const why = "declared, but not proved, because of the budget or of slow responses";
        if (unproved.length > 0) context.couldNotRun(id, `${why}: ${unproved.join(", ")}`);
        if (throttled !== undefined) context.couldNotRun(id, `${throttled} Declare velocity in certify.yaml.`);
      } finally {
        limits.freeze();
      }
    },
  ),
];
