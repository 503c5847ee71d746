// Creates payouts under every pair of conditions, and uses their references again (generate/inputs.ts; §2.1, §2.2, §7).
import { exceeded } from "../../allowances/table.ts";
import { unknownLimit } from "../../allowances/limits.ts";
import { judges, type Context, given } from "../../check.ts";
import { commonPairs, dollars, fieldsFor, homeOf, type Payee, payeeIn } from "../../generate/countries.ts";
import { type Conditions, conditionsOf, coverageOf, type Name, rowCount, valuesOf } from "../../generate/inputs.ts";
import { places, type Planned, planOf, without } from "../../generate/plan.ts";
import type { Facts } from "../../history/facts.ts";
import { allowsMadeUpNumbers, type CheckOptions, hasControl } from "../../run-options.ts";
import { expectData, expectStatus, same } from "../../steps/expect.ts";
import { is4xx, listed } from "../../steps/responses.ts";
import { dataOf, type TargetResponse } from "../../target/exchange.ts";
import { type Body, disbursementBody, permitted, someAddress } from "../../steps/bodies.ts";
import { get, listNamed, type More, pay, payInvalid, verifyDisbursement } from "../../steps/requests.ts";
import { lookAtOpen, several } from "../../steps/several.ts";
import { moveClock } from "../../steps/sandbox-controls.ts";
import { settled, settledByClock } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";
import { judgeRecord, recordIn, recordOf } from "../../steps/records.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/** How many payouts are created at the same time. */
const createsAtOnce = 12;

/** How many references are used again at the same time. The target may pay each of them. */
const concurrency = 6;
const repeated = ["create.duplicate-refused", "create.duplicate-any-field", "create.model"] as const;

export type Made = Planned & { body: Body; response: TargetResponse };

/** The runs whose target has accepted a payout to the number of --failing-recipient. */
const servesFailing = new WeakSet<Facts>();
/** The payouts that each run created under the conditions of the model. */
const modelPayouts = new WeakMap<Facts, { made: readonly Made[]; settledAt?: Date }>();

/** Returns the payouts that the target accepted under the conditions of the model. */
export const madeIn = ({ facts }: Context): readonly Made[] =>
  modelPayouts.get(facts)?.made.filter(({ response }) => response.status === 200) ?? [];

/** Returns the time by which these payouts should have settled; undefined if the run made none. */
export const settledAt = ({ facts }: Context) => modelPayouts.get(facts)?.settledAt;

/** The largest cost of `repeatAll`: a target that pays one repetition may pay all that are in transit with it. */
export const repeatCost = {
  payouts: concurrency,
  amounts(options: CheckOptions): number[] {
    const all = planOf(options).map(({ amount }) => amount);
    return all.toSorted((a, b) => b - a).slice(0, concurrency);
  },
};

/** Returns the fields that the conditions ask for. The target's limits may change them. */
export function fieldsOf(context: Context, planned: Planned): Body {
  const { options, random } = context;
  const { conditions, pair, amount } = planned;
  const { reference, address, ending } = conditions;
  const [currencyPair, numberPair] = [
    conditions.currency.foreign ? planned.currency : pair,
    conditions.number.foreign ? planned.number : pair,
  ];
  const recipient = ending.fails ? options.failingRecipient! : options.recipient;
  const like = { recipient, assumed: ending.fails ? [] : options.assumed };
  const payee = allowsMadeUpNumbers(options)
    ? {
        phoneNumber: fieldsFor(numberPair, like, random).phoneNumber,
        country: pair.country,
        currency: currencyPair.currency,
      }
    : homeOf(recipient);
  const webhookURL = address.write?.(someAddress(context));
  return { ...payee, amount, reference: reference.spell(context.fresh()), webhookURL };
}

/** The field that a dimension decides. */
const fields: Partial<Record<Name, string>> = {
  place: "country",
  currency: "currency",
  number: "phoneNumber",
  ending: "phoneNumber",
  amount: "amount",
  reference: "reference",
};

/** Returns true if the target may refuse the value. It must serve a currency that is also the country's own. */
const isOptional = ({ conditions, pair, currency }: Planned, name: Name) =>
  conditions[name].optional === true && !(name === "currency" && currency.currency === pair.currency);

export function send(context: Context, form: Partial<Conditions["form"]>, body: Body, how = pay, more: More = {}) {
  const { headers, ...written } = form.write?.(body) ?? { json: body };
  return how(context, undefined, { ...written, ...more, headers: { ...headers, ...more.headers } });
}

/** Returns the headers and the path that a sender gives to a request. */
const moreOf = (context: Context, { headers, end }: Conditions["sender"]): More => ({
  ...(headers ? { headers: headers(context.fresh()) } : {}),
  ...(end ? { path: `/v1/disbursements${end(context.fresh())}` } : {}),
});

/** Creates a payout. If the target refuses it and may do so, creates one with the usual values instead. */
async function create(context: Context, planned: Planned): Promise<Made> {
  const { conditions } = planned;
  const wanted = fieldsOf(context, planned);
  const body = disbursementBody(context, wanted);
  const response = await send(context, conditions.form, body);
  const isChanged = (name: Name) => fields[name] !== undefined && wanted[fields[name]] !== body[fields[name]];
  const tried = without(planned, (name) => (isChanged(name) ? "outside the target's limits" : undefined));
  const wasRefused = conditions.form.optional ? is4xx(response) : [400, 422].includes(response.status ?? 0);
  const { fails } = tried.conditions.ending;
  if (fails && response.status === 200) servesFailing.add(context.facts);
  // It is not known whether the target serves the number of --failing-recipient, until a payout to the number is
  // accepted.
  const mayRefuse = (name: Name) =>
    name === "ending" ? fails && !servesFailing.has(context.facts) : isOptional(tried, name);
  const replacement = without(tried, (name) => (mayRefuse(name) ? "refused" : undefined));
  const hasOptional = valuesOf(tried.conditions).some(([name]) => mayRefuse(name));
  if (hasOptional && wasRefused) return create(context, replacement);
  await judgeRecord(context, ["create.generated-valid-accepted", "records.as-requested"], body, response);
  const { amount, reference: merchantsReference } = body;
  expectData(context, "create.amount-echoed", response, { amount }, "as sent");
  expectData(context, "create.reference-echoed", response, { merchantsReference }, "as sent");
  return { ...tried, body, response };
}

/** Judges, for each value that has a requirement of its own, that the target accepts payouts with the value. */
function judgeValues(context: Context, made: readonly Made[]) {
  const home = made.filter((each) => !isOptional(each, "currency") && !isOptional(each, "number"));
  const all = home.flatMap((each) => valuesOf(each.conditions).map(([, value]) => ({ value, each })));
  for (const [value, group] of Map.groupBy(all, (each) => each.value)) {
    if (value.id === undefined) continue;
    const responses = group.map(({ each }) => each.response);
    // If a limit may explain the refusal, the refusal shows nothing about this value.
    const counts = (each: TargetResponse) =>
      unknownLimit(context.limits, context.options.recipient, [each]) === undefined;
    const response = responses.find(({ status }) => status === 200) ?? responses.find(counts) ?? responses[0]!;
    expectStatus(context, value.id, response, 200, `for ${value.what}`);
  }
  for (const pair of places) {
    const { options, random } = context;
    const id = pair === dollars ? "create.usd-accepted" : "create.pairs-accepted";
    // Without made-up numbers, or if a limit excludes the pair, the requirement is not applicable.
    if (allowsMadeUpNumbers(options)) permitted(context, id, fieldsFor(pair, options, random));
    else context.notApplicable(id, "only the recipient's own country is paid");
  }
}

/** Reports which combinations were tried, and why the other combinations were not tried. */
function observeCoverage(context: Context, made: readonly Made[]) {
  const tried = new Set(made.flatMap(({ conditions }) => valuesOf(conditions).map(([, { what }]) => what)));
  const left = made.flatMap(({ untried }) => Object.entries(untried)).filter(([what]) => !tried.has(what));
  context.observe("inputs.coverage", "tried", coverageOf(made.map(({ conditions }) => conditions)));
  context.observe("inputs.coverage", "of", coverageOf(conditionsOf(context.options.seed)));
  context.observe("inputs.coverage", "not tried", Object.fromEntries(left.toSorted()));
}

/**
 * Returns a payee whose country and currency differ from the country and currency of a payout; undefined if the target
 * serves no such payee.
 */
function payeeElsewhere({ options, limits, random }: Context, { country, currency }: Body): Payee | undefined {
  const elsewhere = commonPairs.filter((pair) => pair.country !== country && pair.currency !== currency);
  const payees = elsewhere.map((pair) => payeeIn(pair, options, random));
  return allowsMadeUpNumbers(options) ? payees.find((payee) => exceeded(limits.all, payee) === undefined) : undefined;
}

/** Returns what a repeat changes, and the statuses that refuse it. */
function changeOf(context: Context, { body, conditions }: Made): { over: Body; statuses: number[] } {
  const { changes } = conditions.repeat;
  const payee = payeeElsewhere(context, body) ?? {};
  const amount = body["amount"] === 1 ? 2 : Number(body["amount"]) - 1;
  const webhookURL = body["webhookURL"] === undefined ? someAddress(context) : undefined;
  const all: Body = { ...payee, amount, webhookURL };
  const over = changes === "all" ? all : changes in all ? { [changes]: all[changes] } : {};
  // A target may refuse a phone number or a currency of another country.
  const mayRefuse = changes in payee || exceeded(context.limits.all, { ...body, ...over }) !== undefined;
  return { over, statuses: mayRefuse ? [409, 400, 422] : [409] };
}

/** Reuses the reference of each payout whose conditions have this moment. Ends when the target pays again. */
export async function repeatAll(
  context: Context,
  at: Conditions["moment"]["at"],
  ids: readonly RequirementId[] = repeated,
) {
  const due = madeIn(context).filter(({ conditions }) => conditions.moment.at === at);
  const [sample] = modelPayouts.get(context.facts)?.made ?? [];
  if (sample) given(due.length > 0, "200 for a payout whose reference is used again", sample.response);
  else context.couldNotRun(ids, "no payouts were created under the conditions of the model");
  let isPaid = false;
  await several(due, concurrency, async (each) => {
    if (isPaid) return;
    const { repeat, repeatForm, sender, moment } = each.conditions;
    const { over, statuses } = changeOf(context, each);
    const body = { ...each.body, ...over };
    let response = await send(context, repeatForm, body, payInvalid, moreOf(context, sender));
    // A target may refuse the form or the sender, which says nothing about the reference.
    const isFormRefused = (repeatForm.optional || sender.optional) && is4xx(response) && response.status !== 409;
    if (isFormRefused) response = await send(context, {}, body, payInvalid);
    isPaid ||= response.status === 200;
    const found = await verifyDisbursement(context, textOf(dataOf(each.response)["reference"]));
    const [actual, expected] = [recordIn(found, each.body), recordOf(each.body, dataOf(each.response))];
    const form = isFormRefused ? "in the usual form" : `as ${repeatForm.what}, ${sender.what}`;
    const when = `for a duplicate reference with ${repeat.what}, ${form}, ${moment.what}`;
    expectStatus(context, ids, response, statuses, when);
    same(context, ids, "record of the first", actual, expected, [response, found]);
  });
}

/** Judges that a refused payout, and a payout that was never created, cannot be verified. */
async function judgeUnknown(context: Context) {
  const id = "create.model";
  for (const amount of [0, -7]) {
    const reference = context.fresh();
    const refused = await payInvalid(context, disbursementBody(context, { reference, amount }));
    expectStatus(context, id, refused, [400, 422], `for an amount of ${amount}`);
    for (const unknown of [reference, context.fresh()])
      expectStatus(context, id, await verifyDisbursement(context, unknown), 404, "for an unknown reference");
  }
}

/** Judges that no two payouts have the same service reference. */
function judgeReferences(context: Context, made: readonly Made[]) {
  const accepted = madeIn(context);
  given(accepted.length > 0, "200 for a payout", made[0]!.response);
  const actual = new Set(accepted.map(({ response }) => dataOf(response)["reference"])).size;
  const evidence = accepted.map(({ response }) => response).slice(0, 10);
  const what = "number of different service references";
  same(context, "create.service-reference-unique", what, actual, accepted.length, evidence);
}

/** Less than the difference between two time zones, in milliseconds. */
const mostApart = 600_000;

/**
 * Returns the time of the target: in a sandbox the time of its clock, otherwise the time in the response; NaN if the
 * response states no time.
 */
const timeOf = async (context: Context, { headers: { date = "" } }: TargetResponse) =>
  Date.parse(hasControl(context.options, "time") ? textOf(dataOf(await get(context, "/sandbox/clock"))["now"]) : date);

/** Judges that records of all countries state the same time, the time of the target, because times are in UTC. */
async function judgeTimes(context: Context) {
  const firsts = [...Map.groupBy(madeIn(context), ({ body }) => body["country"]).values()].map(
    ([first]) => first!.response,
  );
  const found = await several(firsts, concurrency, (response) =>
    verifyDisbursement(context, textOf(dataOf(response)["reference"])),
  );
  const last = found.at(-1);
  if (!last || found.some(({ status }) => status !== 200))
    return context.couldNotRun("verify.timestamps", "no new payout could be verified in every country");
  const now = await timeOf(context, last);
  // How far each time is ahead of the suite's own clock.
  const ahead = found.map(
    (response, index) => Date.parse(textOf(dataOf(response)["createdAt"])) - Date.parse(firsts[index]!.exchange.at),
  );
  if (!Number.isNaN(now)) ahead.push(now - context.now().getTime());
  const apart = Math.max(...ahead) - Math.min(...ahead);
  const expected = `createdAt within ${mostApart / 60_000} minutes of the target's own time, in records of all countries`;
  context.judge("verify.timestamps", apart <= mostApart, expected, `${apart} ms apart`, found);
}

/** Judges in a sandbox that a payout whose phone number forces a failure fails, whatever its other values are. */
async function judgeFailures(context: Context) {
  const { environment, failingRecipient = "" } = context.options;
  const id = "forced.089-fails-later";
  const failing = madeIn(context).filter(({ conditions }) => conditions.ending.fails);
  if (environment !== "sandbox" || !failingRecipient.endsWith("089") || failing.length === 0)
    return context.notApplicable(id, "the model's payouts include none to a number that forces a failure");
  for (const { response } of failing) {
    same(context, id, "at first, status", dataOf(response)["status"], "pending", response);
    const { data } = await settledByClock(context, textOf(dataOf(response)["reference"]));
    same(context, id, "in the end, status", data.status, "failed");
  }
}

/** Judges that a list has one record for each reference. */
async function judgeListed(context: Context) {
  for (const { body, response } of madeIn(context)) {
    const list = await listNamed(context, "disbursements", body["reference"]);
    const [actual, expected] = [listed(list).map(({ reference }) => reference), [dataOf(response)["reference"]]];
    same(context, "uniqueness.one-record", "listed records", actual, expected, list);
  }
}

export const checks = [
  judges(
    [
      "create.generated-valid-accepted",
      "records.as-requested",
      "create.amount-echoed",
      "create.amount-minimum-accepted",
      "create.reference-echoed",
      "create.webhook-optional",
      "create.pairs-accepted",
      "create.usd-accepted",
      "create.service-reference-unique",
      "verify.timestamps",
      ...repeated,
      "uniqueness.one-record",
      "forced.089-fails-later",
      "inputs.coverage",
    ],
    {
      phase: "opening",
      pays: rowCount + repeatCost.payouts,
      upTo: (options) => [...planOf(options).map(({ amount }) => amount), ...repeatCost.amounts(options)],
    },
    async (context) => {
      const made = await several(planOf(context.options), createsAtOnce, (planned) => create(context, planned));
      modelPayouts.set(context.facts, { made });
      judgeValues(context, made);
      observeCoverage(context, made);
      judgeReferences(context, made);
      await judgeTimes(context);
      await judgeUnknown(context);
      await repeatAll(context, "immediately");
      if (context.options.profile === "extended") {
        await judgeListed(context);
        await judgeFailures(context);
      }
      // The closing checks compare later responses with those about settled payouts.
      if (hasControl(context.options, "clock")) {
        await moveClock(context, { seconds: 60 });
        await lookAtOpen(context);
      }
      modelPayouts.set(context.facts, { made, settledAt: context.now() });
    },
  ),
  judges(
    repeated,
    {
      name: "References are used after the outcomes of their payouts",
      pays: repeatCost.payouts,
      upTo: repeatCost.amounts,
    },
    async function* (context) {
      yield;
      const due = madeIn(context).filter(({ conditions }) => conditions.moment.at === "outcome");
      // In a sandbox, the wait for the first payout moves the clock, which settles all payouts.
      for (const some of [due.slice(0, 1), due.slice(1)])
        await several(some, concurrency, ({ response }) => settled(context, textOf(dataOf(response)["reference"])));
      await repeatAll(context, "outcome");
    },
  ),
];
