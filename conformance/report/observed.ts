import type { Observation, Report } from "../results.ts";

/** One value in an observation, as JSON, and its path there. */
export type Leaf = { path: string; value: string };

/** Splits an observation's value into its leaves. Objects are split by key at any depth. Everything else is a leaf. */
export function leavesOf(value: unknown, path: readonly string[] = []): Leaf[] {
  const entries = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0) return [{ path: path.join(" → "), value: JSON.stringify(value) ?? "undefined" }];
  return entries.flatMap(([key, part]) => leavesOf(part, [...path, key]));
}

/** Returns the observations, each with its leaves and the text of its requirement. */
export function observationsOf({ observed, requirements }: Report): (Observation & { text: string; leaves: Leaf[] })[] {
  const texts = new Map(requirements.map(({ id, text }) => [id, text]));
  return observed.map((observation) => ({
    ...observation,
    text: texts.get(observation.requirement) ?? "",
    leaves: leavesOf(observation.value),
  }));
}
