import type { Config } from "./config.ts";

interface Banner {
  config: Config;
  /** The text of a key that was made at this start; shown this once. */
  newKey: string | undefined;
  color: boolean;
}

/** What a start tells on the terminal, not in the log: where the server is, and how to make a first payout. */
export function banner({ config, newKey, color }: Banner): string {
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const lines = [
    "",
    `${paint(1, "Disbursement and checkout server")} (${config.sandbox ? "sandbox" : "live"})`,
    `  ${paint(36, config.publicUrl)}`,
    "",
  ];
  if (["0.0.0.0", "::"].includes(config.host) && /^http:\/\/(127\.0\.0\.1|\[::1\]):/.test(config.publicUrl)) {
    lines.push("  Checkout links start with this address. Set PUBLIC_URL to one that others can open.", "");
  }
  if (newKey !== undefined) {
    lines.push(`  Your API key, shown this once: ${paint(33, newKey)}`, "");
  }
  lines.push(
    newKey === undefined
      ? "  A first payout, with your key in API_KEY (`npm run keys` makes another, should it be lost):"
      : "  A first payout:",
    "",
    curlLine(config.publicUrl, newKey ?? "$API_KEY"),
    "",
  );
  return `${lines.join("\n")}\n`;
}

/** Works when pasted, more than once: the shell makes a new reference each time. */
function curlLine(publicUrl: string, key: string): string {
  const reference = `'"$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"'`;
  const body =
    `{"reference":"first-${reference}","amount":10000,"phoneNumber":"2257038102473",` +
    `"country":"CI","currency":"XOF"}`;
  return (
    `curl -sS '${publicUrl.replaceAll("'", "%27")}/v1/disbursements' -H "x-api-key: ${key}" ` +
    `-H 'content-type: application/json' -d '${body}'`
  );
}
