// Serves what a watch saw so far to Prometheus.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CannotRun } from "../results.ts";
import type { WatchedRequirement, WatchResult } from "./result.ts";

type Sample = [label: string, count: number];

/** JSON escapes a value as Prometheus does. */
const label = (name: string, value: string) => `{${name}=${JSON.stringify(value)}}`;

function counter(name: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([label, count]) => `${name}${label} ${count}\n`);
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

/**
 * Serves the counters. Returns the URL and how to stop.
 * @throws CannotRun if the address cannot be used
 */
export async function serveMetrics({ host, port }: { host: string; port: number }, result: () => WatchResult) {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8").end(renderMetrics(result()));
  });
  server.listen({ host, port });
  await once(server, "listening").catch((error: Error) => {
    throw new CannotRun(`--metrics: ${error.message}`);
  });
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${(server.address() as AddressInfo).port}/metrics`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url, close };
}
