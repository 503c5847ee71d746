import { PROGRAM } from "./commands/command.ts";
import { dashboardRefusal, type Config } from "./config.ts";
import type { RailsSettings } from "./rails/settings.ts";
import { curlLine } from "./http/curl-line.ts";

interface Banner {
  config: Config;
  /** The API key created at this start: its text, which is shown only here, or the file that contains it. */
  newKey?: { text: string } | { file: string } | undefined;
  /** The id of the key in SANDBOX_API_KEY, if it has been revoked. */
  revokedKeyId?: string | undefined;
  /** A link that signs an operator in to the dashboard, once. */
  signIn?: string | undefined;
  color: boolean;
}

/** A worker serves no pages. */
const hasDashboard = ({ dashboard, role }: Config): boolean => dashboard && role !== "worker";

export const servesDashboard = (config: Config): boolean =>
  hasDashboard(config) && dashboardRefusal(config) === undefined;

/** The text printed on the terminal at start-up: the server's URLs and a command that creates a first payout. */
export function banner({ config, newKey, revokedKeyId, signIn, color }: Banner): string {
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const { publicUrl, rails, sandbox, webhookAllowPrivate } = config;
  const isForThisMachine =
    ["0.0.0.0", "::"].includes(config.host) && /^http:\/\/(127\.0\.0\.1|\[::1\]):/.test(publicUrl);
  const parts = [
    [
      `${paint(1, "Disbursement and checkout server")} (${sandbox ? "sandbox" : "live"})`,
      rails ? paint(31, movesMoney(rails)) : "No money moves: the outcome of every payment is simulated.",
      paint(36, publicUrl),
      config.role !== "worker" && `${paint(36, `${publicUrl}/docs`)} (guides and API reference)`,
    ]
      .filter(Boolean)
      .join("\n  "),
    isForThisMachine &&
      "  Checkout links use this address, which only this machine can open. Set PUBLIC_URL to a public URL.",
    newKey &&
      ("text" in newKey
        ? `  Your API key (shown only once): ${paint(33, newKey.text)}`
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

const movesMoney = ({ rails }: RailsSettings) =>
  `Money moves over ${rails.map(({ name }) => name).join(", ")}: every payout that is created here is paid.`;

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
