// Judges all webhooks of the run before the verdict (§6, D11).
import type { Check, Context } from "../../check.ts";
import { isFinal, sentAt, type Fields } from "../../history/history.ts";
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
import { aged } from "./ageing.ts";
import { eventually } from "../../steps/eventually.ts";
import { expectNone, holds } from "../../steps/expect.ts";
import { lookAt, retrievable } from "../../steps/looks.ts";
import { eventName, patienceOf, requestsBehind } from "../../steps/notifications.ts";
import { equal, textOf } from "../../target/values.ts";

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
async function judgeSent(context: Context, id: string, kind: "disbursement" | "checkout") {
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

const shared = { phase: "closing", effect: "moves-money", needs: ["receiver"] } as const;

export const checks: Check[] = [
  {
    name: "Every payout of the run was notified truthfully",
    ids: ["life.webhooks-sent", "life.ends-as-notified", "life.webhooks-true", ...addressed, "webhook.amount"],
    ...shared,
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
    ...shared,
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
];
