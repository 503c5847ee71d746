// Renders what a watch saw so far for Prometheus.
import type { WatchedRequirement, WatchResult } from "./result.ts";

type Sample = [labels: string, count: number];

/** JSON escapes a value as Prometheus does. */
const label = (name: string, value: string) => `{${name}=${JSON.stringify(value)}}`;

function counter(name: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, count]) => `${name}${labels} ${count}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} counter\n${lines.join("")}`;
}

/** Renders the counters in the text format of Prometheus. */
export function renderMetrics({ exchanges, requirements, missed, forgotten }: WatchResult): string {
  const each = (count: (of: WatchedRequirement) => number) =>
    requirements.map((of): Sample => [label("requirement", of.id), count(of)]);
  const judged = each(({ held, contradictions }) => held + contradictions.count);
  const violations = each(({ contradictions }) => contradictions.count);
  const reasons = Object.entries({ ...missed, ...forgotten });
  const unseen = reasons.map(([reason, count]): Sample => [label("reason", reason), count]);
  return [
    counter("certify_watch_exchanges_total", "Exchanges that were seen.", [["", exchanges]]),
    counter("certify_watch_judged_total", "Cases that were judged.", judged),
    counter("certify_watch_violations_total", "Cases that contradicted a requirement.", violations),
    counter("certify_watch_missed_total", "What was not seen, not judged or forgotten.", unseen),
  ].join("");
}
