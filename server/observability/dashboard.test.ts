import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { parseMetrics } from "../testing/http.ts";
import { createTestRail, railsOf } from "../testing/rail.ts";
import { startServer } from "../testing/server.ts";
import { startProcess, type ServerProcess } from "../testing/process.ts";

const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");

const dashboard = JSON.parse(read("dashboard.json")) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
const alerts = parse(read("alerts.yaml")) as {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);
const queries = [
  ...dashboard.panels.flatMap(({ title, targets }) =>
    // Grafana replaces its variables before Prometheus reads the expression.
    targets.map(({ expr }) => [title, expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".*")] as const),
  ),
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
];

/** Returns the texts of the nodes of these types. A node of type ⚠ marks a syntax error. */
function nodes(expression: string, ...types: string[]): string[] {
  const found: string[] = [];
  parser.parse(expression).iterate({
    enter({ type, from, to }) {
      if (types.includes(type.name)) found.push(expression.slice(from, to));
    },
  });
  return found;
}

let server: ServerProcess;
/** The labels of each metric that the server has. Prometheus itself adds job and instance. */
const labelsOf = new Map<string, Set<string>>();
beforeAll(async () => {
  server = await startProcess({ DATABASE_URL: "sqlite::memory:" });
  // A metric by operation appears with the first request.
  await fetch(`${server.url}/healthz`);
  const text = await (await fetch(`${server.url}/metrics`)).text();
  for (const { name, labels } of [...parseMetrics(text), ...(await metricsOfRails())]) {
    labelsOf.set(name, new Set([...(labelsOf.get(name) ?? ["job", "instance"]), ...Object.keys(labels)]));
  }
});

/** The metrics that only a live server has, or one with payments. */
async function metricsOfRails() {
  const METRICS_TOKEN = "a-token-for-the-metrics";
  const rail = createTestRail();
  rail.answers.push(new Error("time-out"));
  const live = await startServer({ env: { SANDBOX: "false", METRICS_TOKEN }, rails: railsOf(rail) });
  await live.createPayout();
  await live.createPayout();
  await live.pass(0);
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const { text } = await live.request("GET", "/metrics", { key: null, headers });
  await live.close();
  return parseMetrics(text).filter(({ name }) => /^(rail|payments)_/.test(name));
}
afterAll(() => server.kill("SIGTERM"));

test.each(queries)("%s: %s is PromQL of metrics and labels that the server has", (_, expression) => {
  expect(nodes(expression, "⚠")).toEqual([]);
  const names = nodes(expression, "VectorSelector").map((selector) => /^\w+/.exec(selector)![0]);
  expect(names).not.toEqual([]);
  expect(names.filter((name) => !labelsOf.has(name))).toEqual([]);
  const known = new Set(names.flatMap((name) => [...labelsOf.get(name)!]));
  expect(nodes(expression, "LabelName").filter((label) => !known.has(label))).toEqual([]);
});

test("the server's own metrics are all shown on the dashboard", () => {
  const shown = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join(" ");
  const own = [...labelsOf.keys()].filter((name) => !/^(process|nodejs)_/.test(name));
  const families = new Set(own.map((name) => name.replace(/_(bucket|sum|count)$/, "")));
  expect([...families].filter((family) => !shown.includes(family))).toEqual([]);
});

test("every alert says what to do", () => {
  for (const { alert, annotations } of rules)
    expect.soft(Object.keys(annotations), alert).toEqual(["summary", "action"]);
});
