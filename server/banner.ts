import type { Config } from "./config.ts";

interface Banner {
  config: Config;
  /** An API key created at this start. It is shown only once, in this banner. */
  newKey: string | undefined;
  color: boolean;
}

/** The text printed on the terminal at start-up: the server's URL and a command that creates a first payout. */
export function banner({ config, newKey, color }: Banner): string {
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const lines = [
    "",
    `${paint(1, "Disbursement and checkout server")} (${config.sandbox ? "sandbox" : "live"})`,
    `  ${paint(36, config.publicUrl)}`,
    "",
  ];
  if (["0.0.0.0", "::"].includes(config.host) && /^http:\/\/(127\.0\.0\.1|\[::1\]):/.test(config.publicUrl)) {
    lines.push(
      "  Checkout links use this address, which only this machine can open. Set PUBLIC_URL to a public one.",
      "",
    );
  }
  if (newKey !== undefined) {
    lines.push(`  Your API key (shown only once): ${paint(33, newKey)}`, "");
  }
  lines.push(
    newKey === undefined
      ? "  Create a first payout, with your key in API_KEY (`npm run keys` creates another if you lost it):"
      : "  Create a first payout:",
    "",
    curlLine(config.publicUrl, newKey ?? "$API_KEY"),
    "",
  );
  return `${lines.join("\n")}\n`;
}

/** A curl command that can be run repeatedly: the shell generates a new reference each time. */
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
