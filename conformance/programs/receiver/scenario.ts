// Defines a scenario, and the scenarios that send single requests and judge that each was accepted or refused.
import type { Altered, Change, Context, Genuine, Sent } from "./context.ts";
import { describe, isRefusal, isSuccess } from "./send.ts";
import { signatureOf, type Event, type Stamp } from "./webhook.ts";

/**
 * What a scenario needs from the caller, see `Subject`. `old-secret` is a second secret that the receiver accepts,
 * `parallel` that it reads several requests at a time.
 */
export type Need = "restart" | "outage" | "old-secret" | "parallel";

export type Scenario = {
  /** The name for `--scenario`. */
  id: string;
  /** One phrase that says what the scenario sends. */
  name: string;
  /** The ids of the requirements that the scenario judges. */
  ids: readonly string[];
  needs?: readonly Need[];
  /** The types of events without which the scenario says nothing. It is left out if the receiver does not get them. */
  events?: readonly string[];
  run(context: Context): Promise<void>;
};

/** A scenario that judges one requirement. */
export const scenario = (
  requirement: string,
  id: string,
  name: string,
  run: Scenario["run"],
  needs: Scenario["needs"] = [],
): Scenario => ({ id, name, ids: [requirement], needs, run });

/** Returns another body, signed as the service would sign it. */
export const resigned = ({ context, event }: Genuine, text: Buffer | string): Altered => {
  const body = Buffer.from(text);
  return { body, ...context.stamp(event, body) };
};

/** Returns headers with another id or timestamp, signed with the genuine secret; or with another signature. */
export function signing({ context, body, ...stamp }: Genuine, changes: Partial<Stamp>): Altered {
  const { id, timestamp } = { ...stamp, ...changes };
  return { signature: signatureOf(context.secrets[0]!, id, timestamp, body), ...changes };
}

/** Judges that a response says something of an event: a 2xx or a 4xx status. */
export function judgeNoFault(context: Context, id: string, sent: Sent) {
  context.judge(id, isSuccess(sent) || isRefusal(sent), "a 2xx or a 4xx response", describe(sent), [sent]);
}

/** Judges that a request was answered with 2xx and that its event took effect once. Returns the effects. */
export async function judgeAccepted(
  context: Context,
  id: string,
  event: Event,
  sent: Sent,
  expected = "a 2xx response",
) {
  context.judge(id, isSuccess(sent), expected, describe(sent), [sent]);
  return context.judgeEffects(id, event, 1, [sent]);
}

/** Judges that a request was answered with 4xx and that its event took no effect. */
async function judgeRefused(context: Context, id: string, event: Event, sent: Sent) {
  context.judge(id, isRefusal(sent), "a 4xx response", describe(sent), [sent]);
  return context.judgeEffects(id, event, 0, [sent]);
}

/** Sends an event once and judges that it was accepted. */
export const accepts = async (context: Context, id: string, event: Event, change?: Change) =>
  judgeAccepted(context, id, event, await context.post(event, change));

const judged =
  (judge: typeof judgeRefused) =>
  (requirement: string, id: string, name: string, changes: readonly Change[], more: Partial<Scenario> = {}) => ({
    id,
    name,
    ids: [requirement],
    async run(context: Context) {
      for (const change of changes) {
        const event = context.event();
        let altered: Altered = {};
        const sent = await context.post(event, (genuine) => (altered = change(genuine)));
        await judge(context, requirement, altered.event ?? event, sent);
        if (altered.event) await context.judgeEffects(requirement, event, 0, [sent]);
      }
    },
    ...more,
  });

/** A scenario that sends a new event for each change, and judges that it was accepted. */
export const accepted = judged(judgeAccepted);
/** A scenario that sends a new event for each change, and judges that it was refused. */
export const refused = judged(judgeRefused);
