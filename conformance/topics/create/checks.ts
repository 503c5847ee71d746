// Checks that creates are accepted and recorded exactly as requested, for many amounts and payees (§2.1 to §2.3, §4.1, §8).
import { exceeded } from "../../allowances/table.ts";
import { judges, type Context, given, Prerequisite } from "../../check.ts";
import { homeOf, pairOf, otherPairs, commonPairs, dollars, type Payee, payeeIn } from "../../generate/countries.ts";
import { shuffled } from "../../generate/random.ts";
import { allowsMadeUpNumbers, type CheckOptions } from "../../run-options.ts";
import { expectData, expectStatus } from "../../steps/expect.ts";
import { atOnce, pay, verifyDisbursement } from "../../steps/requests.ts";
import { is4xx } from "../../steps/responses.ts";
import { dataOf } from "../../target/exchange.ts";
import { type Body, disbursementBody, permitted, someAddress, withAmount } from "../../steps/bodies.ts";
import { judgeRecord, paid } from "../../steps/records.ts";
import { usualAmount } from "../../generate/plan.ts";
import { textOf } from "../../target/values.ts";

const concurrency = 20;

/** How many payouts are created first, and verified while the others are created. */
const earlier = 4;
const lengths = [10, 11, 12, 13, 14, 15];

/** How many numbers of a length are tried at most, until the target accepts a number. */
const maxCandidates = 4;

/**
 * Returns disbursements with different amounts and payees. Every second disbursement has a webhookURL. Consecutive
 * disbursements have different countries and currencies, so that a race between two disbursements reveals a server that
 * mixes their values up.
 */
export function differentBodies(context: Context, count: number): Body[] {
  const { options, random } = context;
  const first = random(0, commonPairs.length - 1);
  return Array.from({ length: count }, (_, index) => {
    const amount = usualAmount - index - count * random(0, Math.floor(usualAmount / count) - 2);
    // Each country gets payouts with and without an address.
    const turn = index + Math.floor(index / commonPairs.length);
    const webhookURL = turn % 2 === 0 ? undefined : `${someAddress(context)}&n=${index}`;
    const pair = commonPairs[(first + index) % commonPairs.length]!;
    const payee = allowsMadeUpNumbers(options) ? payeeIn(pair, options, random) : {};
    return disbursementBody(context, { amount, webhookURL, ...payee });
  });
}

/**
 * Returns payees with phone numbers of this length: in countries with such numbers and, because a target may limit its
 * countries, in the recipient's country.
 */
function payeesOf(length: number, { options, random }: Context): Payee[] {
  const real = [...commonPairs, dollars, ...otherPairs].filter(({ digits }) => digits === length);
  const pairs = [...real.slice(0, maxCandidates - 1), { ...pairOf(options.recipient), digits: length }];
  return pairs.map((pair) => payeeIn(pair, options, random));
}

/** Pays one payee after the other until the target accepts a payout. Returns the last request and its response. */
async function firstAccepted(context: Context, payees: readonly Payee[]) {
  for (const [index, payee] of payees.entries()) {
    const body = { ...disbursementBody(context), ...payee };
    const response = await pay(context, body);
    if (!is4xx(response) || index === payees.length - 1) return { body, response };
  }
  return undefined;
}

async function payLeadingZeros(context: Context) {
  const { options, random } = context;
  const phoneNumber = `00${random(1_000_000, 9_999_999)}${options.recipient.slice(-3)}`;
  const body = { ...disbursementBody(context, { phoneNumber }), phoneNumber };
  return { body, response: await pay(context, body) };
}

/**
 * Pays a number in another country that has the same last nine digits as this number. The target may refuse the payout.
 */
async function payNamesake(context: Context, { phoneNumber }: Body) {
  const digits = textOf(phoneNumber);
  const { code, country, currency } = commonPairs.find((pair) => !digits.startsWith(pair.code))!;
  const body = { ...disbursementBody(context), phoneNumber: code + digits.slice(-9), country, currency };
  return { body, response: await pay(context, body) };
}

/** Amounts that floating point cannot divide by 100 and multiply by 100 again exactly. */
const fractional = [29, 57, 115, 435, 1001, 65_537];

/** Limits of integer types and of single precision. */
const binary = [2 ** 24 + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32];

/** Amounts of 16 digits that double precision, which is exact up to 2^53 - 1, can represent. */
const of16Digits = [1_234_567_890_123_457, 2 ** 52 + 1, 2 ** 53 - 1];
const amounts = [...fractional, 999_999, 1_234_567, ...binary, 999_999_999_999, ...of16Digits];

/** An amount between two doubles. A program that reads numbers as doubles pays another amount. */
const inexact = "9007199254740993";

/** Returns the amounts inside the declared limit, from the smallest, whose sum is at most this share of the budget. */
function affordable(all: readonly number[], { maxTotal, declared }: CheckOptions, share: number): number[] {
  const { largestAmount = Infinity, smallestAmount = 1 } = declared ?? {};
  let sum = 0;
  return all
    .filter((amount) => amount >= smallestAmount && amount <= largestAmount)
    .filter((amount) => (sum += amount) <= maxTotal * share);
}

const tried = (options: CheckOptions) => affordable(amounts, options, 1 / 2);

/** Returns the largest amount that a run without declared limits tries. */
export const largestTried = (options: CheckOptions): number =>
  Math.max(0, ...tried({ ...options, declared: undefined }));

/** Returns the largest amount that a run tries, and how many larger amounts its budget does not cover. */
export const reachOf = (options: CheckOptions) => ({
  largest: largestTried(options),
  untried: amounts.length - tried({ ...options, declared: undefined }).length,
});

/** Returns the amounts for which the budget covers one more payout, in case the target wrongly makes it. */
const spare = (options: CheckOptions): number[] => {
  const left = options.maxTotal / 2 - tried(options).reduce((sum, amount) => sum + amount, 0);
  return amounts.filter((amount) => amount <= left);
};

/** Returns true if the budget covers every amount. */
const reachesAll = (options: CheckOptions) =>
  affordable([...amounts, Number(inexact)], { ...options, declared: undefined }, 1 / 2).length > amounts.length;

/** Returns the amounts that the target's limits permit, and the others. */
function divided({ limits }: Context, all: readonly number[]): [permitted: number[], refused: number[]] {
  const isPermitted = (amount: number) => exceeded(limits.all, { amount }) === undefined;
  return [all.filter(isPermitted), all.filter((amount) => !isPermitted(amount))];
}

/** Pays amounts of every size. Judges that each is recorded exactly. */
async function judgeExact(context: Context, served: readonly number[]) {
  for (const amount of served) {
    const anywhere = { ...disbursementBody(context, { webhookURL: someAddress(context) }), amount };
    // A currency may have a smaller limit of its own.
    const isServed = exceeded(context.limits.all, anywhere) === undefined;
    const body = isServed ? anywhere : { ...anywhere, ...homeOf(context.options.recipient) };
    await judgeRecord(context, "numbers.exact", body, await pay(context, body));
  }
}

/**
 * Judges that the target accepts no amount above the largest permitted amount: otherwise the limit that was declared or
 * found would be false.
 */
async function judgeBeyond(context: Context, larger: readonly number[]) {
  for (const amount of larger) {
    const response = await pay(context, { ...disbursementBody(context), amount });
    const expected = `no payout of ${amount}, because smaller amounts are refused`;
    if (!context.judge("numbers.exact", response.status !== 200, expected, response)) return;
  }
}

/** Judges that an amount without an exact double is refused, or accepted with every digit. */
async function judgeInexact(context: Context) {
  const response = await pay(context, undefined, withAmount(disbursementBody(context), inexact));
  const ok = response.status !== 200 || new RegExp(String.raw`"amount"\s*:\s*${inexact}\b`).test(response.text);
  context.judge("numbers.exact", ok, `a refusal, or 200 with amount ${inexact}`, response);
}

export const checks = [
  judges("records.concurrent", { pays: earlier + concurrency, alone: true }, async (context, id) => {
    const bodies = differentBodies(context, earlier + concurrency);
    const payAll = async (some: readonly Body[]) =>
      (await atOnce(context, some)).map((response, index) => ({ body: some[index]!, response }));
    const judgeAll = (payouts: Awaited<ReturnType<typeof payAll>>) =>
      Promise.all(payouts.map(({ body, response }) => judgeRecord(context, id, body, response)));
    const first = await payAll(bodies.slice(0, earlier));
    const isAccepted = first.some(({ response }) => response.status === 200);
    let isPaying = true;
    const paying = payAll(bodies.slice(earlier)).finally(() => (isPaying = false));
    // The creates wait for each other before they are sent, so one round of verification would end too early.
    const verifying = async () => {
      do await judgeAll(first);
      while (isPaying && isAccepted);
    };
    const [others] = await Promise.all([paying, verifying()]);
    await judgeAll(others);
  }),
  judges(
    ["create.phone-lengths-accepted", "create.phone-leading-zeros", "records.phone-digits"],
    { pays: lengths.length + 2, needs: ["safe-numbers"] },
    async (context, id) => {
      const accepted = [];
      const unserved: Payee[] = [];
      for (const length of lengths) {
        const payees = payeesOf(length, context);
        const served = payees.filter((payee) => exceeded(context.limits.all, payee) === undefined);
        const payout = await firstAccepted(context, served);
        const when = `for a phone number of ${length} digits`;
        if (!payout) unserved.push(...payees);
        else if (expectStatus(context, id, payout.response, 200, when)) accepted.push(payout);
      }
      for (const payee of unserved) permitted(context, id, payee);
      // The pattern allows a leading zero, but no international number has a leading zero, so the target may refuse the
      // number.
      const zeros = await payLeadingZeros(context);
      context.observe("create.phone-leading-zeros", "response status", zeros.response.status ?? "none");
      if (zeros.response.status === 200) accepted.push(zeros);
      const namesake = accepted[0] && (await payNamesake(context, accepted[0].body));
      if (namesake?.response.status === 200) accepted.push(namesake);
      const [payee] = accepted.length === 0 ? unserved : [];
      if (payee && !permitted(context, "records.phone-digits", payee)) return;
      given(accepted.length !== 0, "200 for a phone number", zeros.response);
      for (const { body, response } of accepted) await judgeRecord(context, "records.phone-digits", body, response);
    },
  ),

  judges(
    ["create.accepted", "create.status-known", "create.service-reference-verifies"],
    { pays: 1 },
    async (context, id) => {
      const body = disbursementBody(context);
      const response = await pay(context, body);
      expectStatus(context, id, response, 200, "for a valid disbursement");
      const { status, reference } = dataOf(response);
      const known = ["pending", "success", "failed"].includes(status as string);
      context.judge("create.status-known", known, "status pending, success or failed", response);
      const found = await verifyDisbursement(context, textOf(reference));
      const expected = { merchantsReference: body["reference"] };
      const when = "in the record just created";
      expectData(context, "create.service-reference-verifies", found, expected, when, [response, found]);
    },
  ),
  judges(["create.initial-status", "create.webhook-null", "create.extra-field"], { pays: 3 }, async (context, id) => {
    const { data } = await paid(context);
    context.observe(id, "status", data.status);
    const unusual = {
      "create.webhook-null": { webhookURL: null },
      "create.extra-field": { [`${context.target.merchant.name}Extra`]: "x" },
    };
    for (const [open, over] of Object.entries(unusual)) {
      const { status } = await pay(context, disbursementBody(context, over));
      context.observe(open as keyof typeof unusual, "response status", status ?? "none");
    }
  }),

  judges(
    ["numbers.exact", "numbers.largest-amount"],
    {
      pays: amounts.length + 2,
      upTo: (options) => [
        ...tried(options),
        Math.max(0, ...spare(options)),
        ...(reachesAll(options) ? [Number(inexact)] : []),
      ],
    },
    async (context, id) => {
      const sent = tried(context.options);
      if (sent.length === 0) throw new Prerequisite("a --max-total that covers a payout", "a smaller one");
      const [accepted, refused] = divided(context, sent);
      await judgeExact(context, shuffled(accepted, context.random));
      const larger = divided(context, spare(context.options))[1].filter((amount) => amount > (accepted.at(-1) ?? 0));
      if (allowsMadeUpNumbers(context.options)) await judgeBeyond(context, larger);
      if (reachesAll(context.options)) await judgeInexact(context);
      const { largest, untried } = reachOf(context.options);
      const left = `amounts above ${largest} were not tried, because of --max-total`;
      if (untried > 0 && accepted.length > 0) context.judge(id, true, `amounts up to ${largest}`, left);
      context.observe("numbers.largest-amount", "largest accepted", accepted.at(-1) ?? "none");
      context.observe("numbers.largest-amount", "refused", refused);
      context.observe("numbers.largest-amount", "not tried (--max-total)", amounts.slice(sent.length));
    },
  ),
];
