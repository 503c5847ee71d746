// What most scenarios judge: that an event was accepted, or that a request was refused.
import { bodyOf, type Event } from "./events.ts";
import { describe, headersOf, isRefusal, isSuccess, type Context, type Sent, type Stamp } from "./scenario.ts";
import type { WebhookRequest } from "./send.ts";

/** Sends an event once, signed as the service signs it unless `request` says otherwise. */
export function post(context: Context, event: Event, request: Partial<WebhookRequest> = {}): Promise<Sent> {
  const body = request.body ?? bodyOf(event);
  return context.send({ headers: headersOf(context.stamp(event, body)), ...request, body });
}

/** Sends a body with these headers. */
export const postStamped = (context: Context, stamp: Stamp, body: Buffer): Promise<Sent> =>
  context.send({ headers: headersOf(stamp), body });

/** Judges that a request was answered with 2xx and that its event took effect once. */
export async function judgeAccepted(context: Context, id: string, event: Event, sent: Sent) {
  context.judge(id, isSuccess(sent), "a 2xx response", describe(sent), [sent]);
  return context.judgeEffects(id, event, 1, [sent]);
}

/** Judges that a request was answered with 4xx and that its event took no effect. */
export async function judgeRefused(context: Context, id: string, event: Event, sent: Sent) {
  context.judge(id, isRefusal(sent), "a 4xx response", describe(sent), [sent]);
  await context.judgeEffects(id, event, 0, [sent]);
}

/** Sends an event once and judges that it was accepted. */
export async function accepts(context: Context, id: string, event: Event, request: Partial<WebhookRequest> = {}) {
  return judgeAccepted(context, id, event, await post(context, event, request));
}

/** Sends a new event whose headers were changed, and judges that it was refused. */
export async function refuses(context: Context, id: string, change: (stamp: Stamp, body: Buffer) => Partial<Stamp>) {
  const event = context.event();
  const body = bodyOf(event);
  const stamp = context.stamp(event, body);
  await judgeRefused(context, id, event, await postStamped(context, { ...stamp, ...change(stamp, body) }, body));
}
