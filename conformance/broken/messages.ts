// Building blocks for webhook faults.
import { sign } from "../../server/webhooks/send.ts";
import type { Storage } from "../../server/domain/storage.ts";
import type { Deliver, Hooks, Message, Reply } from "./fault.ts";
import { fieldsOf, without, type Fields } from "./ways.ts";

export const noContent: Reply = { status: 204, headers: {}, text: "" };
export const timestampOf = ({ headers }: Message) => Number(headers["webhook-timestamp"]);
export const isPayout = ({ claimed }: Message) => claimed.type.startsWith("disbursement");

/** Returns the secrets with which the server has signed a message. After a rotation there are several. */
function secretsOf({ headers, claimed: { secrets } }: Message): string[] {
  const all = [secrets.current, ...secrets.previous.map(({ secret }) => secret)];
  return all.slice(0, headers["webhook-signature"]?.split(" ").length);
}

/** Signs a changed message again, so that its signature is valid and the change is its only fault. */
export function signed(message: Message, secrets = secretsOf(message)): Message {
  const id = message.headers["webhook-id"] ?? "";
  const signature = sign(secrets, id, timestampOf(message), message.body);
  return { ...message, headers: { ...message.headers, "webhook-signature": signature } };
}
export const withHeaders = (message: Message, headers: Record<string, string>): Message => ({
  ...message,
  headers: { ...message.headers, ...headers },
});
export const withoutHeader = (message: Message, name: string): Message => ({
  ...message,
  headers: without(message.headers, name) as Message["headers"],
});

/** Changes each webhook before it is delivered. */
export const changesMessage = (change: (message: Message) => Message): Hooks => ({
  webhook: (message, deliver) => deliver(change(message)),
});
/** Changes the body of each webhook and signs it again. */
export const changesBody = (change: (body: Fields, message: Message) => Fields): Hooks =>
  changesMessage((message) =>
    signed({ ...message, body: JSON.stringify(change(fieldsOf(message.body) ?? {}, message)) }),
  );
export const changesData = (change: (data: Fields) => Fields): Hooks =>
  changesBody((body) => ({ ...body, data: change(body["data"] as Fields) }));
/** Does not send the webhooks that `fits` accepts, but reports to the server that they were delivered. */
export const drops = (fits: (message: Message) => boolean): Hooks => ({
  webhook: async (message, deliver) => (fits(message) ? noContent : deliver(message)),
});
export const sendsTwice =
  (again: (message: Message) => Message): NonNullable<Hooks["webhook"]> =>
  async (message, deliver) => {
    const reply = await deliver(message);
    await deliver(again(message));
    return reply;
  };
/** The outcome that storage records for an attempt. It includes the time at which the next attempt is due. */
export type AttemptOutcome = Parameters<Storage["recordAttempt"]>[2];
export const changesOutcome = (
  change: (outcome: AttemptOutcome, attempt: Parameters<Storage["recordAttempt"]>[1]) => AttemptOutcome,
): Hooks => ({
  storage: (inner) => ({
    recordAttempt: (id, attempt, outcome) => inner.recordAttempt(id, attempt, change(outcome, attempt)),
  }),
});
export const scaleDelay = (outcome: AttemptOutcome, at: number, factor: number): AttemptOutcome =>
  outcome.nextAttemptAt === undefined
    ? outcome
    : { ...outcome, nextAttemptAt: Math.round(at + (outcome.nextAttemptAt - at) * factor) };
export const followRedirect = async (message: Message, deliver: Deliver): Promise<Reply> => {
  const reply = await deliver(message);
  const { location } = reply.headers;
  return location === undefined ? reply : deliver({ ...message, url: location });
};
