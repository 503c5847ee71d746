import { LONGEST_LATENCY_MS, type Chaos } from "../../domain/chaos.ts";
import { field, PageError } from "./visit.ts";
import type { English, Words } from "./words.ts";

/** The fields of the form for the chaos switch, each with a description. */
export const CHAOS_FIELDS = [
  {
    name: "latencyMs",
    label: "Delay of each request (ms)",
    largest: LONGEST_LATENCY_MS,
    effect: "each request waits {value} ms",
  },
  {
    name: "failedRequestsPercent",
    label: "Requests that get 500 (%)",
    largest: 100,
    effect: "{value} % of requests get 500",
  },
  {
    name: "lostResponsesPercent",
    label: "Responses that are lost (%)",
    largest: 100,
    effect: "{value} % of responses are lost",
  },
  {
    name: "lostWebhooksPercent",
    label: "Webhooks that are lost (%)",
    largest: 100,
    effect: "{value} % of webhooks are lost",
  },
] as const satisfies readonly { name: keyof Chaos; label: English; largest: number; effect: English }[];

/** Says in a sentence what the switch does. */
export function describeChaos(chaos: Chaos, { t }: Words): string {
  const active = CHAOS_FIELDS.filter(({ name }) => chaos[name] > 0);
  const effects = active.map(({ name, effect }) => t(effect, { value: chaos[name] }));
  const text = effects.join(", ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Reads the form; an empty field is 0. @throws PageError if a value is not allowed */
export function chaosIn(form: unknown): Chaos {
  const values = CHAOS_FIELDS.map(({ name, label, largest }) => {
    const typed = field(form, name);
    const value = Number(typed);
    if (/^\d*$/.test(typed) && value <= largest) return [name, value] as const;
    throw new PageError(422, `${label}: enter a whole number from 0 to ${largest.toLocaleString("en")}.`);
  });
  return Object.fromEntries(values) as unknown as Chaos;
}
