// Puts the tools together.
import { createClient } from "../client.ts";
import type { Fetch } from "../options.ts";
import { version } from "../version.ts";
import { Ledger } from "./ledger.ts";
import type { Line } from "./ledger.ts";
import { Payments } from "./payments.ts";
import { Plans } from "./plans.ts";
import { readPolicy } from "./policy.ts";
import { createServer } from "./tools.ts";

interface Settings {
  baseUrl: string;
  apiKey: string;
  /** The folder of plans, journals and the log. */
  journal: string;
  /** The file of the policy. */
  policy?: string | undefined;
  session: string;
  now?: () => number;
  fetch?: Fetch;
  /** How long an attempt and a call of the client may take, in ms. A host often ends a call after 60 s. */
  time?: { attempt: number; call: number };
}

export function openTools(settings: Settings) {
  const { baseUrl, apiKey, session, fetch, now = Date.now, time = { attempt: 8000, call: 15_000 } } = settings;
  const plans = new Plans(settings.journal);
  const ledger = new Ledger(plans.path("log.jsonl"), session, now);
  const client = createClient({
    baseUrl,
    apiKey,
    ...(fetch && { fetch }),
    timeout: time.attempt,
    retry: { totalTime: time.call },
    // Names the program in the logs and events of the service.
    headers: { "user-agent": `disbursement-checkout-mcp/${version}` },
  });
  const policy = settings.policy === undefined ? undefined : readPolicy(settings.policy);
  const payments = new Payments({ client, plans, ledger, policy, patience: time.call });
  return { plans, ledger, createServer: () => createServer(payments, ledger) };
}

/** A line of the log for people. */
export function describe({ at, session, ...line }: Line): string {
  const start = `${at} ${session.slice(0, 8)}`;
  if ("call" in line) {
    // Without control characters, which could change what a terminal shows.
    const args = JSON.stringify(line.arguments).replaceAll(/\p{C}/gu, " ");
    return `${start} ${line.call} ${args}: ${line.result} (${line.ms} ms)`;
  }
  const [what, name] = Object.entries(line)[0]!;
  const { payout, reference } = line as { payout?: string; reference?: string };
  const detail =
    "reserve" in line ? ` ${line.amount} ${line.currency}` : payout || reference ? ` as ${payout ?? reference}` : "";
  return `${start}   ${what} ${name}${detail}`;
}
