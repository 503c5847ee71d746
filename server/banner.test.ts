import { expect, test } from "vitest";
import { banner } from "./banner.ts";
import { readConfig } from "./config.ts";
import { LIVE } from "./testing/process.ts";

const shown = (env: Record<string, string>, text?: string, color = false) =>
  banner({ config: readConfig(env), newKey: text === undefined ? undefined : { text }, color });

test("prints a new key, and a curl command that uses it", () => {
  const text = shown({}, "sk_new");
  expect(text).toContain("http://127.0.0.1:3000\n");
  expect(text).toContain("(sandbox)");
  expect(text.match(/sk_new/g)).toHaveLength(2);
});

test("prints where the documentation is, unless the process serves none", () => {
  expect(shown({})).toContain("  http://127.0.0.1:3000/docs (");
  expect(shown({ ROLE: "api", DATABASE_URL: "postgres://h/d" })).toContain("/docs (");
  expect(shown({ ROLE: "worker", DATABASE_URL: "postgres://h/d" })).not.toContain("/docs");
});

test("uses $API_KEY in the command if no key was created", () => {
  const text = shown({ SANDBOX_API_KEY: "sk_wanted_by_somebody" });
  expect(text).toContain('-H "x-api-key: $API_KEY"');
  expect(text).not.toContain("sk_");
  expect(text).toContain("with the value of SANDBOX_API_KEY in the variable API_KEY:");
  expect(shown({})).toContain("`npx --no -- disbursement-checkout keys create MERCHANT` makes another");
});

test("prints the command on one line, with the URL quoted for the shell", () => {
  const [line] = /^curl .+$/m.exec(shown({ HOST: "::1" }, "sk_new"))!;
  expect(line).toContain("'http://[::1]:3000/v1/disbursements'");
  const hostile = shown({ PUBLIC_URL: "https://pay.example/'$(touch x)'" }, "sk_new");
  expect(/^curl -sS '([^']*)'/m.exec(hostile)![1]).toBe("https://pay.example/%27$(touch%20x)%27/v1/disbursements");
});

test("uses colours only if enabled", () => {
  expect(shown({}, "sk_new")).not.toContain("\u001b");
  expect(shown({}, "sk_new", true)).toContain("\u001b[33msk_new\u001b[0m");
});

test("suggests PUBLIC_URL if the server listens on all addresses without one", () => {
  expect(shown({ HOST: "0.0.0.0" })).toContain("Set PUBLIC_URL");
  expect(shown({ HOST: "0.0.0.0", PUBLIC_URL: "https://pay.example" })).not.toContain("PUBLIC_URL");
  expect(shown({})).not.toContain("PUBLIC_URL");
});

test("names the file of a new key, from which the command reads the key", () => {
  const text = banner({ config: readConfig({}), newKey: { file: "/srv/the key's/first" }, color: false });
  expect(text).toContain("Your API key is in /srv/the key's/first.");
  expect(text).toContain(`-H "x-api-key: $(cat '/srv/the key'\\''s/first')"`);
});

test("names a revoked SANDBOX_API_KEY by its id", () => {
  const text = banner({ config: readConfig({}), revokedKeyId: "0192", color: false });
  expect(text).toContain("The key in SANDBOX_API_KEY (0192) was revoked and stays invalid.");
});

test("says which addresses receive webhooks", () => {
  expect(shown({})).toContain("may go to loopback and private addresses");
  expect(shown({ WEBHOOK_ALLOW_PRIVATE: "false" })).toContain("go to public addresses only");
});

test("says why a live server on plain http has no dashboard", () => {
  const live = { SANDBOX: "false", PUBLIC_URL: "http://pay.example" };
  expect(shown(live)).toMatch(/Dashboard: none\. .+ Set PUBLIC_URL to an https address\./);
  expect(shown(live)).not.toContain("dashboard-link");
  for (const url of ["https://pay.example", "http://127.0.0.1:3000"]) {
    expect(shown({ ...live, PUBLIC_URL: url })).toContain(`${url}/dashboard`);
  }
  expect(shown({ ...live, DASHBOARD: "false" })).not.toMatch(/dashboard/i);
});

test("prints a link to the dashboard, or how to get one", () => {
  const signIn = "http://127.0.0.1:3000/dashboard/sign-in?token=t";
  const withLink = banner({ config: readConfig({}), signIn, color: false });
  expect(withLink).toContain(signIn);
  expect(withLink).not.toContain("dashboard-link");
  expect(shown({})).toContain(
    "http://127.0.0.1:3000/dashboard (`npx --no -- disbursement-checkout keys dashboard-link` prints a link",
  );
  const worker = { ROLE: "worker", DATABASE_URL: "postgres://db/pay" };
  for (const env of [{ DASHBOARD: "false" }, worker]) expect(shown(env)).not.toMatch(/dashboard/i);
});

test("a live server names the rails that move its money, and prints no command that pays", () => {
  const text = shown(LIVE, "live_new");
  expect(text).toMatch(/\(live\)\n {2}Money moves over test: every payout that is created here is paid\.\n/);
  expect(text).toContain("live_new");
  expect(text).not.toMatch(/curl|first payout/);
  expect(shown(LIVE, "live_new", true)).toContain("\u001b[31mMoney moves");
  expect(shown({})).toContain("(sandbox)\n  No money moves: the outcome of every payment is simulated.\n");
});
