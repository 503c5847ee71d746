import type { Config } from "../../config.ts";

/** The settings that the pages mention. */
export type Settings = Pick<Config, "publicUrl" | "sandbox" | "settleDelayMs" | "dashboard">;

/** What every page of a live server says first. */
export const LIVE =
  "This server is live: its payments are real, also those that you send from a page or with an example. Test phone numbers have no effect here, and the paths under /sandbox do not exist.";

/** The address in the guides, which is replaced with this server's. */
export const EXAMPLE_URL = "http://127.0.0.1:3000";

/** Fills a text of generated/docs/, which may be Markdown or HTML, with what depends on this server. */
export function fill(text: string, settings: Settings): string {
  const { publicUrl, sandbox, settleDelayMs } = settings;
  const isMarkdown = text.startsWith("# ");
  return (isMarkdown && !sandbox ? text.replace("\n\n", `\n\n> **${LIVE}**\n\n`) : text)
    .replace(/<!-- sandbox -->\n(.*?)<!-- end sandbox -->\n/gs, sandbox ? "$1" : "")
    .replaceAll("{{settleDelay}}", seconds(settleDelayMs))
    .replaceAll(EXAMPLE_URL, () => safeInShell(publicUrl));
}

export function seconds(milliseconds: number): string {
  const count = milliseconds / 1_000;
  return `${count} ${count === 1 ? "second" : "seconds"}`;
}

/** Encodes what a shell would interpret, because people paste the guides' commands into a shell. */
const safeInShell = (url: string) => url.replace(/[^\w.:/~%[\]-]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
