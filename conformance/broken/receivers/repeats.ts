// Broken receivers that lose events or handle them more than once.
import { book, received, soundPieces, type Authentic, type Pieces, type Reply } from "./reference.ts";
import { broken, type Variant } from "./variant.ts";

const { handle } = soundPieces;

/** Longer than eight requests need to arrive together. */
const raceMs = 100;
/** Longer than a run waits before it kills the receiver. */
const crashMs = 400;

/** Handles an event if `isKnown` does not recognise it, with a memory of its own. */
const remembering = (isKnown: (event: Authentic) => boolean): Partial<Pieces> => ({
  async handle(event) {
    if (isKnown(event)) return received();
    book(event);
    return received();
  },
});

/** Handles an event in two steps. A kill can come between the steps. */
const inSteps = (
  ms: number,
  first: (event: Authentic) => void,
  second: (event: Authentic) => void,
): Partial<Pieces> => ({
  async handle(event): Promise<Reply> {
    if (event.world.durable.seen.has(event.key)) return received();
    first(event);
    await event.world.pause(ms);
    second(event);
    return received();
  },
});

const remember = ({ world, key }: Authentic) => void world.durable.seen.add(key);
const act = (event: Authentic) => {
  const effect = event.world.pieces.effectOf(event.stamp, event.parsed);
  if (effect) event.world.durable.effects.push(effect);
};
const nothing = () => undefined;

/** Remembers only the last ids. */
function lastIds(most: number): Partial<Pieces> {
  const ids: string[] = [];
  return remembering(({ key }) => {
    const isKnown = ids.includes(key);
    if (!isKnown) ids.push(key);
    if (ids.length > most) ids.shift();
    return isKnown;
  });
}

/** Stores events, and acts on all stored events whenever an event arrives. Stored events survive a kill. */
function inbox(): Partial<Pieces> {
  const stored: Authentic[] = [];
  const workOff = async (world: Authentic["world"]) => {
    await world.pause(0);
    if (!world.isFailing) for (const each of stored.splice(0)) book(each);
  };
  return {
    async handle(event) {
      const { world, key } = event;
      if (world.durable.seen.has(key) || stored.some((each) => each.key === key)) return received();
      stored.push(event);
      void workOff(world);
      return { status: 202 };
    },
  };
}

/** Remembers each id for some time. */
function rememberingFor(ms: number): Partial<Pieces> {
  const seen = new Map<string, number>();
  return remembering(({ key }) => {
    const isKnown = performance.now() - (seen.get(key) ?? -Infinity) < ms;
    if (!isKnown) seen.set(key, performance.now());
    return isKnown;
  });
}

export const brokenRepeats: readonly Variant[] = [
  broken("no-memory", "Handles an event whenever it arrives.", "once-in-turn once-at-once", {
    ...remembering(() => false),
  }),
  broken("known-by-signature", "Recognises events by their signature.", "once-in-turn", {
    keyOf: ({ signature }) => signature,
  }),
  broken("known-by-timestamp", "Recognises events by id and timestamp.", "once-in-turn", {
    keyOf: ({ id, timestamp }) => `${id} ${timestamp}`,
  }),
  broken("refuses-repetitions", "Answers a repeated event with 409.", "once-in-turn", {
    async handle(event) {
      return event.world.durable.seen.has(event.key) ? { status: 409 } : handle(event);
    },
  }),
  broken("fails-on-repetitions", "Fails on a repeated event.", "once-in-turn", {
    async handle(event) {
      return event.world.durable.seen.has(event.key) ? { status: 500 } : handle(event);
    },
  }),
  broken("looks-then-acts", "Looks whether it knows an event, and acts later.", "once-at-once", {
    ...inSteps(raceMs, nothing, book),
  }),
  broken(
    "looks-then-inserts",
    "Looks whether it knows an event, and books it two milliseconds later.",
    "once-at-once",
    {
      async handle(event) {
        if (event.world.durable.seen.has(event.key)) return received();
        await event.world.pause(2);
        book(event);
        return received();
      },
    },
  ),
  broken("acts-then-remembers", "Acts, and remembers the event later.", "once-at-once", {
    ...inSteps(raceMs, act, remember),
  }),
  broken(
    "gives-up-when-busy",
    "Acknowledges an event that another request is handling, although that request fails.",
    "once-at-once",
    {
      async handle(event) {
        const { memory, durable } = event.world;
        if (durable.seen.has(event.key) || memory.seen.has(event.key)) return received();
        memory.seen.add(event.key);
        await event.world.pause(raceMs);
        return { status: 500 };
      },
    },
  ),
  broken("last-event", "Remembers the last event only.", "remembers", lastIds(1)),
  broken("last-ten-events", "Remembers the last ten events.", "remembers", lastIds(10)),
  broken("memory-of-a-moment", "Remembers events for a third of a second.", "remembers", rememberingFor(333)),
  broken("drops-when-alone", "Remembers an event at once, and drops it if the sender has gone.", "lost-response", {
    async handle(event) {
      const { world, key, request } = event;
      if (world.durable.seen.has(key)) return received();
      remember(event);
      await world.pause(raceMs);
      if (!request.socket.destroyed) act(event);
      return received();
    },
  }),
  broken("remembers-after-response", "Remembers an event only if the sender received the response.", "lost-response", {
    async handle(event) {
      if (event.world.durable.seen.has(event.key)) return received();
      act(event);
      await event.world.pause(raceMs);
      if (!event.request.socket.destroyed) remember(event);
      return received();
    },
  }),
  broken("swallows-failures", "Acknowledges an event whose effect failed.", "failure-retried", {
    async handle(event) {
      const reply = await handle(event);
      return reply.status === 500 ? received() : reply;
    },
  }),
  broken("gone-while-locked", "Answers an event whose effect failed with 410.", "failure-retried", {
    async handle(event) {
      const reply = await handle(event);
      return reply.status === 500 ? { status: 410 } : reply;
    },
  }),
  broken("remembers-failures", "Remembers an event before its effect, which fails.", "failure-retried", {
    async handle(event) {
      if (event.world.durable.seen.has(event.key)) return received();
      remember(event);
      if (event.world.isFailing) return { status: 500 };
      act(event);
      return received();
    },
  }),
  broken("half-an-effect", "Acts although it cannot remember the event, and then fails.", "failure-retried", {
    async handle(event) {
      const { world } = event;
      if (world.durable.seen.has(event.key)) return received();
      act(event);
      if (world.isFailing) return { status: 500 };
      remember(event);
      return received();
    },
  }),
  broken("memory-only", "Remembers events in the memory of its process.", "remembers-after-restart", {
    ...remembering(({ world, key }) => {
      const isKnown = world.memory.seen.has(key);
      world.memory.seen.add(key);
      return isKnown;
    }),
  }),
  broken("responds-first", "Responds before it acts.", "keeps-acknowledged survives-crash", {
    async handle(event) {
      const { world, key } = event;
      if (world.durable.seen.has(key)) return received();
      remember(event);
      void world.pause(crashMs).then(() => act(event));
      return { status: 202 };
    },
  }),
  broken("queues-in-memory", "Acknowledges an event and keeps it in the memory of its process.", "keeps-acknowledged", {
    async handle(event) {
      const { world } = event;
      void world.pause(crashMs).then(() => void handle(event));
      return { status: 202 };
    },
  }),
  broken(
    "sweeps-on-arrival",
    "Acts on stored events when the next event arrives, and not when it is started.",
    "keeps-acknowledged",
    inbox(),
  ),
  broken("remembers-first", "Remembers an event before it acts, and not in one transaction.", "survives-crash", {
    ...inSteps(crashMs, remember, act),
  }),
  broken(
    "remembers-first-briefly",
    "Remembers an event in one commit and acts in the next, between which it is for a fifth of the time.",
    "survives-crash",
    {
      async handle(event): Promise<Reply> {
        if (event.world.durable.seen.has(event.key)) return received();
        await event.world.pause(8);
        return inSteps(2, remember, act).handle!(event);
      },
    },
  ),
  broken("acts-first", "Acts before it remembers the event, and not in one transaction.", "survives-crash", {
    ...inSteps(crashMs, act, remember),
  }),
];
