// The tools of this repository, with a policy in the folder of their journal. With `approve PLAN` it approves a plan, as a
// person does with `disbursement-checkout-mcp --approve PLAN` in a terminal.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTools } from "../../../client/mcp/open.ts";

const { JOURNAL = "", BASE_URL = "", API_KEY = "", PORT = "" } = process.env;
const [, , task, plan] = process.argv;

if (task === "approve") {
  openTools({ baseUrl: BASE_URL, apiKey: API_KEY, journal: JOURNAL, session: "a person" }).ledger.append({
    approve: plan!,
  });
} else {
  const write = (name: string, text: string) => {
    const file = join(JOURNAL, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const limits = { XOF: { payout: 5_000_000, day: 2_000_000, approval: 1_000_000 } };
  process.argv.splice(2, 2, "--policy", write(`policy-${process.pid}.json`, JSON.stringify({ limits })));
  if (task === "http")
    process.argv.push("--http", PORT, "--token-file", write(`token-${process.pid}`, process.env["TOOLS_TOKEN"]!));
  await import("../../../client/mcp/main.ts");
}
