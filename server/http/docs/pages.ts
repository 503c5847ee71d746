export interface DocsPage {
  /** The last part of its address. The page `index` is at /docs itself. */
  name: string;
  title: string;
  summary: string;
  group: "Guides" | "Look up" | undefined;
  /** The file with the page's text, relative to the root of the repository. Default: `server/docs/NAME.md`. */
  file?: string;
  /** True if its examples work in a sandbox only. */
  needsSandbox?: true;
}

/** Every page, in the order of the navigation. */
export const pages: readonly DocsPage[] = [
  {
    name: "index",
    title: "Documentation",
    summary: "Send money to mobile wallets, and collect payments through a hosted page.",
    group: undefined,
  },
  {
    name: "tutorial",
    title: "Tutorial: five minutes",
    summary: "A payout, its webhook, a failure, the dashboard and a certificate, in five minutes.",
    group: "Guides",
    needsSandbox: true,
  },
  {
    name: "first-payout",
    title: "Your first payout",
    summary: "Create a payout, watch it settle, and repeat a request safely.",
    group: "Guides",
    needsSandbox: true,
  },
  {
    name: "webhooks",
    title: "Webhooks",
    summary: "Receive an event, verify its signature, and handle it once.",
    group: "Guides",
    needsSandbox: true,
  },
  {
    name: "listen",
    title: "Webhooks on your machine",
    summary: "Bring webhooks to a receiver without a public address, and trigger events.",
    group: "Guides",
    needsSandbox: true,
  },
  {
    name: "checkout",
    title: "Checkout",
    summary: "Create a payment link and learn what the customer did.",
    group: "Guides",
    needsSandbox: true,
  },
  {
    name: "sandbox",
    title: "The sandbox",
    summary: "Move time forward, choose outcomes, inspect and replay deliveries.",
    group: "Guides",
    needsSandbox: true,
  },
  {
    name: "going-live",
    title: "Going live",
    summary: "What to check before real money moves.",
    group: "Guides",
  },
  {
    name: "for-merchants",
    title: "For merchants",
    summary: "You call the service: the first hour, and what to do before you go live.",
    group: "Guides",
  },
  {
    name: "for-platforms",
    title: "For platforms",
    summary: "You run a service that keeps the contract: check it, and show the result.",
    group: "Guides",
  },
  {
    name: "operating",
    title: "Operating the server",
    summary: "Settings, several processes, containers, commands, backups, metrics and failures.",
    group: "Guides",
  },
  {
    name: "rails",
    title: "Rails",
    summary: "What carries the money of a live server: one, several with routes, trouble, and a rail of your own.",
    group: "Guides",
  },
  {
    name: "client",
    title: "@disbursement-checkout/client",
    summary: "The typed client for TypeScript: payouts that are never paid twice, payrolls, receivers of webhooks.",
    group: "Guides",
    file: "client/README.md",
  },
  {
    name: "conformance",
    title: "certify",
    summary: "The suite that certifies a service, a client or a receiver of webhooks.",
    group: "Guides",
    file: "conformance/README.md",
  },
  {
    name: "certify-a-client",
    title: "The protocol for clients",
    summary: "All that a program must do to be certified, and how an existing application takes part.",
    group: "Guides",
    file: "conformance/PROTOCOL.md",
  },
  {
    name: "for-maintainers",
    title: "For maintainers",
    summary: "You change the project: what to read, and what protects you.",
    group: "Guides",
  },
  {
    name: "problems",
    title: "Problems and their fixes",
    summary: "Real messages, what causes them, and what to do.",
    group: "Look up",
    needsSandbox: true,
  },
  {
    name: "reference",
    title: "API reference",
    summary: "Every operation with its fields and examples, with a console to try them.",
    group: "Look up",
    needsSandbox: true,
  },
  {
    name: "contract",
    title: "The contract",
    summary: "The rules in words: amounts, retries, statuses, webhooks, limits, compatibility.",
    group: "Look up",
  },
  {
    name: "outcomes",
    title: "Test phone numbers",
    summary: "The last three digits that force each outcome in the sandbox.",
    group: "Look up",
    needsSandbox: true,
  },
  {
    name: "errors",
    title: "Errors",
    summary: "Every error code: whether anything was recorded, and whether to retry.",
    group: "Look up",
  },
];
