// The payouts that a run creates first and keeps until its end, so that real time passes for them.
import { given, type Check, type Context } from "../../check.ts";
import type { Facts } from "../../history/facts.ts";
import type { History } from "../../history/history.ts";
import { exceeded } from "../../allowances/table.ts";
import { hasControl } from "../../run-options.ts";
import { expectStatus } from "../../steps/expect.ts";
import { lookAt, retrievable } from "../../steps/looks.ts";
import {
  checkoutBody,
  dataOf,
  disbursementBody,
  isRefusal,
  pay,
  pays,
  startCheckout,
  usualAmount,
  verifyDisbursement,
} from "../../steps/requests.ts";
import { finishAny, moveClock } from "../../steps/sandbox-controls.ts";
import { several } from "../../steps/several.ts";

export type Kept = {
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
export const keptOf = ({ facts }: Context): readonly Kept[] => keptByRun.get(facts)?.payouts ?? [];

/** Returns the time since when the run has kept payouts; undefined if it keeps no payouts. */
export const keptSince = ({ facts }: Context): Date | undefined => keptByRun.get(facts)?.since;

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
export const lookAtKept = (context: Context): Promise<void> =>
  lookAt(context, keptByRun.get(context.facts)?.records ?? []);

/** Advances the sandbox time if the target has a clock that moves. Returns false if the target has no such clock. */
export async function moveTime(context: Context, seconds: number): Promise<boolean> {
  if (!hasControl(context.options, "clock")) return false;
  return (await moveClock(context, { seconds })).status === 200;
}

const most = spellings.length + 3;

export const keptChecks: Check[] = [
  {
    name: "Payouts are created to be kept until the end",
    ids: ["life.records-kept"],
    phase: "opening",
    ...pays(most, usualAmount + most),
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
];
