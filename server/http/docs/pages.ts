import type { Config } from "../../config.ts";

export interface DocsPage {
  /** The last part of its address. The page `index` is at /docs itself. */
  name: string;
  title: string;
  summary: string;
  group: "Guides" | "Look up" | undefined;
  /** The file with the page's text, relative to the root of the repository. */
  file: string;
  /** True if its examples work in a sandbox only. */
  needsSandbox: boolean;
}

/** Title and summary of each page, by its name. */
type Listed = Readonly<Record<string, [title: string, summary: string]>>;

const INDEX: Listed = {
  index: ["Documentation", "Send money to mobile wallets, and collect payments through a hosted page."],
};
const GUIDES: Listed = {
  tutorial: [
    "Tutorial: five minutes",
    "A payout, its webhook, a failure, the dashboard and a certificate, in five minutes.",
  ],
  "first-payout": ["Your first payout", "Create a payout, watch it settle, and repeat a request safely."],
  webhooks: ["Webhooks", "Receive an event, verify its signature, and handle it once."],
  listen: ["Webhooks on your machine", "Bring webhooks to a receiver without a public address, and trigger events."],
  checkout: ["Checkout", "Create a payment link and learn what the customer did."],
  sandbox: ["The sandbox", "Move time forward, choose outcomes, inspect and replay deliveries."],
  "going-live": ["Going live", "What to check before real money moves."],
  "for-merchants": ["For merchants", "You call the service: the first hour, and what to do before you go live."],
  "for-platforms": ["For platforms", "You run a service that keeps the contract: check it, and show the result."],
  operating: [
    "Operating the server",
    "Settings, several processes, containers, commands, backups, metrics and failures.",
  ],
  rails: [
    "Rails",
    "What carries the money of a live server: one, several with routes, trouble, and a rail of your own.",
  ],
  client: [
    "@disbursement-checkout/client",
    "The typed client for TypeScript: payouts that are never paid twice, payrolls, receivers of webhooks.",
  ],
  conformance: ["certify", "The suite that certifies a service, a client or a receiver of webhooks."],
  "certify-a-client": [
    "The protocol for clients",
    "All that a program must do to be certified, and how an existing application takes part.",
  ],
  "for-maintainers": ["For maintainers", "You change the project: what to read, and what protects you."],
};
const LOOK_UP: Listed = {
  problems: ["Problems and their fixes", "Real messages, what causes them, and what to do."],
  reference: ["API reference", "Every operation with its fields and examples, with a console to try them."],
  contract: ["The contract", "The rules in words: amounts, retries, statuses, webhooks, limits, compatibility."],
  outcomes: ["Test phone numbers", "The last three digits that force each outcome in the sandbox."],
  errors: ["Errors", "Every error code: whether anything was recorded, and whether to retry."],
};
/** The files of texts that are not in `server/docs/`. */
const FILES: Readonly<Record<string, string>> = {
  client: "client/README.md",
  conformance: "conformance/README.md",
  "certify-a-client": "conformance/PROTOCOL.md",
};
const NEED_SANDBOX = "tutorial first-payout webhooks listen checkout sandbox problems reference outcomes".split(" ");

const pagesOf = (group: DocsPage["group"], listed: Listed): DocsPage[] =>
  Object.entries(listed).map(([name, [title, summary]]) => ({
    name,
    title,
    summary,
    group,
    file: FILES[name] ?? `server/docs/${name}.md`,
    needsSandbox: NEED_SANDBOX.includes(name),
  }));

/** Every page, in the order of the navigation. */
export const pages: readonly DocsPage[] = [
  ...pagesOf(undefined, INDEX),
  ...pagesOf("Guides", GUIDES),
  ...pagesOf("Look up", LOOK_UP),
];

/** The settings that the pages mention. */
export type Settings = Pick<Config, "publicUrl" | "sandbox" | "settleDelayMs" | "dashboard">;

/** The address in the guides, which is replaced with this server's. */
export const EXAMPLE_URL = "http://127.0.0.1:3000";

/** Fills a text of generated/docs/, which may be Markdown or HTML, with what depends on this server. */
export function fill(text: string, settings: Settings): string {
  const { publicUrl, sandbox, settleDelayMs } = settings;
  return text
    .replace(/<!-- live -->\n(.*?)<!-- end -->\n/s, sandbox ? "" : "$1")
    .replace(/<!-- sandbox -->\n(.*?)<!-- end sandbox -->\n/gs, sandbox ? "$1" : "")
    .replace("{{mode}}", "This server is live: its payments are real.")
    .replaceAll("{{settleDelay}}", seconds(settleDelayMs))
    .replaceAll(EXAMPLE_URL, () => safeInShell(publicUrl));
}

export function seconds(milliseconds: number): string {
  const count = milliseconds / 1_000;
  return `${count} ${count === 1 ? "second" : "seconds"}`;
}

/** Encodes what a shell would interpret, because people paste the guides' commands into a shell. */
const safeInShell = (url: string) => url.replace(/[^\w.:/~%[\]-]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
