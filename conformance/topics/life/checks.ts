// Judges the whole run before the verdict: creates payouts first, lets time pass, reads every record again, uses every
// reference again, and compares webhooks and checkouts with their records (§2.1 to §2.3, §4.3, §6, §7, D11, D15).
import { exceeded } from "../../allowances/table.ts";
import { define, type Context, given } from "../../check.ts";
import { describeResponse } from "../../target/exchange.ts";
import type { Facts, RecordFact } from "../../history/facts.ts";
import { type Contradiction, type Fields, type History, isFinal, sentAt } from "../../history/history.ts";
import {
  claimedEnd,
  falseStatements,
  historyOf,
  lastEnds,
  misdirected,
  notNotified,
  statements,
  unreadable,
} from "../../history/webhooks.ts";
import { counted } from "../../report/words.ts";
import { hasControl } from "../../run-options.ts";
import { eventually } from "../../steps/eventually.ts";
import { expectNone, expectStatus, holds, shows } from "../../steps/expect.ts";
import { lookAt, retrievable } from "../../steps/looks.ts";
import { eventName, patienceOf, requestsBehind } from "../../steps/notifications.ts";
import { checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import { dataOf, isRefusal } from "../../steps/responses.ts";
import { pay, payInvalid, startCheckout, verifyDisbursement } from "../../steps/requests.ts";
import { usualAmount } from "../../generate/plan.ts";
import { moveClock } from "../../steps/sandbox-controls.ts";
import { settledByClock } from "../../steps/settlement.ts";
import { several } from "../../steps/several.ts";
import { equal, textOf } from "../../target/values.ts";
import { finishAny, linksOf, referencesOf } from "../../steps/checkouts.ts";
import { repeatAll, repeatCost } from "../inputs/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

type Kept = {
  /** Describes the payout for people. */
  what: string;
  body: Record<string, unknown>;
  reference: string;
  /** The merchant's reference in another spelling; undefined for a usual reference. */
  otherSpelling?: string;
  /** True for an ordinary payout to the run's recipient, which must settle. */
  plain: boolean;
};

type KeptRecords = {
  payouts: Kept[];
  /** The records of the kept payouts and of some checkouts. */
  records: readonly History[];
  /** The time at which all these records had been created and retrieved. */
  since: Date;
};

const keptByRun = new WeakMap<Facts, KeptRecords>();

/** Returns the payouts that the run keeps; an empty array if the target accepted no payout. */
const keptOf = ({ facts }: Context): readonly Kept[] => keptByRun.get(facts)?.payouts ?? [];

/** Returns the time since when the run has kept payouts; undefined if it keeps no payouts. */
const keptSince = ({ facts }: Context): Date | undefined => keptByRun.get(facts)?.since;

type Plan = Pick<Kept, "what" | "otherSpelling"> & { over: Record<string, unknown> };

/** References whose spelling a faulty service may change, each with another spelling. */
const spellings: [what: string, spell: (text: string) => string, other: (reference: string) => string][] = [
  ["in upper case", (text) => `${text}-kept`.toUpperCase(), (reference) => reference.toLowerCase()],
  ["in lower case", (text) => `${text}-kept`.toLowerCase(), (reference) => reference.toUpperCase()],
  ["with a composed accent", (text) => `${text}-\u00E9t\u00E9`, (reference) => reference.normalize("NFD")],
  ["with a combining accent", (text) => `${text}-e\u0301te\u0301`, (reference) => reference.normalize("NFC")],
  ["with a space at the end", (text) => `${text} `, (reference) => reference.trim()],
  ["with a space at the start", (text) => ` ${text}`, (reference) => reference.trim()],
];

/** How many payouts are created at the same time. */
const concurrency = 6;

/** Returns a request's webhookURL; nothing if the run does not receive webhooks. */
const address = ({ receiver }: Context) => (receiver ? { webhookURL: receiver.openMailbox().url } : {});

function plans(context: Context): Plan[] {
  const { failingRecipient: phoneNumber } = context.options;
  const all: Plan[] = [
    { what: "a payout", over: address(context) },
    { what: "a payout without a webhookURL", over: {} },
    ...(phoneNumber && exceeded(context.limits.all, { phoneNumber }) === undefined
      ? [{ what: "a failing payout", over: { phoneNumber, ...address(context) } }]
      : []),
    ...spellings.map(([what, spell, other]) => {
      const reference = spell(context.fresh());
      return { what: `a reference ${what}`, over: { reference, ...address(context) }, otherSpelling: other(reference) };
    }),
  ];
  // The amounts differ, so that the check notices mixed-up records.
  const least = usualAmount - context.random(0, 900);
  return all.map(({ over, ...plan }, index) => ({ ...plan, over: { ...over, amount: least + index } }));
}

/** Creates a payout. Returns undefined if the target refuses its unusual reference. */
async function create(context: Context, { what, over, otherSpelling }: Plan): Promise<Kept | undefined> {
  const body = disbursementBody(context, over);
  const response = await pay(context, body);
  const { reference } = dataOf(response);
  if (otherSpelling !== undefined && isRefusal(response)) return undefined;
  given(response.status === 200 && typeof reference === "string", `200 with a service reference for ${what}`, response);
  // Retrieve the record before it settles, to know its facts.
  await verifyDisbursement(context, reference);
  const plain = otherSpelling === undefined && over["phoneNumber"] === undefined;
  return { what, body, reference, plain, ...(otherSpelling === undefined ? {} : { otherSpelling }) };
}

/** Creates a checkout. If there is an outcome and the target can finish checkouts, also finishes it. */
async function createCheckout(context: Context, outcome?: string) {
  const created = await startCheckout(context, checkoutBody(context, address(context)));
  if (outcome !== undefined && hasControl(context.options, "finish")) await finishAny(context, created, outcome);
}

/** Retrieves the kept records. */
const lookAtKept = (context: Context): Promise<void> => lookAt(context, keptByRun.get(context.facts)?.records ?? []);

/** Advances the sandbox time if the target has a clock that moves. Returns false if the target has no such clock. */
async function moveTime(context: Context, seconds: number): Promise<boolean> {
  if (!hasControl(context.options, "clock")) return false;
  return (await moveClock(context, { seconds })).status === 200;
}

const most = spellings.length + 3;

/** The least time between the creation of the kept payouts and the closing checks. */
const leastAgeMs = 3500;
const pollMs = 500;
const lingerPollMs = 5000;
const agedRuns = new WeakSet<Facts>();

/** How far the sandbox time moves: longer than caches and sessions usually live. */
const movedSeconds = 2 * 3600;

/** Waits until this time, and retrieves the kept records at this interval. */
async function waitUntil(context: Context, end: number, interval: number) {
  for (;;) {
    const left = end - context.now().getTime();
    if (left <= 0) return;
    await context.sleep(Math.min(interval, left));
    await lookAtKept(context);
  }
}

/**
 * Once in a run, waits until the first payouts have the age of `--linger`, and then lets hours of sandbox time pass.
 */
async function aged(context: Context) {
  const since = (keptSince(context) ?? context.facts.records.at(-1)?.at)?.getTime() ?? -Infinity;
  await waitUntil(context, since + leastAgeMs, pollMs);
  if (agedRuns.has(context.facts)) return;
  agedRuns.add(context.facts);
  const end = since + context.options.linger * 1000;
  if (end > context.now().getTime()) {
    await lookAt(context, retrievable(context));
    await waitUntil(context, end, lingerPollMs);
  }
  await moveTime(context, movedSeconds);
}

/** Judges that each checkout has a value of this kind that no other checkout has. */
function judgeCheckoutsApart(
  context: Context,
  what: string,
  checkouts: readonly RecordFact[],
  valuesOf: (checkout: RecordFact) => string[],
) {
  const values = checkouts.map((checkout) => [...new Set(valuesOf(checkout))]);
  const uses = new Map<string, number>();
  for (const value of values.flat()) uses.set(value, (uses.get(value) ?? 0) + 1);
  const shared = checkouts.filter((_, index) => values[index]?.every((value) => (uses.get(value) ?? 0) > 1));
  const expected = `a ${what} of its own for each of ${counted(checkouts.length, "checkout")}`;
  const actual = shared.length === 0 ? "as expected" : `${shared.length} share it`;
  const evidence = shared.slice(0, 10).map(({ response }) => response);
  context.judge("life.checkouts-apart", shared.length === 0, expected, actual, evidence);
}

/** The largest amount of a payout that is kept. */
const largestAmount = usualAmount + 100;
const mostSpellings = 6;

type Body = Record<string, unknown>;

/** Judges that a used reference is refused. Returns false if the target paid, so that the check can stop. */
async function isUsed(context: Context, id: RequirementId, what: string, body: Body): Promise<boolean> {
  const response = await payInvalid(context, body);
  expectStatus(context, id, response, 409, `for ${what}`);
  return response.status !== 200;
}

/** Creates a payout under another spelling of a used reference. Judges that the original record stays as it is. */
async function useOtherSpelling(context: Context, { what, body, reference, otherSpelling }: Kept) {
  const response = await pay(context, { ...body, webhookURL: undefined, reference: otherSpelling });
  const made = dataOf(response);
  const isDistinct = made["reference"] !== reference && made["merchantsReference"] === otherSpelling;
  const ok = response.status === 200 ? isDistinct : response.status === 409 || isRefusal(response);
  const expected = `a payout of its own or a refusal for another spelling of ${what}`;
  shows(context, "life.spellings-used", response, ok, expected);
  expectStatus(context, "life.spellings-distinct", response, 200, `for another spelling of ${what}`);
  const original = await verifyDisbursement(context, reference);
  const kept = dataOf(original)["merchantsReference"] === body["reference"];
  const actual = describeResponse(original);
  context.judge("life.spellings-used", kept, `the record of ${what} as before`, actual, [response, original]);
  return [what, response.status === 200 ? "accepted" : "refused"] as const;
}

/** How long to wait for a status that a notification has announced. */
const graceMs = 8000;
const all = ({ receiver }: Context) => receiver?.all ?? [];

/** Retrieves the records whose final state is not known yet. */
const lookAtOpen = (context: Context) =>
  lookAt(
    context,
    retrievable(context).filter(({ record }) => !isFinal(record?.["status"])),
  );

/** Judges that every final record of this kind with a mailbox was notified. */
async function judgeSent(context: Context, id: RequirementId, kind: "disbursement" | "checkout") {
  const { readAfterWriteMs, replicas = readAfterWriteMs !== undefined } = context.limits.all;
  const state = () => notNotified(context.facts, all(context), kind, replicas);
  await eventually(context, () => state().lost.length === 0, patienceOf(context));
  const { due, lost } = state();
  if (due === 0) {
    const why = `no ${kind} with a webhookURL became final`;
    const isLeftOpen = kind === "checkout" && !hasControl(context.options, "finish");
    return isLeftOpen ? context.notApplicable(id, why, "caller", "--interactive") : context.couldNotRun(id, why);
  }
  const names = lost.slice(0, 5).map((record) => historyOf(context.facts, record)?.reference);
  const expected = `a notification for each of ${counted(due, "outcome")} of a ${kind} in a response`;
  const otherwise = `none for ${lost.length} of ${due}: ${names.join(", ")}`;
  const evidence = lost.map(({ response }) => response);
  holds(context, id, lost.length === 0, expected, otherwise, evidence);
}

/** Words in an event's name that announce a final status. */
const namedEnds: [status: string, pattern: RegExp][] = [
  ["failed", /fail|reject|declin/i],
  ["success", /succe/i],
];

/** Judges that verify returns, for each record, the last final status that was notified. */
async function judgeEnds(context: Context) {
  const id = "life.ends-as-notified";
  const ends = () =>
    lastEnds(statements(context.facts, all(context))).filter(({ owner }) => owner.kind === "disbursement");
  const open = () => ends().filter(({ history }) => !isFinal(history.statuses.at(-1)?.status));
  const isClosed = async () => {
    await lookAt(
      context,
      open().map(({ history }) => history),
    );
    return open().length === 0;
  };
  await eventually(context, isClosed, graceMs);
  const faults = ends().flatMap((statement) => {
    const { owner, history } = statement;
    const last = history.statuses.at(-1);
    const evidence = last ? [owner.response, last.response] : owner.response;
    const claims = new Set([claimedEnd(statement)]);
    const name = eventName(statement.notification.json);
    for (const [end, pattern] of namedEnds) if (name !== undefined && pattern.test(name)) claims.add(end);
    const wrong = [...claims].filter((claim) => claim !== last?.status);
    return wrong.map((claim) => ({
      actual: `${claim} was notified of ${history.reference}, verify returns ${last?.status}`,
      evidence,
    }));
  });
  const { readAfterWriteMs = 0, replicas = false } = context.limits.all;
  for (const { history, notification, owner } of replicas ? [] : ends()) {
    const { open: pending } = history;
    const lateMs = pending ? sentAt(pending) - notification.at.getTime() : 0;
    if (pending && lateMs > readAfterWriteMs)
      faults.push({
        actual: `${history.reference} was still pending ${lateMs} ms after its end was notified`,
        evidence: [owner.response, pending],
      });
  }
  if (ends().length === 0) return context.notApplicable(id, "no notification states the status of a payout");
  expectNone(context, id, "the end that verify returns", faults, counted(ends().length, "webhook"));
}

/** Returns the values of the fields named `amount` in a JSON value. */
function amountsIn(value: unknown, name = ""): unknown[] {
  if (typeof value === "number" || typeof value === "string") return /^amount$/i.test(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => amountsIn(inner, key));
}

/** Judges that a notification which states an amount states it as the integer of the request. */
function judgeAmounts(context: Context) {
  const id = "webhook.amount";
  const byBox = Map.groupBy(context.facts.records, ({ mailbox }) => mailbox);
  const made = all(context).flatMap(({ box, json }) => {
    const [owner, ...others] = byBox.get(box) ?? [];
    const stated = amountsIn(json);
    return owner && others.length === 0 && stated.length > 0 ? [{ owner, stated }] : [];
  });
  if (made.length === 0) return context.notApplicable(id, "no notification with an amount was received");
  const faults = made.flatMap(({ owner: { sent, response: evidence }, stated }) => {
    const actual = `${JSON.stringify(stated)} for an amount of ${textOf(sent["amount"])}`;
    return stated.includes(sent["amount"]) ? [] : [{ actual, evidence }];
  });
  expectNone(context, id, "the payment's amount in its notification", faults, counted(made.length, "webhook"));
}

/**
 * Returns how a webhook differs from D11, and the response with its record; undefined if the webhook does not differ,
 * or if its record has no final status.
 */
function eventFault(context: Context, { json }: { json: unknown }) {
  const { event, data } = (json ?? {}) as { event?: unknown; data?: Fields };
  const kind = textOf(event).startsWith("checkout") ? "checkout" : "disbursement";
  const reference = textOf(data?.["reference"]);
  const { record, read } =
    (["own", "second"] as const)
      .map((merchant) => context.facts.histories.find(merchant, kind, reference))
      .find((each) => each?.record !== undefined) ?? {};
  if (!record) return { actual: `${textOf(event)} is about ${reference}, which is no known ${kind}` };
  const { status } = record;
  if (!isFinal(status)) return undefined;
  const name = `${kind}.${status === "success" ? "completed" : textOf(status)}`;
  if (event !== name) return { actual: `${textOf(event)} instead of ${name} for ${reference}`, read };
  return equal(data, record) ? undefined : { actual: `data differs from the record of ${reference}`, read };
}

const addressed = ["life.webhooks-addressed", "webhook.only-with-address"] as const;

/** Judges that no address received notifications of another record or of a refused request. */
function judgeAddressed(context: Context, received: ReturnType<typeof all>, named: number) {
  const strays = misdirected(context.facts, received);
  const unknown = "notifications do not name their record, so a stray one cannot be recognised";
  const [throughout, ofPayouts] = addressed;
  for (const id of [throughout, ofPayouts])
    if (id === ofPayouts && named === 0 && strays.length === 0) context.notApplicable(id, unknown);
    else expectNone(context, id, "only an address's own notifications", strays, counted(received.length, "webhook"));
}

const closingWithReceiver = { phase: "closing", needs: ["receiver"] } as const;
const twoDays = 2 * 86_400;
const statusOf = ({ statuses }: History) => statuses.at(-1)?.status;
const isPending = (history: History) => statusOf(history) === "pending";
const nonePaid = "no payout of the run was accepted that could be followed";

/** The requirements that contradictions violate. */
const rules: [id: RequirementId, expected: string, applies: (contradiction: Contradiction) => boolean][] = [
  [
    "life.facts-kept",
    "the same facts in every response about a payout",
    ({ kind, what }) => kind === "disbursement" && what === "fact",
  ],
  [
    "life.final-status",
    "no other status after a final one",
    ({ kind, what }) => kind === "disbursement" && what === "final-status",
  ],
  ["life.checkouts-kept", "the same facts and final status in every response", ({ kind }) => kind === "checkout"],
];

/** Judges one rule by the contradictions of the whole run. */
function judgeContradictions(context: Context, [id, rule, applies]: (typeof rules)[number], looked: number) {
  if (looked === 0) return context.couldNotRun(id, "the target accepted nothing that could be followed");
  const found = context.facts.histories.contradictions.filter(applies);
  expectNone(context, id, rule, found, counted(looked, "record"));
}

/** Judges that verify returns each of these payouts. */
function judgeExistence(context: Context, payouts: readonly History[]) {
  const id = "life.records-kept";
  const found = context.facts.histories.contradictions.filter(({ what, kind }) => {
    return what === "existence" && kind === "disbursement";
  });
  if (payouts.length === 0) return context.couldNotRun(id, nonePaid);
  expectNone(context, id, "the record in each response", found, counted(payouts.length, "payout"));
  const never = payouts.filter(({ record }) => record === undefined).map(({ reference }) => reference);
  const expected = `200 with a record for each of ${counted(payouts.length, "accepted payout")}`;
  holds(context, id, never.length === 0, expected, `no record of ${never.slice(0, 5).join(", ")}`);
}

/** Judges that no two accepted payouts have the same service reference or record id. */
function judgeApart(context: Context, payouts: readonly History[]) {
  const references = context.facts.records.flatMap(({ reference, key }) =>
    reference === undefined || key !== "own" ? [] : [reference],
  );
  const ids = payouts.flatMap(({ record, merchant }) => (merchant === "own" && record ? [textOf(record["id"])] : []));
  for (const [what, values] of Object.entries({ "service reference": references, "record id": ids })) {
    const shared = [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
    const otherwise = `shared: ${shared.slice(0, 5).join(", ")}`;
    holds(context, "life.payouts-apart", shared.length === 0, `a ${what} for each payout`, otherwise);
  }
}

/** Judges that the ordinary payouts among the kept payouts do not stay pending. */
async function judgeSettlement(context: Context) {
  const id = "life.settles";
  const plain = keptOf(context).filter(({ plain: isPlain }) => isPlain);
  if (plain.length === 0) return context.couldNotRun(id, nonePaid);
  const pending = () =>
    plain.flatMap(({ reference }) => {
      const history = context.facts.histories.find("own", "disbursement", reference);
      return history && isPending(history) ? [history] : [];
    });
  const wait = async () => {
    for (const { reference } of pending().slice(0, 1)) await settledByClock(context, reference);
    await lookAt(context, pending());
  };
  await wait();
  if (pending().length > 0 && (await moveTime(context, twoDays))) await wait();
  const left = pending();
  const pendingOnes = left.map(({ reference }) => reference).join(", ");
  holds(context, id, left.length === 0, "success or failed in the end", `pending: ${pendingOnes}`);
}

export const checks = define([
  {
    name: "Checkouts of the run are distinct",
    ids: ["life.checkouts-apart"],
    phase: "closing",
    async run(context) {
      // The last checkouts repeat one request, so that every run has checkouts to compare, whichever checks were
      // selected.
      const body = checkoutBody(context);
      for (let count = 0; count < 3; count += 1) await startCheckout(context, body);
      const checkouts = context.facts.records.filter(({ kind }) => kind === "checkout");
      judgeCheckoutsApart(context, "link", checkouts, ({ response, sent }) => linksOf(response, Object.values(sent)));
      judgeCheckoutsApart(context, "reference", checkouts, ({ response }) => referencesOf(response));
    },
  },

  {
    name: "References of the run are used again",
    ids: ["life.references-used"],
    phase: "closing",
    pays: repeatCost.payouts + 1,
    upTo: (options) => [largestAmount, ...repeatCost.amounts(options)],
    async run(context) {
      await aged(context);
      const id = "life.references-used";
      for (const { what, body } of keptOf(context).filter(({ otherSpelling }) => otherSpelling === undefined))
        if (!(await isUsed(context, id, what, body))) return;
      await repeatAll(context, "end", [id]);
    },
  },
  {
    name: "References in unusual spellings are used again",
    ids: ["life.spellings-used", "life.spellings-distinct", "life.other-spellings"],
    phase: "closing",
    pays: mostSpellings + 1,
    upTo: largestAmount,
    async run(context) {
      await aged(context);
      const spelled = keptOf(context).filter(({ otherSpelling }) => otherSpelling !== undefined);
      if (spelled.length === 0) {
        for (const id of this.ids) context.notApplicable(id, "the target refuses references in unusual spellings");
      }
      const seen: (readonly [string, string])[] = [];
      for (const kept of spelled) {
        seen.push(await useOtherSpelling(context, kept));
        const what = `${kept.what}, after another spelling`;
        if (!(await isUsed(context, "life.spellings-used", what, kept.body))) break;
      }
      if (seen.length > 0) context.observe("life.other-spellings", "responses", Object.fromEntries(seen));
    },
  },

  {
    name: "Every payout of the run was notified truthfully",
    ids: ["life.webhooks-sent", "life.ends-as-notified", "life.webhooks-true", ...addressed, "webhook.amount"],
    ...closingWithReceiver,
    async run(context) {
      await aged(context);
      await lookAtOpen(context);
      await judgeSent(context, "life.webhooks-sent", "disbursement");
      await judgeEnds(context);
      const received = all(context);
      if (received.length === 0) {
        for (const id of this.ids.slice(2)) context.couldNotRun(id, "no webhook was received");
        return;
      }
      judgeAmounts(context);
      const made = statements(context.facts, received);
      const lies = falseStatements(made).map(({ statement: { owner, history }, fields }) => ({
        actual: `${fields.join(", ")} of ${history.reference}`,
        evidence: [owner.response, ...fields.flatMap((field) => history.facts.get(field)?.response ?? [])],
      }));
      const broken = unreadable(received).map((notification) => ({
        actual: `JSON that cannot be parsed: ${notification.body.slice(0, 80)}`,
        evidence: requestsBehind(context, notification),
      }));
      const [id, faults] = ["life.webhooks-true", [...broken, ...lies]] as const;
      if (made.length + broken.length === 0) context.notApplicable(id, "no notification names its record");
      else expectNone(context, id, "the facts of the record", faults, counted(made.length, "webhook"));
      judgeAddressed(context, received, made.length);
    },
  },
  {
    name: "Every webhook of the run agrees with its record",
    ids: ["life.events-agree", "life.checkout-events-sent"],
    ...closingWithReceiver,
    async run(context) {
      await lookAtOpen(context);
      await judgeSent(context, "life.checkout-events-sent", "checkout");
      const received = all(context);
      if (received.length === 0) return context.couldNotRun("life.events-agree", "no webhook was received");
      const faults = received.flatMap((notification) => {
        const { actual, read } = eventFault(context, notification) ?? {};
        const evidence = [...requestsBehind(context, notification), ...(read ? [read] : [])];
        return actual === undefined ? [] : [{ actual, evidence }];
      });
      const looked = counted(received.length, "webhook");
      expectNone(context, "life.events-agree", "the record's event and data", faults, looked);
    },
  },

  {
    name: "Payouts are created to be kept until the end",
    ids: ["life.records-kept"],
    phase: "opening",
    pays: most,
    upTo: usualAmount + most,
    async run(context) {
      const made = await several(plans(context), concurrency, (plan) => create(context, plan));
      const payouts = made.filter((each) => each !== undefined);
      for (const outcome of ["success", "failed", undefined]) await createCheckout(context, outcome);
      await moveTime(context, 60);
      const records = retrievable(context);
      await lookAt(context, records);
      keptByRun.set(context.facts, { payouts, records, since: context.now() });
      const read = ({ reference }: Kept) => verifyDisbursement(context, reference);
      for (const [index, response] of (await several(payouts, concurrency, read)).entries())
        expectStatus(context, "life.records-kept", response, 200, `with the record of ${payouts[index]!.what}`);
    },
  },
  {
    name: "Every record of the run is read again",
    ids: ["life.records-kept", "life.facts-kept", "life.payouts-apart", "life.settles", "life.final-status"],
    phase: "closing",
    async run(context) {
      await aged(context);
      const payouts = () => retrievable(context).filter(({ kind }) => kind === "disbursement");
      if (payouts().some(isPending)) await moveTime(context, 60);
      await lookAt(context, payouts());
      judgeExistence(context, payouts());
      judgeApart(context, payouts());
      for (const rule of rules.slice(0, 2)) judgeContradictions(context, rule, payouts().length);
      // This judgement comes last, because it ends the check if a payout of a target without a clock is still pending.
      await judgeSettlement(context);
    },
  },
  {
    name: "Every checkout of the run is read again",
    ids: ["life.checkouts-kept"],
    phase: "closing",
    async run(context) {
      const checkouts = () => retrievable(context).filter(({ kind }) => kind === "checkout");
      await lookAt(context, checkouts());
      for (const rule of rules.slice(2)) judgeContradictions(context, rule, checkouts().length);
      const open = checkouts().filter(({ record }) => record === undefined);
      const expected = "a record for each accepted checkout";
      holds(context, "life.checkouts-kept", open.length === 0, expected, `no record of ${open[0]?.reference}`);
    },
  },
]);
