// Runs the README's programs that pay against the hostile service of `certify client`: what they print must be true.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stripTypeScriptTypes } from "node:module";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PlannedEntry } from "../conformance/programs/client/entries.ts";
import type { Scenario } from "../conformance/programs/client/scenario.ts";
import { startService } from "../conformance/programs/client/service.ts";
import { installPacked, type Project } from "../scripts/testing/packed.ts";

const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
const entry = (reference: string, amount: number, phoneNumber: string): PlannedEntry => ({
  reference,
  amount,
  phoneNumber,
  country: "CI",
  currency: "XOF",
  fate: "pending",
});

interface Program {
  name: string;
  entries: PlannedEntry[];
  /** What the program prints about a payment that exists, that certainly does not exist, or that may exist. */
  says: { exists: RegExp; missing: RegExp; unknown: RegExp };
}

const programs: Program[] = [
  {
    name: "first",
    entries: [entry("refund-7779", 1500000, "2257038102473")],
    says: { exists: /^(created|existed) pending$/, missing: /^refused /, unknown: /^unknown / },
  },
  {
    name: "payroll",
    entries: [entry("salary-2026-11-1", 1500000, "2257038102473"), entry("salary-2026-11-2", 1200000, "2250701020304")],
    says: {
      exists: /(created|existed): DSB/,
      missing: / not created: /,
      unknown: / perhaps created; run the payroll again/,
    },
  },
];

const refused = (status: number) =>
  ({ process: "never", answer: { status, body: { statusCode: status, error: "Refused", code: "refused" } } }) as const;
const page = { status: 200, headers: { "content-type": "text/html" }, body: "<html>Please sign in</html>" };

type Conditions = Pick<Scenario, "creates" | "afterwards" | "lists" | "location"> & {
  exists?: PlannedEntry["exists"];
  what: string;
};
const lost: Conditions["creates"] = [{ process: "now", answer: "drop" }];
const hostile: Conditions[] = [
  { what: "the response is lost", creates: lost },
  { what: "the request is lost", creates: [{ process: "never", answer: "drop" }] },
  { what: "the response is lost, then the key is refused", creates: lost, afterwards: refused(401), lists: "none" },
  { what: "the response is lost, then the balance is used up", creates: lost, afterwards: refused(422) },
  {
    what: "the request arrives late, and the retry is refused",
    creates: [{ process: "late", answer: "drop" }],
    afterwards: refused(422),
  },
  { what: "a gateway's page follows", creates: [{ process: "now", answer: page }] },
  {
    what: "a gateway's JSON follows",
    creates: [{ process: "now", answer: { status: 403, body: { statusCode: 403, error: "Forbidden" } } }],
  },
  { what: "the service refuses", afterwards: refused(422) },
  { what: "the key is refused", afterwards: refused(401) },
  { what: "it exists", exists: {} },
  { what: "it exists, and the record cannot be read", exists: {}, location: null, lists: "none" },
  { what: "another payout has the reference", exists: { amount: 7 } },
];

let project: Project;
/** The README's programs as JavaScript, by name. */
const sources = new Map<string, string>();
beforeAll(async () => {
  project = await installPacked("client");
  // Node would remove the types at each of a hundred starts.
  for (const [, name, code] of readme.matchAll(/<!-- (\w+)\.ts -->\n\n```ts\n(.*?)```/gs))
    sources.set(name!, stripTypeScriptTypes(code!));
}, 120_000);
afterAll(() => project?.remove());

const key = "key-of-the-merchant";

async function run(name: string, baseUrl: string, journal: string): Promise<string> {
  const file = `${journal}.js`;
  project.write(file, sources.get(name)!.replace("salary-2026-11.journal", `${journal}.journal`));
  const env = { ...process.env, BASE_URL: baseUrl, API_KEY: key };
  const child = spawn(process.execPath, [file], { cwd: project.folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => void (output += String(chunk)));
  await once(child, "close");
  return output;
}

const cases = programs.flatMap((program) =>
  hostile.map((conditions, index) => ({ ...program, what: conditions.what, conditions, index })),
);

test.concurrent.for(cases)("$name: tells the truth if $what", async ({ name, entries, says, conditions, index }) => {
  const { what, exists, ...more } = conditions;
  const planned = entries.map((each) => (exists ? { ...each, exists } : each));
  const service = await startService({ id: what, name: what, ...more }, planned, { key, seed: 1, timeoutMs: 15_000 });
  // The second run finds what the first run left behind.
  const outputs: string[] = [];
  for (const _ of [1, 2]) outputs.push(await run(name, service.url, `${name}-${index}`));
  service.ledger.settle();
  await service.close();
  for (const output of outputs) {
    const lines = output.trim().split("\n");
    for (const { reference, amount, phoneNumber } of entries) {
      const paid = service.ledger.payouts.filter(
        ({ record }) => record.customer.phoneNumber === phoneNumber && record.amount === amount,
      );
      expect(paid.length).toBeLessThanOrEqual(1);
      // Of several entries, each line begins with a reference.
      const said = entries.length === 1 ? output : lines.find((line) => line.startsWith(reference));
      const truth = paid.length > 0 ? says.exists : says.missing;
      const isTrue = [truth, says.unknown].some((pattern) => new RegExp(pattern, "m").test(said ?? ""));
      expect(isTrue ? "" : `${what}; ${paid.length} payouts; said:\n${output}`).toBe("");
    }
  }
});
