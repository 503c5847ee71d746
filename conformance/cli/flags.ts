import type { ParseArgsOptionsConfig } from "node:util";

/** The text that `--help` prints. */
export const usage = `Usage: certify --base-url URL [options]

  --base-url URL              the target, including any path before /v1
  --profile core|extended     which requirements to judge (default: core)
  --effects none|reject|money what the run may do (default: money for a sandbox on loopback, otherwise none)
  --only ID,…                 judge only these requirements
  --report DIR                directory for the report (default: ./certify-report)
  --baseline FILE             known failures to tolerate until they expire (YAML: id, reason, expires)
  --sign KEYFILE              sign certificate.jws with this key if the run is certified (see keygen)
  --valid-days N              validity of that certificate in days (default: 90)
  --recipient PHONE           phone number that receives the payouts (default: 2257038102473)
  --failing-recipient PHONE   phone number whose payouts fail (default for a sandbox: 2250000000089)
  --max-payouts N             maximum number of payouts (default: 500)
  --max-total AMOUNT          maximum sum of payouts, in the lowest denomination (default: 50000000)
  --webhook-listen HOST:PORT  address on which to receive webhooks (default for a loopback target: 127.0.0.1:0)
  --webhook-url URL           URL under which the target reaches that address
  --timeout MS                time limit for a response (default: 10000)
  --rate PER_SECOND           maximum requests per second
  --header 'Name: value'      send this header with every request; may be repeated
  --seed N                    reproduce the generated inputs of an earlier run
  --through-prism             let Prism validate every response too, and show where it disagrees
  --api-key-file FILE         read the API key from this file instead of API_KEY
  --yes                       confirm payouts on a target that is not on loopback

Commands:
  certify keygen FILE         create a signing key in FILE and its public key in FILE.pub
  certify verify CERTIFICATE --key FILE.pub [--report report.json]
                              verify a certificate offline
  certify diff A.json B.json  compare two reports

Environment:
  API_KEY                     the merchant's API key
  API_KEY_2                   a second merchant's API key
  WEBHOOK_SECRET              the secret that signs the merchant's webhooks`;

/** The options of a run, in the form that `parseArgs` of node:util expects. */
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
  recipient: { type: "string" },
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
