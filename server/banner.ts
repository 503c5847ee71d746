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
  const lines = [
    "",
    `${paint(1, "Disbursement and checkout server")} (${config.sandbox ? "sandbox" : "live"})`,
    `  ${config.rails ? paint(31, movesMoney(config.rails)) : "No money moves: the outcome of every payment is simulated."}`,
    `  ${paint(36, config.publicUrl)}`,
    ...(config.role === "worker" ? [] : [`  ${paint(36, `${config.publicUrl}/docs`)} (guides and API reference)`]),
    "",
  ];
  if (["0.0.0.0", "::"].includes(config.host) && /^http:\/\/(127\.0\.0\.1|\[::1\]):/.test(config.publicUrl)) {
    lines.push(
      "  Checkout links use this address, which only this machine can open. Set PUBLIC_URL to a public URL.",
      "",
    );
  }
  if (newKey && "text" in newKey) lines.push(`  Your API key (shown only once): ${paint(33, newKey.text)}`, "");
  if (newKey && "file" in newKey) lines.push(`  Your API key is in ${newKey.file}. Keep it and delete the file.`, "");
  if (revokedKeyId !== undefined) {
    lines.push(`  The key in SANDBOX_API_KEY (${revokedKeyId}) was revoked and stays invalid. Set another value.`, "");
  }
  if (hasDashboard(config)) lines.push(...dashboardLines(config, signIn), "");
  lines.push(`  Webhooks ${destinations(config)}`, "");
  // A pasted line must not pay anybody.
  if (config.rails) return `${lines.join("\n")}\n`;
  lines.push(
    newKey === undefined
      ? `  Create a first payout, with ${knownKey(config)} in the variable API_KEY:`
      : "  Create a first payout:",
    "",
    curlLine(config.publicUrl, keyInShell(newKey)),
    "",
  );
  return `${lines.join("\n")}\n`;
}

const movesMoney = ({ rails }: RailsSettings) =>
  `Money moves over ${rails.map(({ name }) => name).join(", ")}: every payout that is created here is paid.`;

function dashboardLines(config: Config, signIn: string | undefined): string[] {
  const refusal = dashboardRefusal(config);
  if (refusal !== undefined) return [`  Dashboard: none. ${refusal}`];
  if (signIn !== undefined) return ["  Dashboard (the link works once, for ten minutes):", `  ${signIn}`];
  return [`  Dashboard: ${config.publicUrl}/dashboard (\`${PROGRAM} keys dashboard-link\` prints a link to sign in)`];
}

const destinations = ({ webhookAllowPrivate }: Config) =>
  webhookAllowPrivate
    ? "may go to loopback and private addresses (WEBHOOK_ALLOW_PRIVATE)."
    : "go to public addresses only (WEBHOOK_ALLOW_PRIVATE).";

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
