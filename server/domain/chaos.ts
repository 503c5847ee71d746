import type { components } from "../../generated/openapi.ts";

/** What the chaos switch of a merchant's sandbox does (D17). */
export type Chaos = components["schemas"]["Chaos"];

export const NO_CHAOS: Chaos = {
  latencyMs: 0,
  failedRequestsPercent: 0,
  lostResponsesPercent: 0,
  lostWebhooksPercent: 0,
};
export const LONGEST_LATENCY_MS = 10_000;

/** The audit trail's details of a change of the switch. */
export function chaosDetails(chaos: Chaos = NO_CHAOS): Record<string, string> {
  const set = Object.entries(chaos).filter(([, value]) => value > 0);
  return set.length > 0 ? Object.fromEntries(set.map(([name, value]) => [name, String(value)])) : { chaos: "off" };
}

type Share = Exclude<keyof Chaos, "latencyMs">;

/** Decides what happens to the work of a merchant whose chaos switch is on. */
export interface ChaosSwitch {
  /** Returns 0 while the switch is off. */
  latencyMs(merchant: { chaos?: Chaos }): number;
  /** True for the share of calls that the merchant has set, in per cent; false while the switch is off. */
  strikes(merchant: { chaos?: Chaos }, share: Share): boolean;
}

/** @param chance returns a random number from 0 (inclusive) to 1 (exclusive) */
export function createChaosSwitch(chance: () => number, sandbox: boolean): ChaosSwitch {
  if (!sandbox) return { latencyMs: () => 0, strikes: () => false };
  return {
    latencyMs: ({ chaos }) => chaos?.latencyMs ?? 0,
    strikes: ({ chaos }, share) => chaos !== undefined && chance() * 100 < chaos[share],
  };
}
