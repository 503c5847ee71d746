import type { DocsPage } from "../../server/http/docs/pages.ts";

/** A page of the documentation. Its title is its first heading. */
export interface Page extends Omit<DocsPage, "title"> {
  /** The guide, relative to the root of the repository. The pages to look up are generated. */
  file?: string;
}

/** What each page is about, by its name. */
type Listed = Readonly<Record<string, string>>;

const INDEX: Listed = {
  index: "Send money to mobile wallets, and collect payments through a hosted page.",
};
const START: Listed = {
  merchants: "You pay people or collect payments: from the first payout to real money.",
  platforms: "You run a service that keeps the contract: certify it, watch it, and show the result.",
  operators: "You run this server: start it, connect a rail, back it up, and know what to do when.",
};
const GUIDES: Listed = {
  webhooks: "Receive an event, verify its signature, and handle it once.",
  checkout: "Create a payment link and learn what the customer did.",
  sandbox: "Move time forward, choose outcomes, inspect and replay deliveries.",
  "your-tests": "A sandbox for the tests of your code: in JavaScript, Python, PHP and CI.",
  client: "The typed client for TypeScript: payouts that are never paid twice, payrolls, receivers of webhooks.",
  problems: "Real messages, what causes them, and what to do.",
  "certify-a-client": "All that a program must do to be certified, and how an existing application takes part.",
  conformance: "The suite that certifies a service, a client or a receiver of webhooks.",
  watch: "Judge a service in production by the traffic that it has anyway.",
  operating: "What to do in each failure; restore, failover, PostgreSQL, keys, sign-on, logs.",
  rails: "What carries the money of a live server: one, several with routes, trouble, and a rail of your own.",
};
const LOOK_UP: Listed = {
  reference: "Every operation with its fields and examples, with a console to try them.",
  contract: "The rules in words: amounts, retries, statuses, webhooks, limits, compatibility.",
  outcomes: "The last three digits that force each outcome in the sandbox.",
  errors: "Every error code: whether anything was recorded, and whether to retry.",
  settings: "Every environment variable of the server.",
  commands: "Every command of the server and of the suite, with its options.",
  metrics: "Every metric of the server.",
  requirements: "What the suite judges: a page for each requirement, with an example and how to fix a violation.",
};
/** The guides that are not in `server/docs/`. */
const FILES: Readonly<Record<string, string>> = {
  platforms: "conformance/docs/platforms.md",
  client: "client/README.md",
  conformance: "conformance/README.md",
  watch: "conformance/docs/watch.md",
  "certify-a-client": "conformance/PROTOCOL.md",
};

const pagesOf = (group: Page["group"], listed: Listed): Page[] =>
  Object.entries(listed).map(([name, summary]) => ({
    name,
    summary,
    group,
    ...(listed !== LOOK_UP && { file: FILES[name] ?? `server/docs/${name}.md` }),
  }));

/** Every page, in the order of the navigation. */
export const pages: readonly Page[] = [
  ...pagesOf(null, INDEX),
  ...pagesOf("Start here", START),
  ...pagesOf("Guides", GUIDES),
  ...pagesOf("Look up", LOOK_UP),
];
