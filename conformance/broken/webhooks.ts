// Building blocks for webhook faults.
import { signatureOf, type Attempted, type Delivery } from "../model/webhooks.ts";
import { fieldsOf, without, type Fields } from "./calls.ts";
import type { Deliver, How, Message, Reply } from "./fault.ts";

export const noContent: Reply = { status: 204, headers: {}, text: "" };
export const timestampOf = ({ headers }: Message) => Number(headers["webhook-timestamp"]);
export const isPayout = ({ event }: Message) => event.body.event.startsWith("disbursement");
export const isOfEvent =
  (name: string) =>
  ({ event }: Message) =>
    event.body.event === name;
export const recordIn = ({ body }: Message) => (fieldsOf(body)?.["data"] ?? {}) as Fields;

/** Signs a changed message again, so that its signature is valid and the change is its only fault. */
export function signed(message: Message, secrets = message.secrets): Message {
  const signature = signatureOf(secrets, message.headers["webhook-id"] ?? "", timestampOf(message), message.body);
  return { ...message, headers: { ...message.headers, "webhook-signature": signature } };
}
export const withWebhookHeaders = (message: Message, headers: Record<string, string>): Message => ({
  ...message,
  headers: { ...message.headers, ...headers },
});

/** Delivers each webhook in place of the server. */
export const delivers =
  (webhook: (message: Message, deliver: Deliver) => Promise<Reply>): How =>
  () => ({ webhook });
/** Changes each webhook before it is delivered. */
export const changesMessage = (change: (message: Message) => Message): How =>
  delivers((message, deliver) => deliver(change(message)));
export const changesUrl = (change: (url: string) => string): How =>
  changesMessage((message) => ({ ...message, url: change(message.url) }));
export const setsHeader = (name: string, value: string): How =>
  changesMessage((message) => withWebhookHeaders(message, { [name]: value }));
export const losesHeader = (name: string): How =>
  changesMessage((message) => ({ ...message, headers: without(message.headers, name) as Message["headers"] }));
/** Changes the text of matching webhooks, and signs them again. */
export const rewrites = (change: (body: string) => string, fits: (message: Message) => boolean = () => true): How =>
  changesMessage((message) => (fits(message) ? signed({ ...message, body: change(message.body) }) : message));
/** Changes the body of each webhook and signs it again. */
export const changesBody = (change: (body: Fields) => Fields): How =>
  rewrites((body) => JSON.stringify(change(fieldsOf(body) ?? {})));
/** Changes the record in matching webhooks. */
export const changesRecord = (change: (record: Fields) => Fields, fits?: (message: Message) => boolean): How =>
  rewrites((body) => {
    const fields = fieldsOf(body) ?? {};
    return JSON.stringify({ ...fields, data: change(fields["data"] as Fields) });
  }, fits);
/** Does not send matching webhooks, but reports to the server that they were delivered. */
export const drops = (fits: (message: Message) => boolean): How =>
  delivers(async (message, deliver) => (fits(message) ? noContent : deliver(message)));
/** Changes what the server sees of a receiver's response. */
export const receives = (change: (reply: Reply) => Reply): How =>
  delivers(async (message, deliver) => change(await deliver(message)));
/** Changes the status that the server sees in a receiver's response. */
export const receivesStatus = (change: (status: number) => number): How =>
  receives((reply) => ({ ...reply, status: change(reply.status) }));

type Attempt = Delivery["shown"]["attempts"][number];
/** Changes what follows from an attempt: the status of the delivery, and the wait until the next attempt. */
export const changesOutcome =
  (change: (outcome: Attempted, attempt: Attempt, delivery: Delivery) => Attempted): How =>
  () => ({
    merchant: () => ({ attempted: (attempt, outcome, delivery) => change(outcome, attempt, delivery) }),
  });
