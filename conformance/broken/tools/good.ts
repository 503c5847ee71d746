// A small server of tools that does everything right, over the good client. The broken servers and the other sound
// servers replace a part of this server.
import { createHash } from "node:crypto";
import { good, isFromService, type Client, type Found, type Job } from "../clients/good.ts";
import type { Host } from "../clients/host.ts";
import type { Tool } from "../../merchants/tools/host.ts";
import type { Returned, ToolMap } from "../../merchants/tools/map.ts";

export type Payment = Record<"phoneNumber" | "country" | "currency" | "purpose", string> & {
  amount: number;
  reference?: string;
};
export type Result = {
  result: string;
  paid?: boolean;
  plan?: string;
  /** Where a person approves. */
  approve?: string;
  /** Texts that others wrote: a name, a reason. */
  outside?: string;
  why?: string;
};
type Args = Record<string, unknown>;
/** A server that runs: its parts, and what it has. */
export type Running = { parts: Parts; host: Host };
type State = { payment: Payment; state: "open" | "paid" | "free" };

/** The parts of a server. A variant replaces some of them. */
export type Parts = {
  /** `plan`: prepare_payout, pay and get_payout. `one`: send_payout alone. `reference`: send_payout needs a reference. */
  shape: "plan" | "one" | "reference";
  /** The template of the amount in the map: in the lowest denomination, or in units. */
  amount: "{amount}" | "{units}" | "{unitsText}";
  /** How long an approval holds, in seconds. */
  expires?: number;
  client: Partial<Client>;
  limits: Required<NonNullable<ToolMap["limits"]>>;
  annotations: Readonly<Record<string, Tool["annotations"]>>;
  /** Returns a payment; undefined if the arguments are not valid. */
  paymentOf(args: Args): Payment | undefined;
  /** The id of a plan, which is the reference of its payout. */
  idOf(running: Running, payment: Payment): string;
  /** True if a payment may be another payment with another wording, so that it is refused. */
  isSame(one: Payment, other: Payment): boolean;
  /** True if a payment may begin although an equal payment exists, in this state. */
  mayFollow(state: State["state"]): boolean;
  onPrepare(running: Running, id: string): Promise<void>;
  onRead(running: Running, id: string): Promise<void>;
  /** Returns the payment that a call of `pay` pays. */
  planned(running: Running, args: Args): Payment | undefined;
  isWithin(running: Running, payment: Payment): boolean;
  isApproved(running: Running, id: string, payment: Payment, args: Args): boolean;
  send(running: Running, id: string, payment: Payment): Promise<string>;
  words: Readonly<Record<string, string>>;
  render(result: Result): Returned;
  /** What the person sees who runs the server. */
  log(running: Running, args: Args): void;
  /** Receives what a call threw. */
  onError(error: unknown): Returned;
};

const keyOf = (id: string) => `plan ${id}`;
const shorten = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

export const stateOf = ({ host }: Running, id: string) =>
  JSON.parse(host.files.get(keyOf(id)) ?? "null") as State | null;
const setState = ({ host }: Running, id: string, state: State) => void host.files.set(keyOf(id), JSON.stringify(state));
const states = ({ host }: Running) =>
  [...host.files].flatMap(([name, text]) =>
    name.startsWith("plan ") ? [{ id: name.slice(5), ...(JSON.parse(text) as State) }] : [],
  );

const normal = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
export const digest = (...values: unknown[]) =>
  createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 32);

/** The job of the good client that pays a plan. It keeps the message of a refusal. */
export function jobOf({ parts, host }: Running, id: string, payment: Payment): Job {
  const { phoneNumber, amount, country, currency } = payment;
  const client: Client = {
    ...good,
    onReply(job, reply) {
      const { message } = (reply?.body ?? {}) as { message?: unknown };
      if (reply && isFromService(reply) && typeof message === "string") host.files.set(`why ${id}`, message);
    },
    ...parts.client,
  };
  return { client, host, entry: { reference: id, phoneNumber, amount, country, currency } };
}

/** Returns the names and reasons in a record. */
const textOf = (found: Found | undefined) => {
  const { customer, failure } = (found ?? {}) as { customer?: { name?: string }; failure?: { message?: string } };
  return [customer?.name, failure?.message].filter((text) => text !== undefined).join(" | ");
};

const isText = (value: unknown, pattern: RegExp): value is string => typeof value === "string" && pattern.test(value);

const fields = { phoneNumber: "string", amount: "integer", country: "string", currency: "string", purpose: "string" };
const schemaOf = (properties: Record<string, string>) => ({
  type: "object",
  properties: Object.fromEntries(Object.entries(properties).map(([name, type]) => [name, { type }])),
  required: Object.keys(properties),
});

export const goodParts: Parts = {
  shape: "plan",
  amount: "{amount}",
  client: {},
  limits: { payout: 500_000, day: 1_000_000, approval: 300_000 },
  annotations: { get_payout: { readOnlyHint: true } },

  paymentOf({ phoneNumber, amount, country, currency, purpose, reference }) {
    if (!isText(phoneNumber, /^\d{10,15}$/) || !isText(country, /^[A-Z]{2}$/) || !isText(currency, /^[A-Z]{3}$/))
      return undefined;
    if (!isText(purpose, /\S/) || !Number.isSafeInteger(amount) || (amount as number) < 1) return undefined;
    const payment = { phoneNumber, amount: amount as number, country, currency, purpose };
    return typeof reference === "string" ? { ...payment, reference } : payment;
  },
  idOf: (_running, { phoneNumber, amount, country, currency, purpose, reference }) =>
    reference ?? digest(phoneNumber, amount, country, currency, normal(purpose)),
  isSame: (one, other) => one.phoneNumber === other.phoneNumber && one.amount === other.amount,
  mayFollow: (state) => state === "free",
  onPrepare: async () => undefined,
  onRead: async () => undefined,
  planned: (running, { plan }) => stateOf(running, String(plan))?.payment,
  isWithin(running, { amount }) {
    const { limits } = running.parts;
    const sum = states(running).reduce(
      (total, { payment, state }) => total + (state === "free" ? 0 : payment.amount),
      0,
    );
    return amount <= limits.payout && sum + amount <= limits.day;
  },
  isApproved: ({ parts, host }, id, { amount }) => amount <= parts.limits.approval || host.files.has(`approved ${id}`),
  send: (running, id, payment) => {
    const job = jobOf(running, id, payment);
    return job.client.payOne(job);
  },
  words: { paid: "success", failed: "failed", pending: "pending", refused: "refused", unknown: "unknown" },
  render(result) {
    const { outside, ...rest } = result;
    const said = outside ? { outside: { data: shorten(outside) } } : {};
    const about = outside ? ` Others wrote: ${JSON.stringify(shorten(outside))}.` : "";
    const text = `${result.result}.${result.why ? ` ${result.why}` : ""}${about}`;
    return { isError: false, texts: [text], structured: { ...rest, ...said } };
  },
  log: () => undefined,
  onError: (error) => {
    throw error;
  },
};

function prepared(running: Running, args: Args): Result | { id: string; payment: Payment } {
  const payment = running.parts.paymentOf(args);
  if (!payment) return { result: "refused", paid: false, why: "The arguments are not valid." };
  const id = running.parts.idOf(running, payment);
  if (!stateOf(running, id)) setState(running, id, { payment, state: "free" });
  return { id, payment };
}

/** Pays a plan. Everything up to the first request happens in one turn, so that sessions cannot meet in between. */
async function payPlan(running: Running, id: string, payment: Payment, args: Args): Promise<Result> {
  const { parts, host } = running;
  const { state = "free" } = stateOf(running, id) ?? {};
  const known = host.files.get(id);
  if (state === "free" && known !== "failed") {
    const twin = states(running).find(
      (each) => each.id !== id && parts.isSame(each.payment, payment) && !parts.mayFollow(each.state),
    );
    const refused = { result: "refused", paid: false };
    if (twin) return { ...refused, why: `Plan ${twin.id} may be the same payment. Call pay with that plan.` };
    if (!parts.isApproved(running, id, payment, args)) {
      return { result: "needs_approval", paid: false, approve: linkFor(host, id) };
    }
    if (!parts.isWithin(running, payment)) return { ...refused, why: "A limit does not allow it." };
    setState(running, id, { payment, state: "open" });
  }
  const outcome = await parts.send(running, id, payment);
  if (outcome === "paid" || outcome === "failed") host.files.set(id, outcome);
  if (outcome === "refused") host.files.delete(id);
  const next = { paid: "paid", pending: "paid", failed: "free", refused: "free" }[outcome] as
    | State["state"]
    | undefined;
  setState(running, id, { payment, state: next ?? "open" });
  const result = { result: parts.words[outcome]!, ...(outcome === "refused" ? { paid: false } : {}) };
  const why = host.files.get(`why ${id}`);
  return outcome === "refused" && why !== undefined ? { ...result, outside: why } : result;
}

async function read(running: Running, args: Args): Promise<Result> {
  const { parts, host } = running;
  const id = String(args["plan"] ?? args["reference"]);
  await parts.onRead(running, id);
  const kept = stateOf(running, id);
  const known = host.files.get(id);
  if (!kept || (kept.state === "free" && known !== "failed"))
    return { result: "pending", paid: false, why: "Nothing was sent." };
  const job = jobOf(running, id, kept.payment);
  const found = await job.client.look(job);
  if (!found || found === "none") return { result: parts.words[known === "sent" ? "unknown" : known!]! };
  if (!job.client.isSame(job, found)) return { result: "refused", paid: false, why: "Another payout has this id." };
  const word = { success: "paid", failed: "failed", pending: "pending" }[String(found.status)] ?? "pending";
  return { result: parts.words[word]!, outside: textOf(found) };
}

/** Where a person approves the plans of the servers in this process. `trial.ts` serves the links. */
export const approvals = { linkOf: (_approve: () => void): string => "" };
const linkFor = (host: Host, id: string) =>
  approvals.linkOf(() => void host.files.set(`approved ${id}`, String(Date.now())));

/** The map of a server. */
export function mapOf({ shape, limits, words, amount, expires }: Parts): ToolMap {
  const request = {
    ...Object.fromEntries(Object.keys(fields).map((name) => [name, `{${name}}`])),
    amount,
    ...(shape === "reference" ? { reference: "{reference}" } : {}),
  };
  const meanings = {
    ...Object.fromEntries(Object.entries(goodParts.words).map(([outcome, word]) => [words[outcome], word])),
    needs_approval: "needs_approval",
  };
  const more = {
    result: { at: "result", words: meanings as ToolMap["result"]["words"], paid: "paid" },
    approve: { link: "approve", ...(expires === undefined ? {} : { expires }) },
    limits,
  };
  const place = { country: "CI", currency: "XOF" };
  if (shape !== "plan") {
    const lookup = { tool: "get_payout", arguments: { reference: "{reference}" } };
    return {
      pay: { tool: "send_payout", arguments: request },
      ...(shape === "reference" ? { read: lookup } : {}),
      ...more,
      ...place,
    };
  }
  const plan = { plan: "{plan}" };
  return {
    prepare: { tool: "prepare_payout", arguments: request, plan: "plan" },
    pay: { tool: "pay", arguments: plan },
    read: { tool: "get_payout", arguments: plan },
    ...more,
    ...place,
  };
}

export function toolsOf({ shape, annotations }: Parts): Tool[] {
  const request = schemaOf(shape === "reference" ? { ...fields, reference: "string" } : fields);
  const schemas: Record<string, object> =
    shape === "plan"
      ? { prepare_payout: request, pay: schemaOf({ plan: "string" }), get_payout: schemaOf({ plan: "string" }) }
      : { send_payout: request, ...(shape === "reference" ? { get_payout: schemaOf({ reference: "string" }) } : {}) };
  return Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema, annotations: annotations[name] }));
}

async function answer(running: Running, name: string, args: Args): Promise<Result> {
  const { parts } = running;
  if (name === "get_payout") return read(running, args);
  if (name === "pay") {
    const payment = parts.planned(running, args);
    if (!payment) return { result: "refused", paid: false, why: "There is no such plan." };
    return payPlan(running, String(args["plan"]), payment, args);
  }
  const plan = prepared(running, args);
  if (!("id" in plan)) return plan;
  const { id, payment } = plan;
  if (name === "prepare_payout") {
    await parts.onPrepare(running, id);
    return { result: "pending", paid: false, plan: id, outside: payment.purpose };
  }
  const kept = stateOf(running, id)!;
  if (
    parts.shape === "reference" &&
    digest(kept.payment, "") !== digest(payment, "") &&
    kept.payment.phoneNumber + kept.payment.amount !== payment.phoneNumber + payment.amount
  ) {
    return { result: "refused", paid: false, why: "This reference belongs to another payment." };
  }
  return payPlan(running, id, payment, args);
}

/** Calls a tool. */
export async function callTool(running: Running, name: string, args: Args): Promise<Returned> {
  running.parts.log(running, args);
  try {
    return running.parts.render(await answer(running, name, args));
  } catch (error) {
    return running.parts.onError(error);
  }
}
