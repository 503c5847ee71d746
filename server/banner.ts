import { styleText } from "node:util";
import { PROGRAM } from "./commands/command.ts";
import { dashboardRefusal, type Config } from "./config.ts";

interface Banner {
  config: Config;
  /** The API key created at this start: its text, which is shown only here, or the file that contains it. */
  newKey?: { text: string } | { file: string } | undefined;
  /** The id of the key in SANDBOX_API_KEY, if it has been revoked. */
  revokedKeyId?: string | undefined;
  /** A link that signs an operator in to the dashboard, once. */
  signIn?: string | undefined;
}

const hasDashboard = ({ dashboard, role }: Config): boolean => dashboard && role !== "worker";

export const servesDashboard = (config: Config): boolean =>
  hasDashboard(config) && dashboardRefusal(config) === undefined;

/** The text printed on the terminal at start-up: the server's URLs and a command that creates a first payout. */
export function banner({ config, newKey, revokedKeyId, signIn }: Banner): string {
  const { publicUrl, rails, sandbox, webhookAllowPrivate } = config;
  const names = rails?.rails.map(({ name }) => name).join(", ");
  const isForThisMachine =
    ["0.0.0.0", "::"].includes(config.host) && /^http:\/\/(127\.0\.0\.1|\[::1\]):/.test(publicUrl);
  const parts = [
    [
      `${styleText("bold", "Disbursement and checkout server")} (${sandbox ? "sandbox" : "live"})`,
      names
        ? styleText("red", `Money moves over ${names}: every payout that is created here is paid.`)
        : "No money moves: the outcome of every payment is simulated.",
      styleText("cyan", publicUrl),
      config.role !== "worker" && `${styleText("cyan", `${publicUrl}/docs`)} (guides and API reference)`,
    ]
      .filter(Boolean)
      .join("\n  "),
    isForThisMachine &&
      "  Checkout links use this address, which only this machine can open. Set PUBLIC_URL to a public URL.",
    newKey &&
      ("text" in newKey
        ? `  Your API key (shown only once): ${styleText("yellow", newKey.text)}`
        : `  Your API key is in ${newKey.file}. Keep it and delete the file.`),
    revokedKeyId !== undefined &&
      `  The key in SANDBOX_API_KEY (${revokedKeyId}) was revoked and stays invalid. Set another value.`,
    hasDashboard(config) && `  Dashboard${aboutDashboard(config, signIn)}`,
    webhookAllowPrivate
      ? "  Webhooks may go to loopback and private addresses (WEBHOOK_ALLOW_PRIVATE)."
      : "  Webhooks go to public addresses only (WEBHOOK_ALLOW_PRIVATE).",
    // A pasted line must not pay anybody.
    !rails && `  Create a first payout${newKey ? "" : `, with ${knownKey(config)} in the variable API_KEY`}:`,
    !rails && curlLine(publicUrl, keyInShell(newKey)),
  ];
  return `\n${parts.filter(Boolean).join("\n\n")}\n\n`;
}

function aboutDashboard(config: Config, signIn: string | undefined): string {
  const refusal = dashboardRefusal(config);
  if (refusal !== undefined) return `: none. ${refusal}`;
  if (signIn !== undefined) return ` (the link works once, for ten minutes):\n  ${signIn}`;
  return `: ${config.publicUrl}/dashboard (\`${PROGRAM} keys dashboard-link\` prints a link to sign in)`;
}

/** The key that the person has; the server does not show it. */
const knownKey = ({ sandboxApiKey }: Config) =>
  sandboxApiKey === undefined
    ? `your key (lost? \`${PROGRAM} keys create MERCHANT\` makes another; \`keys merchants\` lists the merchants)`
    : "the value of SANDBOX_API_KEY";

/** The key as the curl command contains it: the key itself, its file's content, or a variable. */
function keyInShell(newKey: Banner["newKey"]): string {
  if (!newKey) return "$API_KEY";
  return "text" in newKey ? newKey.text : `$(cat '${newKey.file.replaceAll("'", `'\\''`)}')`;
}

/**
 * A curl command that creates a record and can be run repeatedly: the shell generates a new reference each time.
 * @param key what the shell puts into the header, such as `$API_KEY`
 */
function curlLine(publicUrl: string, key: string): string {
  const reference = `'"$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"'`;
  return (
    `curl -sS '${publicUrl.replaceAll("'", "%27")}/v1/disbursements' -H "x-api-key: ${key}" ` +
    `-H 'content-type: application/json' -d '{"reference":"first-${reference}",` +
    `"amount":10000,"phoneNumber":"2257038102473","country":"CI","currency":"XOF"}'`
  );
}
