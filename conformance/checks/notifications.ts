// Webhooks as checks need them: mailboxes, waiting, and what a notification says.
import { createHmac } from "node:crypto";
import { Prerequisite, describeResponse, type Context } from "../check.ts";
import type { Notification, Receiver, Responder } from "../target/receiver.ts";
import { dataOf } from "./requests.ts";

/** How long a notification may take that is due at once; where none has ever come, the later ones are not waited for so long. */
const patienceMs = 8000;
const littlePatienceMs = 500;
const pollMs = 50;
const silent = new WeakSet<Receiver>();

export type Box = ReturnType<Receiver["openMailbox"]>;

/** A mailbox of the run's receiver; the checks that call this need one. */
export function mailbox({ receiver }: Context, reply?: Responder): Box {
  if (!receiver) throw new Error("a check that opens a mailbox has to need a receiver");
  return receiver.openMailbox(reply);
}

/** Waits until so many notifications are there, or patience ends. @returns those that are there */
export async function arrived(context: Context, box: Box, count = 1): Promise<Notification[]> {
  const { receiver } = context;
  const patience = receiver && silent.has(receiver) ? littlePatienceMs : patienceMs;
  const end = context.now().getTime() + patience;
  while (box.received.length < count && context.now().getTime() < end) await context.sleep(pollMs);
  if (receiver && receiver.all.length === 0) silent.add(receiver);
  if (receiver && receiver.all.length > 0) silent.delete(receiver);
  return box.received;
}

const unreachable =
  "does the target refuse to send to private addresses such as 127.0.0.1, or does --webhook-url not lead here?";

type Delivery = { url?: unknown; attempts?: { error?: unknown }[] };

/** Why nothing may have come: what a sandbox noted of the delivery (D18), else where to look. */
async function whyNone(context: Context, { url }: Box): Promise<string> {
  if (context.options.environment !== "sandbox") return unreachable;
  const response = await context.target.send({ method: "GET", path: "/sandbox/deliveries" });
  const { deliveries } = dataOf(response);
  if (response.status !== 200 || !Array.isArray(deliveries)) return unreachable;
  const delivery = (deliveries as (Delivery | null)[]).find((each) => each?.url === url);
  if (!delivery) return "GET /sandbox/deliveries lists no delivery to this address";
  const error = Array.isArray(delivery.attempts) ? delivery.attempts.at(-1)?.error : undefined;
  if (typeof error !== "string") return `GET /sandbox/deliveries gives no reason; ${unreachable}`;
  return `GET /sandbox/deliveries says: ${context.target.redact(error.slice(0, 200))}`;
}

/** How many notifications came, for people; where there are none, with what is known of the reason. */
export async function tally(context: Context, box: Box): Promise<string> {
  const { length } = box.received;
  return length > 0 ? `${length} came` : `0 came; ${await whyNone(context, box)}`;
}

/** The first notification. Throws `Prerequisite` when none comes. */
export async function first(context: Context, box: Box): Promise<Notification> {
  const [notification] = await arrived(context, box);
  if (!notification) throw new Prerequisite("a notification at the webhookURL (§6)", await tally(context, box));
  return notification;
}

/** A merchant's webhook secret: the one that was given (the probe has compared it), or what the sandbox tells. */
export async function secretOf(context: Context, key: "own" | "second" = "own"): Promise<string> {
  const { webhookSecret } = context.options;
  if (key === "own" && webhookSecret !== undefined) return webhookSecret;
  const response = await context.target.send({ method: "GET", path: "/sandbox/webhook-secret", key });
  const { secret } = dataOf(response);
  if (response.status !== 200 || typeof secret !== "string")
    throw new Prerequisite("the webhook secret (D12)", describeResponse(response));
  return secret;
}

const header = (notification: Notification, name: string) => String(notification.headers[name] ?? "");
export const idOf = (notification: Notification) => header(notification, "webhook-id");

/** Whether a secret signed a notification, as Standard Webhooks 1.0 says (D12). */
export function isSignedWith(notification: Notification, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = `${idOf(notification)}.${header(notification, "webhook-timestamp")}.${notification.body}`;
  const expected = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  return header(notification, "webhook-signature").split(" ").includes(expected);
}

/** What a notification is about, for people; neither signature nor numbers are shown. */
export function telling(notification: Notification | undefined): string {
  if (!notification) return "no notification";
  const { event, data } = (notification.json ?? {}) as { event?: unknown; data?: { status?: unknown } };
  return `event ${JSON.stringify(event)}, status ${JSON.stringify(data?.status)}, webhook-id ${idOf(notification) || "missing"}`;
}
