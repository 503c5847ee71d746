import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { collectDefaultMetrics, Registry } from "prom-client";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { COUNTED, makeMetrics, SHARED } from "./metrics.ts";

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

const registry = new Registry();
collectDefaultMetrics({ register: registry });
makeMetrics(registry, { ...COUNTED, ...SHARED });
/** The labels of each metric that the server has. Prometheus itself adds job and instance. */
const labelsOf = new Map<string, readonly string[]>();
type Made = { name: string; labelNames: string[]; type: string };
for (const { name, labelNames, type } of registry.getMetricsAsArray() as unknown as Made[])
  for (const ending of type === "histogram" ? ["_bucket", "_sum", "_count"] : [""])
    labelsOf.set(name + ending, ["job", "instance", "le", ...labelNames]);

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
  const families = Object.keys({ ...COUNTED, ...SHARED });
  expect(families.filter((family) => !shown.includes(family))).toEqual([]);
});

test("every alert says what to do", () => {
  for (const { alert, annotations } of rules)
    expect.soft(Object.keys(annotations), alert).toEqual(["summary", "action"]);
});
