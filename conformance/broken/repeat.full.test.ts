// Runs the curl commands of a report against the server that was judged.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Exchange, Report } from "../results.ts";
import { startBroken } from "./server.ts";
import { runTrial } from "./trial.ts";

const judged = [
  "auth.whole-key-compared",
  "auth.create-refuses-wrong-key",
  "json.malformed-refused",
  "json.body-required",
  "create.phone-pattern",
  "create.reference-echoed",
  "create.pairs-accepted",
  "create.duplicate-refused",
  "verify.odd-references-404",
  "checkout.accepted",
  "limits.body-size",
  "methods.head",
];

function exchangesOf({ requirements }: Report): Exchange[] {
  const all = requirements.flatMap(({ checks }) => checks.flatMap(({ exchanges }) => exchanges));
  return [...new Map(all.map((exchange) => [exchange.id, exchange])).values()];
}

/** Runs commands one after the other in one shell. Returns the status that each of them prints. */
async function statusesOf(commands: readonly string[], env: Record<string, string>): Promise<string[]> {
  const silent = "curl -i -s -o /dev/null -w '%{http_code}\\n'";
  const script = commands.map((command) => command.replace("curl -i", silent)).join("\n");
  const options = { env: { PATH: process.env["PATH"] ?? "", ...env }, maxBuffer: 1e8 };
  const { stdout } = await promisify(execFile)("sh", ["-c", script], options);
  return stdout.trim().split("\n");
}

test.each([
  ["the published recipient", "2257038102473"],
  ["a real recipient", "2250501020304"],
])("every curl command gets the recorded status again, with %s", async (_, recipient) => {
  const server = await startBroken();
  try {
    const args = ["--effects", "money", "--profile", "extended", "--recipient", recipient];
    const report = await runTrial({ ...server, stop: async () => undefined }, args, { only: judged });
    const exchanges = exchangesOf(report).filter(({ curl }) => !curl.startsWith("#"));
    expect(exchanges.length).toBeGreaterThan(100);
    const shown = JSON.stringify(exchanges);
    for (const hidden of [server.key, server.secondKey]) expect(shown).not.toContain(hidden);
    expect(shown.includes(recipient)).toBe(recipient === "2257038102473");
    const env = { API_KEY: server.key, API_KEY_2: server.secondKey, RECIPIENT: recipient };
    const statuses = await statusesOf(
      exchanges.map(({ curl }) => curl),
      env,
    );
    const repeated = exchanges.map(({ curl }, index) => ({ status: statuses[index], curl }));
    expect(repeated).toEqual(exchanges.map(({ status, curl }) => ({ status: String(status), curl })));
  } finally {
    await server.stop();
  }
});
