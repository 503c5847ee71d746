import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { banner } from "./banner.ts";
import { readConfig } from "./config.ts";
import { LIVE } from "./testing/process.ts";

type Shown = Omit<Parameters<typeof banner>[0], "config">;
const shown = (env: Record<string, string>, more: Partial<Shown> = {}) =>
  stripVTControlCharacters(banner({ config: readConfig(env), ...more }));

const NEW = { newKey: { text: "sk_new" } };
const LINK = { signIn: "http://127.0.0.1:3000/dashboard/sign-in?token=t" };
const ALL = { HOST: "0.0.0.0" };
const WORKER = { ROLE: "worker", DATABASE_URL: "postgres://h/d" };
const PLAIN = { SANDBOX: "false", PUBLIC_URL: "http://pay.example" };
const HOSTILE = { PUBLIC_URL: "https://pay.example/'$(touch x)'" };

/** Of each text of the banner: what it contains, and what it does not contain. */
test.each<[what: string, text: string, contains: (string | RegExp)[], lacks?: (string | RegExp)[]]>([
  ["the address, the mode and a new key", shown({}, NEW), ["http://127.0.0.1:3000\n", "(sandbox)", /sk_new[^]+sk_new/]],
  [
    "what a second start says",
    shown({}),
    [
      "(sandbox)\n  No money moves: the outcome of every payment is simulated.\n",
      "  http://127.0.0.1:3000/docs (",
      "http://127.0.0.1:3000/dashboard (`npx --no -- disbursement-checkout keys dashboard-link` prints a link",
      "may go to loopback and private addresses",
      "`npx --no -- disbursement-checkout keys create MERCHANT` makes another",
    ],
    ["PUBLIC_URL"],
  ],
  ["no pages for a worker", shown(WORKER), [], ["/docs", /dashboard/i]],
  [
    "$API_KEY if no key was created",
    shown({ SANDBOX_API_KEY: "sk_wanted_by_somebody" }),
    ['-H "x-api-key: $API_KEY"', "with the value of SANDBOX_API_KEY in the variable API_KEY:"],
    ["sk_"],
  ],
  ["a command on one line", shown({ HOST: "::1" }, NEW), [/^curl .+'http:\/\/\[::1\]:3000\/v1\/disbursements'/m]],
  [
    "an address quoted for the shell",
    shown(HOSTILE, NEW),
    [/^curl -sS 'https:\/\/pay\.example\/%27\$\(touch%20x\)%27\/v1\/disbursements'/m],
  ],
  ["that a server on all addresses needs PUBLIC_URL", shown(ALL), ["Set PUBLIC_URL"]],
  ["no request for PUBLIC_URL if it is set", shown({ ...ALL, PUBLIC_URL: "https://pay.example" }), [], ["PUBLIC_URL"]],
  [
    "the file of a new key, from which the command reads the key",
    shown({}, { newKey: { file: "/srv/the key's/first" } }),
    ["Your API key is in /srv/the key's/first.", `-H "x-api-key: $(cat '/srv/the key'\\''s/first')"`],
  ],
  [
    "the id of a revoked SANDBOX_API_KEY",
    shown({}, { revokedKeyId: "0192" }),
    ["The key in SANDBOX_API_KEY (0192) was revoked and stays invalid."],
  ],
  [
    "that webhooks go to public addresses only",
    shown({ WEBHOOK_ALLOW_PRIVATE: "false" }),
    ["go to public addresses only"],
  ],
  [
    "why a live server on plain http has no dashboard",
    shown(PLAIN),
    [/Dashboard: none\. .+ Set PUBLIC_URL to an https address\./],
    ["dashboard-link"],
  ],
  ["a dashboard over https", shown({ ...PLAIN, ...HOSTILE }), ["/dashboard"], ["none"]],
  ["nothing about a dashboard that is off", shown({ DASHBOARD: "false" }), [], [/dashboard/i]],
  ["a link to the dashboard", shown({}, LINK), [LINK.signIn], ["dashboard-link"]],
  [
    "the rails that move money, and no command that pays",
    shown(LIVE, { newKey: { text: "live_new" } }),
    [/\(live\)\n {2}Money moves over test: every payout that is created here is paid\.\n/, "live_new"],
    [/curl|first payout/],
  ],
])("shows %s", (_, text, contains, lacks = []) => {
  for (const part of contains) expect(text).toMatch(part);
  for (const part of lacks) expect(text).not.toMatch(part);
});
