// Judges the whole run before the verdict: lets time pass, reads every record again, uses every reference again, and
// compares webhooks and checkouts with their records (§2.1 to §2.3, §4.3, §6, §7, D11, D15).
import { judges, type Context } from "../../check.ts";
import type { Facts } from "../../history/facts.ts";
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
import { eventually, lookAt, lookAtOpen, retrievable } from "../../steps/several.ts";
import { expectNone, expectStatus } from "../../steps/expect.ts";
import { eventName, patienceOf, requestsBehind } from "../../steps/notifications.ts";
import { checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import { isRefusal, leavesOf } from "../../steps/responses.ts";
import { dataOf, type TargetResponse } from "../../target/exchange.ts";
import { pay, payInvalid, startCheckout, verifyDisbursement } from "../../steps/requests.ts";
import { referenceKinds } from "../../generate/inputs.ts";
import { moveClock } from "../../steps/sandbox-controls.ts";
import { settledByClock } from "../../steps/settlement.ts";
import { equal, textOf } from "../../target/values.ts";
import { linksOf, referencesOf } from "../../steps/checkouts.ts";
import { type Made, madeIn, settledAt, repeatAll, repeatCost } from "../inputs/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/** Advances the sandbox time if the target has a clock that moves. Returns false if the target has no such clock. */
async function moveTime(context: Context, seconds: number): Promise<boolean> {
  if (!hasControl(context.options, "clock")) return false;
  return (await moveClock(context, { seconds })).status === 200;
}

/** The least time between the creation of the first payouts and the closing checks. */
const leastAgeMs = 3500;
const pollMs = 500;
const lingerPollMs = 5000;
const agedRuns = new WeakSet<Facts>();

/** How far the sandbox time moves: longer than caches and sessions usually live. */
const movedSeconds = 2 * 3600;

/** Returns the histories of these payouts. */
const historiesOf = ({ facts }: Context, payouts: readonly Made[]) =>
  payouts.flatMap(
    ({ response }) => facts.histories.find("own", "disbursement", textOf(dataOf(response)["reference"])) ?? [],
  );

/** Waits until this time, and retrieves some of the payouts of the model's conditions at this interval. */
async function waitUntil(context: Context, end: number, interval: number) {
  for (;;) {
    const left = end - context.now().getTime();
    if (left <= 0) return;
    await context.sleep(Math.min(interval, left));
    await lookAt(context, historiesOf(context, madeIn(context).slice(0, 12)));
  }
}

/**
 * Once in a run, waits until the first payouts have the age of `--linger`, and then lets hours of sandbox time pass.
 */
async function aged(context: Context) {
  const since = (settledAt(context) ?? context.facts.records.at(-1)?.at)?.getTime() ?? -Infinity;
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

/** Judges that each record has a value of this kind that no other record has. */
function judgeApart<Item extends { response?: TargetResponse; read?: TargetResponse }>(
  context: Context,
  id: RequirementId,
  what: string,
  records: readonly Item[],
  valuesOf: (record: Item) => string[],
) {
  const values = records.map((record) => [...new Set(valuesOf(record))]);
  const uses = Map.groupBy(values.flat(), (value) => value);
  const shared = records.filter((_, index) => values[index]!.every((value) => uses.get(value)!.length > 1));
  const expected = `a ${what} of its own for each of ${counted(records.length, "record")}`;
  const evidence = shared.slice(0, 10).flatMap(({ response, read }) => response ?? read ?? []);
  context.judge(id, shared.length === 0, expected, [`${shared.length} share it`], evidence);
}

/**
 * Creates a payout under another spelling of a used reference, and then uses the reference itself again. Judges that the
 * original record stays as it is. Returns how the target responded to the other spelling, and whether it paid again.
 */
async function useOtherSpelling(context: Context, { conditions, body, response }: Made, id: RequirementId) {
  const { what, other } = conditions.reference;
  const [own, reference] = [textOf(body["reference"]), textOf(dataOf(response)["reference"])];
  const respelled = await pay(context, { ...disbursementBody(context), reference: other(own) });
  const created = dataOf(respelled);
  const isDistinct = created["reference"] !== reference && created["merchantsReference"] === other(own);
  const ok = respelled.status === 200 ? isDistinct : respelled.status === 409 || isRefusal(respelled);
  context.judge(id, ok, `a payout of its own or a refusal for another spelling of ${what}`, respelled);
  expectStatus(context, "life.spellings-distinct", respelled, 200, `for another spelling of ${what}`);
  const original = await verifyDisbursement(context, reference);
  const isKept = dataOf(original)["merchantsReference"] === own;
  context.judge(id, isKept, `the record of ${what} as before`, original, [respelled, original]);
  const again = await payInvalid(context, { ...disbursementBody(context), reference: own });
  expectStatus(context, id, again, 409, `for ${what}, after another spelling`);
  const way = [what, respelled.status === 200 ? "accepted" : "refused"] as const;
  return { way, isPaidAgain: again.status === 200 };
}

const ofSpellings = ["life.spellings-used", "life.spellings-distinct", "life.other-spellings"] as const;

/** How long to wait for a status that a notification has announced. */
const graceMs = 8000;
const allReceived = ({ receiver }: Context) => receiver?.all ?? [];

/** Judges that every final record of this kind with a mailbox was notified. */
async function judgeSent(context: Context, id: RequirementId, kind: "disbursement" | "checkout") {
  const { readAfterWriteMs, replicas = readAfterWriteMs !== undefined } = context.limits.all;
  const state = () => notNotified(context.facts, allReceived(context), kind, replicas);
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
  context.judge(id, lost.length === 0, expected, [otherwise], evidence);
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
    lastEnds(statements(context.facts, allReceived(context))).filter(({ owner }) => owner.kind === "disbursement");
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

/** Judges that a notification which states an amount states it as the integer of the request. */
function judgeAmounts(context: Context) {
  const id = "webhook.amount";
  const byBox = Map.groupBy(context.facts.records, ({ mailbox }) => mailbox);
  const webhooks = allReceived(context).flatMap(({ box, json }) => {
    const [owner, ...others] = byBox.get(box) ?? [];
    const stated = leavesOf(json).flatMap(([name, leaf]) => (/^amount$/i.test(name) && leaf !== null ? [leaf] : []));
    return owner && others.length === 0 && stated.length > 0 ? [{ owner, stated }] : [];
  });
  if (webhooks.length === 0) return context.notApplicable(id, "no notification with an amount was received");
  const faults = webhooks.flatMap(({ owner: { sent, response: evidence }, stated }) => {
    const actual = `${JSON.stringify(stated)} for an amount of ${textOf(sent["amount"])}`;
    return stated.some((leaf) => leaf === sent["amount"]) ? [] : [{ actual, evidence }];
  });
  expectNone(context, id, "the payment's amount in its notification", faults, counted(webhooks.length, "webhook"));
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
const ofReceived = ["life.webhooks-true", ...addressed, "webhook.amount"] as const;

/** Judges that no address received notifications of another record or of a refused request. */
function judgeAddressed(context: Context, received: ReturnType<typeof allReceived>, named: number) {
  const strays = misdirected(context.facts, received);
  for (const id of addressed)
    if (id === "webhook.only-with-address" && named === 0 && strays.length === 0)
      context.notApplicable(id, "notifications do not name their record, so a stray one cannot be recognised");
    else expectNone(context, id, "only an address's own notifications", strays, counted(received.length, "webhook"));
}

const closingWithReceiver = { phase: "closing", needs: ["receiver"] } as const;
const twoDays = 2 * 86_400;
const isPending = ({ statuses }: History) => statuses.at(-1)?.status === "pending";
const nonePaid = "no payout of the run was accepted that could be followed";

type Rule = { id: RequirementId; expected: string; of: readonly Contradiction["what"][] };
const factsKept = "the same facts in every response about a payout";

/** The requirements that contradictions between responses violate. The first of each kind also demands a record. */
const rules: Record<History["kind"], Rule[]> = {
  disbursement: [
    { id: "life.records-kept", expected: "the record in each response", of: ["existence"] },
    { id: "life.facts-kept", expected: factsKept, of: ["fact"] },
    { id: "life.final-status", expected: "no other status after a final one", of: ["final-status"] },
  ],
  checkout: [
    {
      id: "life.checkouts-kept",
      expected: "the same facts and final status in every response",
      of: ["existence", "fact", "final-status"],
    },
  ],
};

const ofKind = (context: Context, kind: History["kind"]) => retrievable(context).filter((each) => each.kind === kind);

/** Reads all records of a kind again. Judges that each exists, and that no response contradicts an earlier one. */
async function judgeKept(context: Context, kind: History["kind"]) {
  await lookAt(context, ofKind(context, kind));
  const looked = ofKind(context, kind);
  for (const { id, expected, of } of rules[kind]) {
    const found = context.facts.histories.contradictions.filter((each) => each.kind === kind && of.includes(each.what));
    if (looked.length === 0) context.couldNotRun(id, nonePaid);
    else expectNone(context, id, expected, found, counted(looked.length, "record"));
  }
  const never = looked.filter(({ record }) => record === undefined).map(({ reference }) => reference);
  const expected = `a record for each of ${counted(looked.length, `accepted ${kind}`)}`;
  context.judge(rules[kind][0]!.id, never.length === 0, expected, [`no record of ${never.slice(0, 5).join(", ")}`]);
}

const isPlain = ({ conditions }: Made) => !conditions.currency.foreign && !conditions.number.foreign;

/** Judges that ordinary payouts do not stay pending. */
async function judgeSettlement(context: Context) {
  const id = "life.settles";
  const plain = madeIn(context).filter(isPlain).slice(0, 2);
  if (plain.length === 0) return context.couldNotRun(id, nonePaid);
  const pending = () => historiesOf(context, plain).filter(isPending);
  const wait = async () => {
    for (const { reference } of pending().slice(0, 1)) await settledByClock(context, reference);
    await lookAt(context, pending());
  };
  await wait();
  if (pending().length > 0 && (await moveTime(context, twoDays))) await wait();
  const left = pending();
  const pendingOnes = left.map(({ reference }) => reference).join(", ");
  context.judge(id, left.length === 0, "success or failed in the end", [`pending: ${pendingOnes}`]);
}

export const checks = [
  judges("life.checkouts-apart", { phase: "closing" }, async (context, id) => {
    // The last checkouts repeat one request, so that every run has checkouts to compare, whichever checks were
    // selected.
    const body = checkoutBody(context);
    for (let count = 0; count < 3; count += 1) await startCheckout(context, body);
    const checkouts = context.facts.records.filter(({ kind }) => kind === "checkout");
    judgeApart(context, id, "link", checkouts, ({ response, sent }) => linksOf(response, Object.values(sent)));
    judgeApart(context, id, "reference", checkouts, ({ response }) => referencesOf(response));
  }),

  judges(
    "life.references-used",
    { phase: "closing", pays: repeatCost.payouts, upTo: repeatCost.amounts },
    async (context, id) => {
      await aged(context);
      await repeatAll(context, "end", [id]);
    },
  ),
  judges(ofSpellings, { phase: "closing", pays: referenceKinds + 1 }, async (context, id) => {
    await aged(context);
    const respellable = madeIn(context).filter(({ body, conditions: { reference } }) => {
      const own = textOf(body["reference"]);
      return reference.other(own) !== own;
    });
    const byKind = Map.groupBy(respellable, ({ conditions }) => conditions.reference.what);
    if (madeIn(context).length === 0) return context.couldNotRun(ofSpellings, nonePaid);
    if (byKind.size === 0)
      return context.notApplicable(ofSpellings, "the target accepts no reference that has another spelling");
    const seen: (readonly [string, string])[] = [];
    for (const [payout] of byKind.values()) {
      const { way, isPaidAgain } = await useOtherSpelling(context, payout!, id);
      seen.push(way);
      if (isPaidAgain) break;
    }
    context.observe("life.other-spellings", "responses", Object.fromEntries(seen.toSorted()));
  }),

  judges(["life.webhooks-sent", "life.ends-as-notified", ...ofReceived], closingWithReceiver, async (context, id) => {
    await aged(context);
    await lookAtOpen(context);
    await judgeSent(context, id, "disbursement");
    await judgeEnds(context);
    const received = allReceived(context);
    if (received.length === 0) return context.couldNotRun(ofReceived, "no webhook was received");
    judgeAmounts(context);
    const stated = statements(context.facts, received);
    const lies = falseStatements(stated).map(({ statement: { owner, history }, fields }) => ({
      actual: `${fields.join(", ")} of ${history.reference}`,
      evidence: [owner.response, ...fields.flatMap((field) => history.facts.get(field)?.response ?? [])],
    }));
    const broken = unreadable(received).map((notification) => ({
      actual: `JSON that cannot be parsed: ${notification.body.slice(0, 80)}`,
      evidence: requestsBehind(context, notification),
    }));
    const truth = "life.webhooks-true";
    if (stated.length + broken.length === 0) context.notApplicable(truth, "no notification names its record");
    else expectNone(context, truth, "the facts of the record", [...broken, ...lies], counted(stated.length, "webhook"));
    judgeAddressed(context, received, stated.length);
  }),
  judges(["life.events-agree", "life.checkout-events-sent"], closingWithReceiver, async (context, id) => {
    await lookAtOpen(context);
    await judgeSent(context, "life.checkout-events-sent", "checkout");
    const received = allReceived(context);
    if (received.length === 0) return context.couldNotRun(id, "no webhook was received");
    const faults = received.flatMap((notification) => {
      const { actual, read } = eventFault(context, notification) ?? {};
      const evidence = [...requestsBehind(context, notification), ...(read ? [read] : [])];
      return actual === undefined ? [] : [{ actual, evidence }];
    });
    expectNone(context, id, "the record's event and data", faults, counted(received.length, "webhook"));
  }),

  judges(
    ["life.records-kept", "life.facts-kept", "life.payouts-apart", "life.settles", "life.final-status"],
    { phase: "closing" },
    async (context) => {
      await aged(context);
      if (ofKind(context, "disbursement").some(isPending)) await moveTime(context, 60);
      await judgeKept(context, "disbursement");
      const payouts = context.facts.records.filter(({ key, reference }) => key === "own" && reference !== undefined);
      judgeApart(context, "life.payouts-apart", "service reference", payouts, ({ reference }) => [reference!]);
      const read = ofKind(context, "disbursement").filter(({ merchant, record }) => merchant === "own" && record);
      judgeApart(context, "life.payouts-apart", "record id", read, ({ record }) => [textOf(record!["id"])]);
      // This judgement comes last, because it ends the check if a payout of a target without a clock is still pending.
      await judgeSettlement(context);
    },
  ),
  judges("life.checkouts-kept", { phase: "closing" }, async (context) => {
    await aged(context);
    await judgeKept(context, "checkout");
  }),
];
