// Events that arrive more than once, because the service retries until it receives a 2xx response.
import { bodyOf, type Event } from "./events.ts";
import { accepts, post, postStamped } from "./judgements.ts";
import { describe, isFinal, isSuccess, type Context, type Scenario, type Sent } from "./scenario.ts";

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

/** Kills the receiver and starts it again. */
async function restart({ subject }: Context) {
  await subject.restart?.kill();
  await subject.restart?.start();
}

/** Waits until the event took effect, the request ended, or the time is over. */
async function untilEffect(context: Context, event: Event, sending: Promise<unknown>) {
  let isOver = false;
  void sending.then(() => (isOver = true));
  const end = context.now().getTime() + watchedMs;
  while (!isOver && context.now().getTime() < end) {
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
    const sent = await post(context, event);
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
async function waitExactly({ sleep }: Context, ms: number) {
  const end = performance.now() + ms;
  if (ms > timersLateMs) await sleep(ms - timersLateMs);
  while (performance.now() < end) await new Promise((resolve) => void setImmediate(resolve));
}

/** Returns moments that are spread over a time, each as a share of it. */
const sharesOf = ({ random }: Context, count: number): number[] =>
  Array.from({ length: count }, (_, index) => ((index % kills) + random(0, 99) / 100) / kills);

export const repeatScenarios: Scenario[] = [
  {
    id: "repeated",
    name: "An event that arrives four times, each time signed anew",
    ids: ["receiver.once-in-turn"],
    async run(context) {
      const event = context.event();
      const body = bodyOf(event);
      for (const offset of [-6, -4, -2, 0]) {
        const sent = await postStamped(context, context.stamp(event, body, offset), body);
        await judgeRepeat(context, "receiver.once-in-turn", event, sent);
      }
    },
  },
  {
    id: "replayed",
    name: "The same request four times, byte for byte",
    ids: ["receiver.once-in-turn"],
    async run(context) {
      const event = context.event("checkout.completed");
      const body = bodyOf(event);
      const stamp = context.stamp(event, body);
      for (let count = 0; count < 4; count += 1) {
        await judgeRepeat(context, "receiver.once-in-turn", event, await postStamped(context, stamp, body));
      }
    },
  },
  {
    id: "at-once",
    name: `${races} events, each of which arrives eight times at once`,
    ids: ["receiver.once-at-once"],
    async run(context) {
      for (let round = 0; round < races; round += 1) {
        const event = context.event(round % 2 === 0 ? "disbursement.completed" : "checkout.completed");
        const beforeLastByte = barrier(copies);
        await Promise.all(Array.from({ length: copies }, () => post(context, event, { beforeLastByte })));
        await settles(context, "receiver.once-at-once", event);
      }
    },
  },
  {
    id: "much-later",
    name: "An event again after thirty others",
    ids: ["receiver.remembers"],
    async run(context) {
      const event = context.event();
      await accepts(context, "receiver.remembers", event);
      for (let count = 0; count < 30; count += 1) await post(context, context.event());
      await settles(context, "receiver.remembers", event);
    },
  },
  {
    id: "lost-response",
    name: "An event whose response is lost, then the event again",
    ids: ["receiver.lost-response"],
    async run(context) {
      for (let count = 0; count < 3; count += 1) {
        const event = context.event();
        await post(context, event, { cut: { at: bodyOf(event).length, afterMs: context.limits.pieceMs } });
        await settles(context, "receiver.lost-response", event);
      }
    },
  },
  {
    id: "outage",
    name: "An event that arrives while its effect fails, then the retries",
    ids: ["receiver.failure-retried"],
    needs: ["outage"],
    async run(context) {
      const events = [context.event("disbursement.completed"), context.event("checkout.completed")];
      await context.subject.outage?.begin();
      const during: Sent[] = [];
      try {
        for (const event of events) during.push(await post(context, event));
        // The receiver may act after it has responded. An outage can last longer than it waits for a lock.
        await context.sleep(during.some(isFinal) ? outageMs : context.limits.pieceMs);
      } finally {
        await context.subject.outage?.end();
      }
      for (const [index, event] of events.entries()) {
        if (isFinal(during[index]!)) await context.judgeEffects("receiver.failure-retried", event, 1);
        else await settles(context, "receiver.failure-retried", event);
      }
    },
  },
  {
    // Before the restarts, so that a receiver which forgets only then does not fail here too.
    id: "half-a-minute-later",
    name: "The first event of the run again, after half a minute or more",
    ids: ["receiver.remembers"],
    async run(context) {
      if (!context.earliest()) await accepts(context, "receiver.remembers", context.event());
      const first = context.earliest();
      if (!first) return;
      await context.sleep(Math.max(0, first.at + context.limits.repeatMs - context.now().getTime()));
      await settles(context, "receiver.remembers", first.event);
    },
  },
  {
    id: "killed-in-outage",
    name: "Killed after it has answered while effects fail, then the event again unless the answer was final",
    ids: ["receiver.keeps-acknowledged"],
    needs: ["outage", "restart"],
    async run(context) {
      const event = context.event();
      await context.subject.outage?.begin();
      let sent: Sent;
      try {
        sent = await post(context, event);
        await context.subject.restart?.kill();
      } finally {
        await context.subject.outage?.end();
      }
      await context.subject.restart?.start();
      if (isFinal(sent)) await context.judgeEffects("receiver.keeps-acknowledged", event, 1, [sent]);
      else await settles(context, "receiver.keeps-acknowledged", event);
    },
  },
  {
    id: "restarted",
    name: "An event, a restart, then the event again",
    ids: ["receiver.remembers-after-restart"],
    needs: ["restart"],
    async run(context) {
      const event = context.event();
      await accepts(context, "receiver.remembers-after-restart", event);
      await restart(context);
      await settles(context, "receiver.remembers-after-restart", event);
    },
  },
  {
    id: "killed-after-response",
    name: "Killed as soon as it has answered with 2xx",
    ids: ["receiver.keeps-acknowledged"],
    needs: ["restart"],
    async run(context) {
      for (let count = 0; count < 3; count += 1) {
        const event = context.event();
        const sent = await post(context, event);
        await restart(context);
        if (isFinal(sent)) await context.judgeEffects("receiver.keeps-acknowledged", event, 1, [sent]);
        else await settles(context, "receiver.keeps-acknowledged", event);
      }
    },
  },
  {
    id: "killed-while-handling",
    name: `Killed ${kills} times while it handles an event, then the event again`,
    ids: ["receiver.survives-crash"],
    needs: ["restart"],
    async run(context) {
      const { last } = await timesOf(context, [context.event()]);
      for (const share of sharesOf(context, kills)) {
        const event = context.event();
        const sending = Promise.allSettled([post(context, event)]);
        await waitExactly(context, last * share);
        await restart(context);
        await sending;
        if (!(await settles(context, "receiver.survives-crash", event))) return;
      }
    },
  },
  {
    id: "killed-in-burst",
    name: `Killed ${kills} to ${mostBursts} times among ${burst} events at once, then again each event without a final response`,
    ids: ["receiver.survives-crash"],
    needs: ["restart"],
    async run(context) {
      const id = "receiver.survives-crash";
      const shares = sharesOf(context, mostBursts);
      const newEvents = (count: number) => Array.from({ length: count }, () => context.event());
      const events = newEvents(burst);
      let { open, ...times } = await timesOf(context, events);
      const end = performance.now() + burstsMs;
      for (const [count, share] of shares.entries()) {
        if (count >= kills && performance.now() >= end) break;
        const repeated = open.map((event) => post(context, event));
        // At least one event is new: a receiver may respond to a repeated event at once, without handling it.
        const fresh = newEvents(Math.max(1, burst - open.length));
        const sending = fresh.map((event) => post(context, event));
        // From the first response on, some events are done and some events are not.
        await Promise.race(sending);
        await waitExactly(context, Math.max(0, times.last - times.first) * share);
        await restart(context);
        const responses = await Promise.all([...repeated, ...sending]);
        open = [...open, ...fresh].filter((_, index) => !isFinal(responses[index]!));
        events.push(...fresh);
      }
      for (const event of open) await context.deliver(event);
      await context.settle();
      const effects = new Map<string, number>();
      for (const { id: event } of await context.subject.effects()) effects.set(event, (effects.get(event) ?? 0) + 1);
      // Some effects may only be late.
      for (const event of events.filter((each) => effects.get(each.id) !== 1)) {
        if ((await context.judgeEffects(id, event, 1)).length !== 1) return;
      }
      context.judge(id, true, "one effect of each event", `one effect of each of ${events.length} events`);
    },
  },
  {
    id: "killed-after-effect",
    name: "Killed between effect and response, then the event again",
    ids: ["receiver.survives-crash"],
    needs: ["restart"],
    async run(context) {
      for (let count = 0; count < 3; count += 1) {
        const event = context.event();
        const sending = Promise.allSettled([post(context, event)]);
        await untilEffect(context, event, sending);
        await restart(context);
        await sending;
        await settles(context, "receiver.survives-crash", event);
      }
    },
  },
];
