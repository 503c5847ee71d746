// Events that arrive more than once, because the service retries until it receives a 2xx response.
import type { Change, Context, Sent } from "./context.ts";
import { accepts, type Scenario, scenario } from "./scenario.ts";
import { describe, isFinal, isSuccess } from "./send.ts";
import { bodyOf, type Event } from "./webhook.ts";

/** Judges that a repeated event was acknowledged and took effect once. Returns true if it took effect once. */
async function judgeRepeat(context: Context, id: string, event: Event, sent: Sent) {
  context.judge(id, isSuccess(sent), "a 2xx response to the repetition", describe(sent), [sent]);
  await context.settle();
  return (await context.judgeEffects(id, event, 1)).length === 1;
}

/** Delivers an event until the response is final. Judges that it took effect once, whatever earlier requests did. */
async function settles(context: Context, id: string, event: Event) {
  return judgeRepeat(context, id, event, await context.deliver(event));
}

/** Judges that an event took effect once: by itself if the response was final, otherwise when it is sent again. */
async function takesEffect(context: Context, id: string, event: Event, sent: Sent, evidence?: Sent[]) {
  if (isFinal(sent)) await context.judgeEffects(id, event, 1, evidence);
  else await settles(context, id, event);
}

/** Calls `work` while effects fail. */
async function duringOutage<T>({ subject }: Context, work: () => Promise<T>): Promise<T> {
  await subject.outage?.begin();
  try {
    return await work();
  } finally {
    await subject.outage?.end();
  }
}

/** How often a run kills the receiver in a scenario, at moments that are spread over the time that handling takes. */
const kills = 10;

/** How many copies of an event arrive at once. */
const copies = 8;
/** The time between a look and an insertion is short, so one race may miss it. */
const races = 5;

/**
 * Returns a function whose calls wait for each other, so that copies of an event are complete at the same moment:
 * requests that are merely started together do not overlap on a busy machine.
 */
function barrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  return () => {
    arrived += 1;
    if (arrived === count) resolve();
    return promise;
  };
}

/** How long effects continue to fail after an event was acknowledged during the failure. */
const outageMs = 2500;

/** The number of events that a receiver has at once when it is killed. */
const burst = 16;
/**
 * A receiver that handles an event in two commits is between the commits only for a small part of the time. A receiver
 * that starts quickly is therefore killed in more bursts: until this number of bursts, or until this time, in
 * milliseconds, is over.
 */
const mostBursts = 50;
const burstsMs = 8000;

/** How long a run waits for an effect before it kills the receiver. */
const watchedMs = 1000;

/** Waits until the event took effect, the request ended, or the time is over. */
async function untilEffect(context: Context, event: Event, sending: Promise<unknown>) {
  let isOver = false;
  void sending.then(() => (isOver = true));
  const end = performance.now() + watchedMs;
  while (!isOver && performance.now() < end) {
    const found = await context.subject.effects();
    if (found.some(({ id }) => id === event.id)) return;
    await context.sleep(1);
  }
}

/**
 * Sends events at once. Returns the events without a final response, and when the first response came and the last
 * effect was there, in ms from the start.
 */
async function timesOf(context: Context, events: readonly Event[]) {
  const start = performance.now();
  let first = 0;
  const sending = events.map(async (event) => {
    const sent = await context.post(event);
    first ||= performance.now() - start;
    return sent;
  });
  const responses = await Promise.all(sending);
  let last = performance.now() - start;
  // The receiver may act after it has responded.
  const awaited = new Set(events.filter((_, index) => isSuccess(responses[index]!)).map(({ id }) => id));
  while (last < watchedMs) {
    const asked = performance.now() - start;
    for (const { id } of await context.subject.effects()) awaited.delete(id);
    if (awaited.size === 0) break;
    last = asked;
    await context.sleep(1);
  }
  const open = events.filter((_, index) => !isFinal(responses[index]!));
  return { open, first: Math.min(first, watchedMs), last: Math.min(last, watchedMs) };
}

/** Timers of Node may be late by this much, in ms. */
const timersLateMs = 3;

/** Waits more exactly than a timer does: a fast receiver handles an event within a millisecond. */
async function waitExactly(context: Context, ms: number) {
  const end = performance.now() + ms;
  if (ms > timersLateMs) await context.sleep(ms - timersLateMs);
  while (performance.now() < end) await new Promise((resolve) => void setImmediate(resolve));
}

/** Returns moments that are spread over a time, each as a share of it. */
const sharesOf = ({ random }: Context, count: number): number[] =>
  Array.from({ length: count }, (_, index) => ((index % kills) + random(0, 99) / 100) / kills);

const once = "receiver.once-in-turn";
const crash = "receiver.survives-crash";
const acknowledged = "receiver.keeps-acknowledged";
const remembers = "receiver.remembers";

/** A scenario that does the same with some new events, one after the other. */
const forEvents = (
  requirement: string,
  id: string,
  name: string,
  count: number,
  work: (context: Context, event: Event) => Promise<unknown>,
  needs?: Scenario["needs"],
) =>
  scenario(
    requirement,
    id,
    name,
    async (context) => {
      for (let index = 0; index < count; index += 1) await work(context, context.event());
    },
    needs,
  );

/** Sends an event, kills the receiver at a moment of the handling, and judges that the event took effect once. */
async function killedOnce(context: Context, moment: (event: Event, sending: Promise<unknown>) => Promise<unknown>) {
  const event = context.event();
  const sending = Promise.allSettled([context.post(event)]);
  await moment(event, sending);
  await context.restart();
  await sending;
  return settles(context, crash, event);
}

async function sendsInTurn(context: Context, event: Event, changes: readonly Change[]) {
  for (const change of changes) await judgeRepeat(context, once, event, await context.post(event, change));
}

export const repeatScenarios: Scenario[] = [
  forEvents(once, "repeated", "An event that arrives four times, each time signed anew", 1, (context, event) =>
    sendsInTurn(
      context,
      event,
      [-6, -4, -2, 0].map(
        (offset) =>
          ({ body }) =>
            context.stamp(event, body, offset),
      ),
    ),
  ),
  forEvents(once, "replayed", "The same request four times, byte for byte", 1, (context, event) => {
    const stamp = context.stamp(event, bodyOf(event));
    return sendsInTurn(context, event, Array(4).fill(() => stamp) as Change[]);
  }),
  scenario(
    "receiver.once-at-once",
    "at-once",
    `${races} events, each of which arrives eight times at once`,
    async (context) => {
      for (let round = 0; round < races; round += 1) {
        const event = context.event(round % 2 === 0 ? "disbursement.completed" : "checkout.completed");
        const beforeLastByte = barrier(copies);
        await Promise.all(Array.from({ length: copies }, () => context.post(event, () => ({ beforeLastByte }))));
        await settles(context, "receiver.once-at-once", event);
      }
    },
  ),
  forEvents(remembers, "much-later", "An event again after thirty others", 1, async (context, event) => {
    await accepts(context, remembers, event);
    for (let count = 0; count < 30; count += 1) await context.post(context.event());
    await settles(context, remembers, event);
  }),
  forEvents(
    "receiver.lost-response",
    "lost-response",
    "An event whose response is lost, then the event again",
    3,
    async (context, event) => {
      const afterMs = context.limits.pieceMs;
      await context.post(event, ({ body }) => ({ cut: { at: body.length, afterMs } }));
      await settles(context, "receiver.lost-response", event);
    },
  ),
  scenario(
    "receiver.failure-retried",
    "outage",
    "An event that arrives while its effect fails, then the retries",
    async (context) => {
      const events = [context.event("disbursement.completed"), context.event("checkout.completed")];
      const during: Sent[] = [];
      await duringOutage(context, async () => {
        for (const event of events) during.push(await context.post(event));
        // The receiver may act after it has responded. An outage can last longer than it waits for a lock.
        await context.sleep(during.some(isFinal) ? outageMs : context.limits.pieceMs);
      });
      for (const [index, event] of events.entries()) {
        await takesEffect(context, "receiver.failure-retried", event, during[index]!);
      }
    },
    ["outage"],
  ),
  scenario(
    remembers,
    "half-a-minute-later",
    "The first event of the run again, after half a minute or more",
    async (context) => {
      if (!context.earliest()) await accepts(context, remembers, context.event());
      const first = context.earliest();
      if (!first) return;
      await context.sleep(Math.max(0, first.at + context.limits.repeatMs - Date.now()));
      await settles(context, remembers, first.event);
    },
  ),
  forEvents(
    acknowledged,
    "killed-in-outage",
    "Killed after it has answered while effects fail, then the event again unless the answer was final",
    1,
    async (context, event) => {
      const sent = await duringOutage(context, async () => {
        const response = await context.post(event);
        await context.kill();
        return response;
      });
      await context.subject.restart?.start();
      await takesEffect(context, acknowledged, event, sent, [sent]);
    },
    ["outage", "restart"],
  ),
  forEvents(
    "receiver.remembers-after-restart",
    "restarted",
    "An event, a restart, then the event again",
    1,
    async (context, event) => {
      await accepts(context, "receiver.remembers-after-restart", event);
      await context.restart();
      await settles(context, "receiver.remembers-after-restart", event);
    },
    ["restart"],
  ),
  forEvents(
    acknowledged,
    "killed-after-response",
    "Killed as soon as it has answered with 2xx",
    3,
    async (context, event) => {
      const sent = await context.post(event);
      await context.restart();
      await takesEffect(context, acknowledged, event, sent, [sent]);
    },
    ["restart"],
  ),
  scenario(
    crash,
    "killed-while-handling",
    `Killed ${kills} times while it handles an event, then the event again`,
    async (context) => {
      const { last } = await timesOf(context, [context.event()]);
      for (const share of sharesOf(context, kills)) {
        if (!(await killedOnce(context, () => waitExactly(context, last * share)))) return;
      }
    },
    ["restart"],
  ),
  {
    id: "killed-in-burst",
    name: `Killed ${kills} to ${mostBursts} times among ${burst} events at once, then again each event without a final response`,
    ids: [crash],
    needs: ["restart"],
    async run(context) {
      const shares = sharesOf(context, mostBursts);
      const newEvents = (count: number) => Array.from({ length: count }, () => context.event());
      const events = newEvents(burst);
      let { open, ...times } = await timesOf(context, events);
      const end = performance.now() + burstsMs;
      for (const [count, share] of shares.entries()) {
        if (count >= kills && performance.now() >= end) break;
        const repeated = open.map((event) => context.post(event));
        // At least one event is new: a receiver may respond to a repeated event at once, without handling it.
        const fresh = newEvents(Math.max(1, burst - open.length));
        const sending = fresh.map((event) => context.post(event));
        // From the first response on, some events are done and some events are not.
        await Promise.race(sending);
        await waitExactly(context, Math.max(0, times.last - times.first) * share);
        await context.restart();
        const responses = await Promise.all([...repeated, ...sending]);
        open = [...open, ...fresh].filter((_, index) => !isFinal(responses[index]!));
        events.push(...fresh);
      }
      for (const event of open) await context.deliver(event);
      await context.settle();
      const effects = Map.groupBy(await context.subject.effects(), ({ id }) => id);
      // Some effects may only be late.
      for (const event of events.filter(({ id }) => effects.get(id)?.length !== 1)) {
        if ((await context.judgeEffects(crash, event, 1)).length !== 1) return;
      }
      context.judge(crash, true, "one effect of each event", `one effect of each of ${events.length} events`);
    },
  },
  scenario(
    crash,
    "killed-after-effect",
    "Killed between effect and response, then the event again",
    async (context) => {
      for (let count = 0; count < 3; count += 1) {
        await killedOnce(context, (event, sending) => untilEffect(context, event, sending));
      }
    },
    ["restart"],
  ),
];
