// Compares disbursements field by field with the requests that created them, for many amounts and payees (§2.2, §2.3).
import { given, type Check, type Context } from "../../check.ts";
import { exceeded } from "../../allowances/table.ts";
import { commonPairs, dollars, otherPairs, pairOf, payeeIn, type Payee } from "../../generate/countries.ts";
import { allowsMadeUpNumbers } from "../../run-options.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { expectStatus, same } from "../../steps/expect.ts";
import {
  atOnce,
  dataOf,
  disbursementBody,
  is4xx,
  pay,
  pays,
  permitted,
  someAddress,
  usualAmount,
  verifyDisbursement,
} from "../../steps/requests.ts";
import { textOf } from "../../target/values.ts";

const concurrency = 20;
/** The payouts that are verified while the others are created. */
const earlier = 4;
const lengths = [10, 11, 12, 13, 14, 15];
/** How many numbers of a length are tried at most, until the target accepts a number. */
const maxCandidates = 4;

export type Body = Record<string, unknown>;

/** Returns the fields of the record of a disbursement that its request and its create response determine. */
export function recordOf(body: Body, created: Body): Body {
  const { reference: merchantsReference, amount, phoneNumber, country, currency, webhookURL } = body;
  const { reference, fee } = created;
  const address = webhookURL === undefined ? {} : { webhookURL };
  return { reference, merchantsReference, amount, fee, phoneNumber, country, currency, ...address };
}

/**
 * Returns the same fields of a verify response. Without a webhookURL in the request, the record may have any
 * webhookURL.
 */
export function recordIn(response: TargetResponse, body: Body = {}): Body {
  const { reference, merchantsReference, amount, fee, country, currency, webhookURL, customer } = dataOf(response);
  const { phoneNumber } = (customer ?? {}) as { phoneNumber?: unknown };
  const address = body["webhookURL"] === undefined ? {} : { webhookURL };
  return { reference, merchantsReference, amount, fee, phoneNumber, country, currency, ...address };
}

/** Judges that the create response and the record have every value of the request. `ids` are the requirements. */
export async function judgeRecord(
  context: Context,
  ids: string | readonly string[],
  body: Body,
  response: TargetResponse,
): Promise<void> {
  const all = [ids].flat();
  const accepted = all.map((id) => expectStatus(context, id, response, 200, `for ${JSON.stringify(body)}`));
  if (accepted.includes(false)) return;
  const created = dataOf(response);
  const { amount, merchantsReference } = created;
  const expected = { amount: body["amount"], merchantsReference: body["reference"] };
  const found = await verifyDisbursement(context, textOf(created["reference"]));
  const record = recordOf(body, created);
  for (const id of all) {
    same(context, id, { what: "create response", actual: { amount, merchantsReference }, expected }, response);
    same(context, id, { what: "record", actual: recordIn(found, body), expected: record }, [response, found]);
  }
}

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

export const checks: Check[] = [
  {
    name: `Records of ${concurrency} concurrent disbursements have the values of their requests`,
    ids: ["records.concurrent"],
    ...pays(earlier + concurrency),
    alone: true,
    async run(context) {
      const bodies = differentBodies(context, earlier + concurrency);
      const payAll = async (some: readonly Body[]) =>
        (await atOnce(context, some)).map((response, index) => ({ body: some[index]!, response }));
      const judgeAll = (made: Awaited<ReturnType<typeof payAll>>) =>
        Promise.all(made.map(({ body, response }) => judgeRecord(context, "records.concurrent", body, response)));
      const made = await payAll(bodies.slice(0, earlier));
      const isAccepted = made.some(({ response }) => response.status === 200);
      let isPaying = true;
      const paying = payAll(bodies.slice(earlier)).finally(() => (isPaying = false));
      // The requests that pay wait for each other before they are sent, so that a single look would come too early.
      const looking = async () => {
        do await judgeAll(made);
        while (isPaying && isAccepted);
      };
      const [others] = await Promise.all([paying, looking()]);
      await judgeAll(others);
    },
  },
  {
    name: "Phone numbers of 10 to 15 digits are accepted and recorded digit for digit",
    ids: ["create.phone-lengths-accepted", "create.phone-leading-zeros", "records.phone-digits"],
    ...pays(lengths.length + 2),
    needs: ["safe-numbers"],
    async run(context) {
      const accepted = [];
      const unserved: Payee[] = [];
      for (const length of lengths) {
        const payees = payeesOf(length, context);
        const served = payees.filter((payee) => exceeded(context.limits.all, payee) === undefined);
        const made = await firstAccepted(context, served);
        const when = `for a phone number of ${length} digits`;
        if (!made) unserved.push(...payees);
        else if (expectStatus(context, "create.phone-lengths-accepted", made.response, 200, when)) accepted.push(made);
      }
      for (const payee of unserved) permitted(context, "create.phone-lengths-accepted", payee);
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
  },
];
