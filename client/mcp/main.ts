// The command `disbursement-checkout-mcp`: payment tools over the Model Context Protocol.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { ClientError, UsageError } from "../errors.ts";
import { httpListener } from "./http.ts";
import { describe, openTools } from "./open.ts";
import { inBothUnits } from "./outcome.ts";
import { readOwnFile } from "./policy.ts";

const usage = `Usage: disbursement-checkout-mcp [--policy FILE] [--http PORT --token-file FILE]
       disbursement-checkout-mcp --log
       disbursement-checkout-mcp --approve PLAN

Gives payment tools to agents over the Model Context Protocol, on standard input and output.

  --policy FILE      bounds that no agent can move; see the README
  --http PORT        listens on this port of 127.0.0.1 instead, at /mcp
  --token-file FILE  the bearer token of HTTP requests
  --log              prints every call, payment and approval
  --approve PLAN     approves a plan, after a question in this terminal
  --help             shows this text

Environment variables: BASE_URL, API_KEY_FILE, JOURNAL (a folder; what was paid is remembered there), and TIMEOUT_MS, how long
one request to the service may take (default: 8000).
`;

function need(name: string): string {
  const value = process.env[name];
  if (!value) throw new UsageError(`Set the environment variable ${name}. See --help.`);
  return value;
}

/** A call of the client has time for two requests without a response. */
function readTimes(text: string | undefined) {
  if (!text) return {};
  const attempt = Number(text);
  if (!Number.isInteger(attempt) || attempt < 1 || attempt > 25_000)
    throw new UsageError("TIMEOUT_MS must be a whole number from 1 to 25000.");
  return { time: { attempt, call: 2 * attempt } };
}

async function run() {
  const { values } = parseArgs({
    options: {
      policy: { type: "string" },
      http: { type: "string" },
      "token-file": { type: "string" },
      log: { type: "boolean" },
      approve: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return console.log(usage);
  const tools = openTools({
    baseUrl: need("BASE_URL"),
    apiKey: readOwnFile(need("API_KEY_FILE")).trim(),
    journal: need("JOURNAL"),
    policy: values.policy,
    session: randomUUID(),
    ...readTimes(process.env["TIMEOUT_MS"]),
  });
  if (values.log) {
    for (const line of tools.ledger.lines()) console.log(describe(line));
  } else if (values.approve !== undefined) {
    const plan = tools.plans.read(values.approve);
    if (!plan) throw new UsageError("There is no such plan, or its file was changed.");
    if (!process.stdin.isTTY) throw new UsageError("Approve in a terminal: a program must not answer the question.");
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    const { amount, currency, phoneNumber, purpose } = plan;
    console.log(`${inBothUnits(amount, currency)}\nto ${phoneNumber}\nfor ${JSON.stringify(purpose)}`);
    const answer = await terminal.question("Type the amount in the lowest denomination to approve: ");
    terminal.close();
    if (answer.trim() !== `${amount}`) throw new UsageError("Not approved.");
    tools.ledger.append({ approve: values.approve });
    console.log("Approved. The agent can pay this plan now.");
  } else if (values.http === undefined) {
    serveStdio(() => tools.createServer());
  } else {
    if (!values["token-file"]) throw new UsageError("Name the file with the bearer token: --token-file FILE.");
    const token = readOwnFile(values["token-file"]).trim();
    const server = createHttpServer(httpListener(() => tools.createServer(), token));
    // Rejects if the port cannot be used.
    await once(server.listen(Number(values.http), "127.0.0.1"), "listening");
    console.error(`Listening on http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`);
  }
}

try {
  await run();
} catch (error) {
  const { code } = error as NodeJS.ErrnoException;
  if (!(error instanceof ClientError) && !code) throw error;
  console.error((error as Error).message);
  process.exitCode = 2;
}
