// Helps checks with webhooks: opens mailboxes, waits for notifications, verifies signatures and describes
// notifications.
import { createHmac } from "node:crypto";
import { given, Prerequisite, type Context } from "../check.ts";
import { hasControl } from "../run-options.ts";
import type { Notification, Receiver, Responder } from "../target/receiver.ts";
import { eventually } from "./several.ts";
import { same } from "./expect.ts";
import { isAccepted, dataOf } from "../target/exchange.ts";
import { listed } from "./responses.ts";
import { disbursementBody } from "./bodies.ts";
import { get, pay } from "./requests.ts";
import { advance, type Key } from "./sandbox-controls.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

/**
 * How long to wait for a notification that is due immediately, unless the deployment declares more. If a wait ends
 * before the receiver has received its first notification of the run, later waits use `shortPatienceMs` until a
 * notification arrives.
 */
const leastPatienceMs = 8000;
const shortPatienceMs = 500;
const pollMs = 50;
/** The receivers that have received nothing by the end of a wait. */
const silent = new WeakSet<Receiver>();

/** Returns how long to wait for a notification that is due. */
export const patienceOf = ({ limits }: Context): number =>
  Math.max(leastPatienceMs, (limits.all.notificationSeconds ?? 0) * 1000);

/** Needs of checks that judge the webhook of a payout with a forced outcome. */
export const webhooks = ["receiver", "forced-outcomes"] as const;

export type Box = ReturnType<Receiver["openMailbox"]>;

/** Opens a mailbox of the run's receiver. A check that calls this must list `receiver` among its needs. */
export function mailbox({ receiver }: Context, reply?: Responder): Box {
  if (!receiver) throw new Error("a check that opens a mailbox must need a receiver");
  return receiver.openMailbox(reply);
}

/** Waits until the mailbox has `count` notifications or the wait times out. Returns all notifications in the mailbox. */
export async function arrived(context: Context, box: Box, count = 1, patienceMs = patienceOf(context)) {
  const { receiver } = context;
  const patience = receiver && silent.has(receiver) ? shortPatienceMs : patienceMs;
  const hasArrived = await eventually(context, () => box.received.length >= count, patience, pollMs);
  if (!hasArrived) await context.target.requireAlive();
  if (receiver && receiver.all.length === 0) silent.add(receiver);
  if (receiver && receiver.all.length > 0) silent.delete(receiver);
  return box.received;
}

/** How long the search for limits waits for a notification. */
const searchMs = 60_000;
/** The measured delay is raised by half, then to a multiple of this, so that equal targets give equal reports. */
const granularitySeconds = 10;

/**
 * Measures the time from the end of a payout to its notification. If it is more than half of what checks wait by
 * default, adds a longer wait to the limits.
 */
export async function findDelay(context: Context): Promise<void> {
  const { limits, options, receiver } = context;
  if (!receiver || limits.declared.notificationSeconds !== undefined) return;
  const box = mailbox(context);
  const paid = await pay(context, disbursementBody(context, { phoneNumber: options.recipient, webhookURL: box.url }));
  const { reference } = dataOf(paid);
  if (!isAccepted(paid) || typeof reference !== "string" || !(await isFinal(context, reference))) return;
  const start = context.now().getTime();
  const [notification] = await arrived(context, box, 1, searchMs);
  const seconds = notification ? (notification.at.getTime() - start) / 1000 : 0;
  if (seconds * 1000 <= leastPatienceMs / 2) return;
  limits.add({ notificationSeconds: Math.ceil((1.5 * seconds) / granularitySeconds) * granularitySeconds });
}

/** Waits until a payout is final. Returns false if it is still pending when the run would no longer wait for it. */
async function isFinal(context: Context, reference: string): Promise<boolean> {
  if (hasControl(context.options, "clock")) await advance(context, 60);
  const isSettled = async () => {
    const { status } = dataOf(await get(context, `/v1/disbursements/${encodeURIComponent(reference)}`));
    return status === "success" || status === "failed";
  };
  return eventually(context, isSettled, context.options.settleTimeoutMs, 500);
}

const unreachable =
  "check that the target may send to private addresses such as 127.0.0.1 and that --webhook-url leads to this receiver";

/** Quotes the error that a sandbox recorded for the last attempt at a delivery, or gives a hint. */
async function whyNone(context: Context, { url }: Box): Promise<string> {
  if (!hasControl(context.options, "deliveries")) return unreachable;
  const delivery = listed(await get(context, "/sandbox/deliveries")).find((each) => each?.["url"] === url);
  if (!delivery) return `GET /sandbox/deliveries lists no delivery to this address; ${unreachable}`;
  const { attempts } = delivery as { attempts?: { error?: unknown }[] };
  const error = Array.isArray(attempts) ? attempts.at(-1)?.error : undefined;
  if (typeof error !== "string") return unreachable;
  return `GET /sandbox/deliveries reports: ${context.target.redact(error.slice(0, 200))}`;
}

/** Returns the number of notifications received, for people. If there are none, the likely reason follows. */
export async function tally(context: Context, box: Box): Promise<string> {
  const { length } = box.received;
  if (length > 0) return `${length} received`;
  return `0 received; ${await whyNone(context, box)}; if they take longer, declare notificationSeconds (--declare)`;
}

export async function expectArrival(context: Context, id: RequirementId, box: Box, expected: string): Promise<boolean> {
  const { length } = await arrived(context, box);
  return context.judge(id, length > 0, expected, await tally(context, box));
}

/**
 * Expects this number of attempts to deliver to a mailbox.
 * @param when the time at which they are counted, such as "after 30 s"
 */
export const expectAttempts = (context: Context, id: RequirementId, box: Box, expected: number, when: string) =>
  same(context, id, `attempts ${when}:`, box.received.length, expected);

/** Waits for the first notification. Throws `Prerequisite` if no notification is received. */
export async function first(context: Context, box: Box): Promise<Notification> {
  const [notification] = await arrived(context, box);
  if (!notification) throw new Prerequisite("a notification at the webhookURL", await tally(context, box));
  return notification;
}

/**
 * Returns a merchant's webhook secret. For the first merchant this is the configured secret, if there is one; the probe
 * has already compared it with the secret of the sandbox. Otherwise it is the secret that the sandbox returns.
 */
export async function secretOf(context: Context, key: Key = "own"): Promise<string> {
  const { webhookSecret } = context.options;
  if (key === "own" && webhookSecret !== undefined) return webhookSecret;
  const response = await get(context, "/sandbox/webhook-secret", { key });
  const { secret } = dataOf(response);
  given(response.status === 200 && typeof secret === "string", "200 with the webhook secret", response);
  return secret;
}

const header = ({ headers }: Pick<Notification, "headers">, name: string) => String(headers[name] ?? "");
export const idOf = (notification: Notification) => header(notification, "webhook-id");

/** Returns the signature of a notification with a secret, as Standard Webhooks 1.0 defines it (D12). */
export function signatureOf(notification: Pick<Notification, "headers" | "body">, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = `${header(notification, "webhook-id")}.${header(notification, "webhook-timestamp")}.${notification.body}`;
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

/** Returns true if the notification is signed with the secret. */
export const isSignedWith = (notification: Notification, secret: string): boolean =>
  header(notification, "webhook-signature").split(" ").includes(signatureOf(notification, secret));

/** Describes a notification for people. The text contains neither its signature nor a phone number. */
export function describeNotification(notification: Notification | undefined): string {
  if (!notification) return "no notification";
  const { event, data } = (notification.json ?? {}) as { event?: unknown; data?: { status?: unknown } };
  return `event ${JSON.stringify(event)}, status ${JSON.stringify(data?.status)}, webhook-id ${idOf(notification) || "missing"}`;
}

/** Returns the responses to the requests whose webhookURL leads to a notification's mailbox. */
export const requestsBehind = ({ facts }: Context, { box }: Notification) =>
  [...facts.records, ...facts.uncertain, ...facts.refusals]
    .filter(({ mailbox: name }) => name === box)
    .map(({ response }) => response);

export const expectNotification = (
  context: Context,
  id: RequirementId,
  notification: Notification,
  ok: boolean,
  expected: string,
  actual = describeNotification(notification),
): boolean => context.judge(id, ok, expected, actual, requestsBehind(context, notification));

/** Fields that usually hold an event's name, in the order in which they are searched. */
const nameFields = ["event", "eventType", "event_type", "eventName", "event_name", "type", "name"];

/** Returns the first of these fields of the body that is a string; if none is, searches the object `body.event`. */
export function eventName(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const fields = body as Record<string, unknown>;
  const text = nameFields.map((name) => fields[name]).find((value) => typeof value === "string");
  return text ?? (fields["event"] === undefined ? undefined : eventName(fields["event"]));
}
