// Events that arrive more than once, because the service retries until it receives a 2xx response.
import { secondsIn, type Context, type Sent } from "./context.ts";
import { type Scenario, scenario } from "./scenario.ts";
import { isFinal, isSuccess } from "./send.ts";
import type { Event } from "./webhook.ts";

const judgeAcknowledged = (context: Context, sent: Sent) =>
  context.judgeStatus(sent, isSuccess(sent), "a 2xx response to the repetition");

/** Judges that a repeated event was acknowledged and took effect once. */
async function judgeRepeat(context: Context, event: Event, sent: Sent) {
  judgeAcknowledged(context, sent);
  await context.settle();
  await context.judgeEffects(event, 1);
}

/** Delivers an event until the response is final. Judges that it took effect once, whatever earlier requests did. */
async function settles(context: Context, event: Event) {
  await judgeRepeat(context, event, await context.deliver(event));
}

/** Judges that an event took effect once: by itself if the response was final, otherwise when it is sent again. */
async function takesEffect(context: Context, event: Event, sent: Sent) {
  if (isFinal(sent)) await context.judgeEffects(event, 1, [sent]);
  else await settles(context, event);
}

/** Calls `work` while effects fail. */
async function duringOutage<T>({ settings: { subject } }: Context, work: () => Promise<T>): Promise<T> {
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
/** More than one, because a receiver's window between look-up and insertion is short, and a race may miss it. */
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

/** Some events that the receiver handles at once. */
type Handled = { context: Context; events: Event[]; sending: Promise<Sent>[] };

/** Waits until the event took effect, the request ended, or the time is over. */
async function untilEffect({ context, events: [event], sending: [sent] }: Handled) {
  let isOver = false;
  void sent!.then(() => (isOver = true));
  const end = performance.now() + watchedMs;
  while (!isOver && performance.now() < end) {
    const found = await context.settings.subject.effects();
    if (found.some(({ id }) => id === event!.id)) return;
    await context.sleep(1);
  }
}

/** Returns when the first response came and the last effect was there, in ms from the start. */
async function timesOf({ context, events, sending }: Handled) {
  const start = performance.now();
  await Promise.race(sending);
  const first = performance.now() - start;
  const responses = await Promise.all(sending);
  let last = performance.now() - start;
  // The receiver may act after it has responded.
  const awaited = new Set(events.filter((_, index) => isSuccess(responses[index]!)).map(({ id }) => id));
  while (last < watchedMs) {
    const asked = performance.now() - start;
    for (const { id } of await context.settings.subject.effects()) awaited.delete(id);
    if (awaited.size === 0) break;
    last = asked;
    await context.sleep(1);
  }
  return { first: Math.min(first, watchedMs), last: Math.min(last, watchedMs) };
}

/** Timers of Node may be late by this much, in ms. */
const timersLateMs = 3;

/** Waits more exactly than a timer does: a fast receiver handles an event within a millisecond. */
async function waitExactly(context: Context, ms: number) {
  const end = performance.now() + ms;
  if (ms > timersLateMs) await context.sleep(ms - timersLateMs);
  while (performance.now() < end) await new Promise((resolve) => void setImmediate(resolve));
}

/** Waits for a moment of the handling: a share of the time from the first response, or from the start, to the last effect. */
type Moment = (handled: Handled, times: { first: number; last: number }, share: number) => Promise<void>;

/**
 * A scenario that kills the receiver again and again while it handles `size` new events. Each event is then sent again
 * unless its response was final, and must have taken effect once.
 */
const killed = (id: string, name: string, size: number, most: number, moment: Moment) =>
  scenario("survives-crash", id, name, async (context) => {
    const all: Event[] = [];
    const sendEvents = (): Handled => {
      const events = context.events(size);
      all.push(...events);
      return { context, events, sending: events.map((event) => context.post(event)) };
    };
    const retry = async ({ events, sending }: Handled) => {
      const responses = await Promise.all(sending);
      const open = events.filter((_, index) => !isFinal(responses[index]!));
      await Promise.all(open.map(async (event) => judgeAcknowledged(context, await context.deliver(event))));
    };
    const undisturbed = sendEvents();
    const times = await timesOf(undisturbed);
    await retry(undisturbed);
    const end = performance.now() + burstsMs;
    for (let count = 0; count < most && (count < kills || performance.now() < end); count += 1) {
      const handled = sendEvents();
      // Spread the kills evenly over the time that handling takes.
      await moment(handled, times, ((count % kills) + context.random(0, 99) / 100) / kills);
      await context.restart();
      await retry(handled);
    }
    await context.settle();
    const effects = Map.groupBy(await context.settings.subject.effects(), (effect) => effect.id);
    // Some effects may only be late.
    for (const event of all.filter((each) => effects.get(each.id)?.length !== 1)) {
      if ((await context.judgeEffects(event, 1)).length !== 1) return;
    }
    context.judge(true, "one effect of each event", `one effect of each of ${all.length} events`);
  });

const acknowledged = "keeps-acknowledged";
const remembers = "remembers";

export const repeatScenarios: Scenario[] = [
  scenario("once-in-turn", "repeated", "An event four times, twice with each signature", async (context) => {
    const event = context.event();
    for (const timestamp of [-6, -6, 0, 0].map(secondsIn)) {
      await judgeRepeat(context, event, await context.post(event, ({ sign }) => sign({ timestamp })));
    }
  }),
  scenario("once-at-once", "at-once", `${races} events, each eight times at once`, async (context) => {
    for (let round = 0; round < races; round += 1) {
      const event = context.event(round % 2 === 0 ? "disbursement.completed" : "checkout.completed");
      const until = barrier(copies);
      const copy = () => context.post(event, ({ body }) => ({ hold: { at: body.length - 1, until } }));
      await Promise.all(Array.from({ length: copies }, copy));
      await settles(context, event);
    }
  }),
  scenario(remembers, "much-later", "An event again after thirty others", async (context) => {
    const event = context.event();
    await context.accepts(event);
    for (const other of context.events(30)) await context.post(other);
    await settles(context, event);
  }),
  scenario("lost-response", "lost-response", "Events again whose response was lost", async (context) => {
    for (const event of context.events(3)) {
      await context.post(event, () => ({
        hold: { until: () => context.sleep(context.settings.limits.pieceMs), closes: true },
      }));
      await settles(context, event);
    }
  }),
  scenario("failure-retried", "outage", "Events while effects fail, then the retries", async (context) => {
    const events = [context.event("disbursement.completed"), context.event("checkout.completed")];
    const during: Sent[] = [];
    await duringOutage(context, async () => {
      for (const event of events) during.push(await context.post(event));
      // The receiver may act after it has responded. An outage can last longer than it waits for a lock.
      await context.sleep(during.some(isFinal) ? outageMs : context.settings.limits.pieceMs);
    });
    for (const [index, event] of events.entries()) await takesEffect(context, event, during[index]!);
  }),
  scenario(remembers, "half-a-minute-later", "The run's first event again, half a minute later", async (context) => {
    if (!context.shared.earliest) await context.accepts(context.event());
    const first = context.shared.earliest;
    if (!first) return;
    await context.sleep(Math.max(0, first.at + context.settings.limits.repeatMs - Date.now()));
    await settles(context, first.event);
  }),
  {
    ...scenario(acknowledged, "killed-in-outage", "Killed when it has answered while effects fail", async (context) => {
      const event = context.event();
      const sent = await duringOutage(context, async () => {
        const response = await context.post(event);
        await context.kill();
        return response;
      });
      await context.settings.subject.restart?.start();
      await takesEffect(context, event, sent);
    }),
    needs: ["outage", "restart"],
  },
  scenario("remembers-after-restart", "restarted", "An event again after a restart", async (context) => {
    const event = context.event();
    await context.accepts(event);
    await context.restart();
    await settles(context, event);
  }),
  scenario(acknowledged, "killed-after-response", "Killed as soon as it has answered with 2xx", async (context) => {
    for (const event of context.events(3)) {
      const sent = await context.post(event);
      await context.restart();
      await takesEffect(context, event, sent);
    }
  }),
  killed(
    "killed-while-handling",
    `Killed ${kills} times while it handles an event, then the event again`,
    1,
    kills,
    ({ context }, { last }, share) => waitExactly(context, last * share),
  ),
  killed(
    "killed-in-burst",
    `Killed ${kills} to ${mostBursts} times among ${burst} events at once, then again each event without a final response`,
    burst,
    mostBursts,
    async ({ context, sending }, { first, last }, share) => {
      // From the first response on, some events are done and some events are not.
      await Promise.race(sending);
      await waitExactly(context, Math.max(0, last - first) * share);
    },
  ),
  killed("killed-after-effect", "Killed between effect and response, then the event again", 1, 3, untilEffect),
];
