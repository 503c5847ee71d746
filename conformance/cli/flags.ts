import type { ParseArgsOptionsConfig } from "node:util";

/** What `--help` prints. */
export const usage = `Usage: certify --base-url URL [options]

  --base-url URL              the target, with any path in front of /v1
  --profile core|extended     what to judge (core)
  --effects none|reject|money what the run may do (money for a sandbox on loopback, otherwise none)
  --only ID,…                 judge these requirements alone
  --report DIR                where the report goes (./certify-report)
  --baseline FILE             known failures (YAML: id, reason, expires) that are tolerated until their day
  --sign KEYFILE              write certificate.jws for a certified run, signed with this key (certify keygen)
  --valid-days N              how long that certificate counts (90)
  --recipient PHONE           who is paid (2257038102473)
  --failing-recipient PHONE   a number whose payouts fail (2250000000089 for a sandbox)
  --max-payouts N             payouts at most (500)
  --max-total AMOUNT          their sum at most, lowest denomination (50000000)
  --webhook-listen HOST:PORT  where to listen for webhooks (127.0.0.1:0 for a loopback target)
  --webhook-url URL           how the target reaches that address from outside
  --timeout MS                how long an answer may take (10000)
  --rate PER_SECOND           requests per second at most
  --header 'Name: value'      sent with every request; may be repeated
  --seed N                    repeats the generated inputs of an earlier run
  --through-prism             ask Prism for a second opinion on every answer, and say where it differs
  --api-key-file FILE         the key, when it is not in API_KEY
  --yes                       pay on a target that is not loopback, without asking

  certify keygen FILE | certify verify CERTIFICATE --key FILE.pub [--report report.json] | certify diff A.json B.json

  Environment: API_KEY the merchant's key, API_KEY_2 a second merchant's, WEBHOOK_SECRET what signs the webhooks.`;

/** The options of a run, as node:util parseArgs takes them. */
export const flags = {
  "base-url": { type: "string" },
  profile: { type: "string", default: "core" },
  effects: { type: "string" },
  report: { type: "string", default: "./certify-report" },
  only: { type: "string", multiple: true },
  baseline: { type: "string" },
  sign: { type: "string" },
  "valid-days": { type: "string", default: "90" },
  "webhook-url": { type: "string" },
  "webhook-listen": { type: "string" },
  recipient: { type: "string", default: "2257038102473" },
  "failing-recipient": { type: "string" },
  "max-payouts": { type: "string", default: "500" },
  "max-total": { type: "string", default: "50000000" },
  timeout: { type: "string", default: "10000" },
  rate: { type: "string" },
  header: { type: "string", multiple: true, default: [] },
  seed: { type: "string" },
  "api-key-file": { type: "string" },
  "through-prism": { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
} satisfies ParseArgsOptionsConfig;
