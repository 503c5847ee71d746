import type { parseArgs, ParseArgsOptionsConfig } from "node:util";

/** The text that `--help` prints. */
export const help = `Usage: certify --base-url URL [options]

Target:
  --base-url URL              the target, including any path before /v1
  --api-key-file FILE         read the API key from this file instead of API_KEY
  --header 'Name: value'      send this header with every request; may be repeated
  --ca FILE                   trust the certificates in this file too (PEM), for a private CA or a self-signed server
  --cert FILE                 client certificate for a target that requires one (PEM); needs --key
  --key FILE                  private key of that certificate (PEM)
  --timeout MS                time limit for a response (default: 10000)
  --settle-timeout SECONDS    how long to wait for a payout to settle (default: 90; 10 if the sandbox's clock moves)
  --linger SECONDS            age of the first payouts when every record and reference is checked for the last time (default: 16)
  --rate PER_SECOND           maximum requests per second

What to judge:
  --profile core|extended     which requirements to judge (default: core)
  --only ID,…                 judge only these requirements
  --declare FILE              limits of the target that the interface leaves open (YAML, see README)
  --interactive               ask a person on this terminal to finish checkouts where the target has no control for it
  --seed N                    reproduce the generated inputs of an earlier run
  --challenge TEXT            derive the seed and the references from a text that a partner chose; it is on the certificate
  --through-prism             let Prism validate every response too, and show where it disagrees

Money:
  --effects none|reject|money what the run may do (default: money for a sandbox on loopback, otherwise none)
  --recipient PHONE           phone number that receives the payouts (default: 2257038102473; made up in a sandbox)
  --failing-recipient PHONE   phone number whose payouts fail (default for a sandbox: one like 2250000000089)
  --max-payouts N             maximum number of payouts (default: 500)
  --max-total AMOUNT          maximum sum of payouts, in the lowest denomination (default: 50000000;
                              no limit for a sandbox on loopback)
  --yes                       confirm payouts on a target that is not on loopback

Webhooks:
  --webhook-listen HOST:PORT  address on which to receive webhooks (default for a loopback target: 127.0.0.1:0)
  --webhook-url URL           URL under which the target reaches that address

Report:
  --report DIR                directory for the report (default: ./certify-report)
  --baseline FILE             known failures to tolerate until they expire (YAML: id, reason, expires)
  --sign KEYFILE              sign certificate.jws with this key if the run is certified (see keygen)
  --valid-days N              validity of that certificate in days (default: 90)

Commands:
  certify doctor --base-url URL [options]
                              examine address, keys, clock and webhooks for a run with these options; creates nothing
  certify init --base-url URL [options] [--output FILE]
                              write the limits of the target to FILE (default: ./certify.yaml) for --declare; finds
                              them with payouts, so only with --effects money; never overwrites a file
  certify client --command CMD [options]
                              judge a program that pays; see certify client --help
  certify receiver --url URL --effects-url URL [options]
                              judge a program that receives webhooks; see certify receiver --help
  certify list [--profile core|extended|client|receiver]
                              list the requirements
  certify explain ID          what a requirement says, how it is checked, and how to check only it; the same for a
                              scenario of a client or receiver
  certify keygen FILE         create a signing key in FILE (mode 0600) and its public key in FILE.pub
  certify verify CERTIFICATE --key FILE.pub [options]
                              verify a certificate offline: --report FILE, --revocations FILE, --target URL,
                              --kind service|client|receiver, --profile NAME, --contract FILE|SHA256,
                              --suite VERSION|SHA256, --max-age DURATION, --challenge TEXT, --require NAME,…
  certify registry FOLDER     verify a folder of certificates against its index.json and revocations.json
  certify rejudge FOLDER      judge the run of a report again, offline, from its exchanges.jsonl.gz
  certify diff A.json B.json  compare two reports

Environment:
  API_KEY                     the merchant's API key
  API_KEY_2                   a second merchant's API key
  WEBHOOK_SECRET              the secret that signs the merchant's webhooks`;

/** Returns what `--help` says about a command. */
export const usageOf = (command: string) =>
  help
    .split(/\n\n|\n {2}(?=certify )/)
    .filter((part) => part.startsWith(`certify ${command} `))
    .join("\n");

/** The options of a run, in the form that `parseArgs` of node:util expects. */
export const flags = {
  "base-url": { type: "string" },
  profile: { type: "string", default: "core" },
  effects: { type: "string" },
  report: { type: "string", default: "./certify-report" },
  only: { type: "string", multiple: true },
  declare: { type: "string" },
  baseline: { type: "string" },
  sign: { type: "string" },
  "valid-days": { type: "string", default: "90" },
  "webhook-url": { type: "string" },
  "webhook-listen": { type: "string" },
  recipient: { type: "string" },
  "failing-recipient": { type: "string" },
  "max-payouts": { type: "string", default: "500" },
  "max-total": { type: "string" },
  timeout: { type: "string", default: "10000" },
  "settle-timeout": { type: "string" },
  linger: { type: "string", default: "16" },
  rate: { type: "string" },
  header: { type: "string", multiple: true, default: [] },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  seed: { type: "string" },
  challenge: { type: "string" },
  "api-key-file": { type: "string" },
  "through-prism": { type: "boolean", default: false },
  interactive: { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
} satisfies ParseArgsOptionsConfig;

/** The values of these options on a command line. */
export type Values = ReturnType<typeof parseArgs<{ options: typeof flags }>>["values"];
