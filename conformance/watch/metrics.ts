// Serves what a watch saw so far to Prometheus.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CannotRun } from "../results.ts";
import type { WatchResult } from "./result.ts";

type Sample = readonly [label: string | undefined, value: number];

const escaped = (text: string) =>
  text
    .replaceAll("\\", String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`);

/** Renders one counter, whose samples differ in one label. */
function counter(name: string, help: string, label: string, samples: readonly Sample[]): string[] {
  const lines = samples.map(([value, count]) => {
    const labels = value === undefined ? "" : `{${label}="${escaped(value)}"}`;
    return `${name}${labels} ${count}`;
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} counter`, ...lines];
}

/** Renders the counters in the text format of Prometheus. */
export function renderMetrics({ exchanges, webhooks, requirements, missed, forgotten }: WatchResult): string {
  const judged = requirements.map(({ id, held, contradictions }): Sample => [id, held + contradictions.count]);
  const violations = requirements.map(({ id, contradictions }): Sample => [id, contradictions.count]);
  return [
    ...counter("certify_watch_exchanges_total", "Exchanges that were seen.", "", [[undefined, exchanges]]),
    ...counter("certify_watch_webhooks_total", "Webhooks that were seen.", "", [[undefined, webhooks]]),
    ...counter("certify_watch_judged_total", "Cases that were judged.", "requirement", judged),
    ...counter("certify_watch_violations_total", "Cases that contradicted a requirement.", "requirement", violations),
    ...counter("certify_watch_missed_total", "What was not seen or not judged.", "reason", Object.entries(missed)),
    ...counter("certify_watch_forgotten_total", "What memory had no space for.", "what", Object.entries(forgotten)),
    "",
  ].join("\n");
}

/**
 * Serves the counters on `/metrics`. Returns the URL and how to stop.
 * @throws CannotRun if the address cannot be used
 */
export async function serveMetrics({ host, port }: { host: string; port: number }, result: () => WatchResult) {
  const server = createServer(({ url = "" }, response) => {
    if (url.split("?")[0] !== "/metrics") return void response.writeHead(404).end("The metrics are at /metrics.\n");
    response
      .writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
      .end(renderMetrics(result()));
  });
  server.listen({ host, port });
  await once(server, "listening").catch((error: Error) => {
    throw new CannotRun(`--metrics: ${error.message}`);
  });
  const address = server.address() as AddressInfo;
  const shownHost = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    url: `http://${shownHost}:${address.port}/metrics`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
