// Makes and signs the events that a run sends. They follow the contract and name payments that do not exist.
import { createHash } from "node:crypto";
import { openapi } from "../../contract/contract.ts";
import type { Random } from "../../generate/random.ts";

/** What an event says of a payment, as the contract's `Disbursement` or `Checkout`. */
export type Data = {
  reference: string;
  merchantsReference: string;
  /** In the lowest denomination. */
  amount: number;
  [field: string]: unknown;
};

/** An event with its id (`webhook-id`). */
export type Event = { id: string; event: string; data: Data };

/** The contract's example of each event, by the name of the event. */
const examples: ReadonlyMap<string, Data> = new Map(
  Object.entries(openapi.components.examples)
    .filter(([name]) => name.endsWith("Event"))
    .map(([, example]) => example.value as Pick<Event, "event" | "data">)
    .map(({ event, data }) => [event, data]),
);

/** The names of the events that the contract defines. */
export const eventNames: readonly string[] = [...examples.keys()];

/**
 * Returns a function that makes new events. The ids differ from the ids of all other runs, because a receiver under
 * test may remember them. Everything else depends on the seed alone.
 * @param runId a text that differs from run to run
 */
export function createEvents(runId: string, random: Random) {
  let count = 0;
  return (name: string, changes: Partial<Data> = {}): Event => {
    const unique = createHash("sha256")
      .update(`${runId} ${(count += 1)}`)
      .digest("hex")
      .slice(0, 32);
    const example = examples.get(name) ?? examples.get("disbursement.completed")!;
    const data: Data = {
      ...example,
      reference: `${example.reference.slice(0, 3)}${unique.slice(0, 21).toUpperCase()}`,
      merchantsReference: `order-${unique.slice(-12)}`,
      amount: random(1, 5_000_000),
      createdAt: new Date(Date.now() - random(10_000, 60_000)).toISOString(),
      updatedAt: new Date().toISOString(),
      ...changes,
    };
    return { id: `msg_${unique}`, event: name, data };
  };
}

/** Returns the body with which the service sends an event. */
export const bodyOf = ({ event, data }: Pick<Event, "event" | "data">): Buffer =>
  Buffer.from(JSON.stringify({ event, data }));

/** The three headers that authenticate an event. */
export type Stamp = { id: string; timestamp: string; signature: string };
