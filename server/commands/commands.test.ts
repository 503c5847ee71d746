// The commands beside a running live server, whose storage they use.
import { hostname, userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { createTerminal, startWithTerminal, type Row } from "../testing/commands.ts";
import { send } from "../testing/dashboard-visitor.ts";
import { createTestRail, railsOf, type TestRail } from "../testing/rail.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { aPayout, type TestServer } from "../testing/server.ts";

/** An empty list. */
const NONE = /^items: \[\]$/;
const DONE = /^Done\.$/;
const ALREADY = /^This is done already, or it has ended\.$/;
const CREATED = /^Merchant (?<id>\S+)\nKey \(shown only once\): (?<key>live_\w+)$/;
const NEW_KEY = /: (?<key>live_\w+)$/;
const NEEDS_SECOND = /^You made or proposed it, or .+ Somebody else must approve it\.$/;
const ACTOR = `command ${userInfo().username}@${hostname()}`;
let rail: TestRail;
let receiver: Receiver;
let server: TestServer;
let terminal: Awaited<ReturnType<typeof startWithTerminal>>;
let rows: typeof terminal.rows;
let run: typeof terminal.run;
let json: typeof terminal.json;
let known: Record<string, string>;
beforeAll(async () => {
  [rail, receiver] = [createTestRail(), await startReceiver()];
  const env = { BALANCES: "tracked", WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  terminal = await startWithTerminal({ env, rails: railsOf(rail) });
  ({ server, rows, run, json, known } = terminal);
});
afterAll(async () => {
  await receiver.close();
  await terminal.close();
});

/** The response to a payout with this key: its error code, or its reference. */
async function pay(key: string, changes: Parameters<typeof aPayout>[0] = {}) {
  const { body } = await server.createPayout(changes, { key });
  return (body.code ?? body.data.reference) as string;
}

/** Makes a payout whose outcome at the rail is not known. */
async function lose(): Promise<string> {
  rail.answers.push(new Error("time-out"));
  known.reference = await pay(server.key);
  await server.pass(0);
  return known.reference;
}

const statusOf = async (reference: string) => (await server.storage.findHandover(reference))!.status;

const deliveryOf = async (reference: string) =>
  (await server.storage.listDeliveries({ merchantId: known.M!, reference, limit: 1 })).items[0]!;

/** Makes a payout whose webhook the receiver gets, and remembers the delivery and the reference. */
async function deliver(status = 204) {
  receiver.respondWith(status);
  known.reference = await pay(server.key, { webhookURL: receiver.url });
  await server.pass(0);
  receiver.respondWith(204);
  const { id, attempts } = await deliveryOf(known.reference);
  expect(attempts).toHaveLength(1);
  known.delivery = id;
  return { id, reference: known.reference };
}

const receivedFor = (id: string) => receiver.received.filter(({ headers }) => headers["webhook-id"] === id);

describe("merchants and keys", () => {
  test("a key works at once, may do what its scopes permit, and is refused once it is revoked", async () => {
    await rows(["keys create {M} --name Payroll", 0, NEW_KEY]);
    expect(await pay(known.key!)).toMatch(/^DSB/);
    known.hint = stringify(known.key!.slice(-4)).trim();
    const listed = / id: (?<keyId>\S+), [^\n]+, name: Payroll, createdAt: \S+ \}/;
    await rows(
      ["keys list", 0, listed, "merchantId: {M}, hint: {hint}, "],
      ["keys revoke {keyId}", 0, DONE],
      ["keys list", 0, / name: Payroll, .*revokedAt: \d{4}-/],
    );
    expect(await pay(known.key!)).toBe("unauthorized");
    await rows(
      ["keys create {M} --name Shop --scopes checkout,read", 0, NEW_KEY],
      ["keys audit {M} --limit 1", 0, /action: key\.create, .* name: Shop, scopes: "read,checkout" /],
      ["keys list", 0, /name: Shop, .*scopes: \[ read, checkout \]/],
    );
    expect(await pay(known.key!)).toBe("key_not_permitted");
    expect(await run("keys list --json")).not.toMatch(/hash|[0-9a-f]{64}/);
  });

  test("limits of a key and a merchant, and a merchant's terms, take effect immediately", async () => {
    await rows(["keys create-merchant Limited", 0, CREATED]);
    known.keyId = (await server.storage.listKeysOf(known.id!))[0]!.id;
    await rows(["keys limit {keyId} --per-payment XOF:9999 --recipients 2257038102473", 0, DONE]);
    expect(await pay(known.key!)).toBe("limit_exceeded");
    const limited = "{ id: {id}, name: Limited, state: active, limits: { perDay: { XOF: 10000 } }, createdAt: ";
    await rows(
      ["keys limit {keyId}", 0, DONE],
      ["keys limit-merchant {id} --per-day XOF:10000", 0, DONE],
      ["keys merchants", 0, limited],
    );
    expect([await pay(known.key!), await pay(known.key!)]).toEqual([expect.stringMatching(/^DSB/), "limit_exceeded"]);
    await rows(
      ["keys limit-merchant {id}", 0],
      ["keys merchant-terms {id} --disbursement-fee 250+7 --checkout-fee 0 --rate-limit 2000", 0, DONE],
      ["keys merchants", 0, "name: Limited, state: active, terms: { disbursementFee: { basisPoints: 250, fixed: 7 }"],
      ["keys audit {id}", 0, 'perPayment: XOF:9999, recipients: "2257038102473"', "disbursementFee: 250+7"],
    );
    expect((await server.createPayout({}, { key: known.key! })).body.data.fee).toBe(257);
  });

  test("a merchant is renamed, suspended, reopened, and closed for good", async () => {
    await rows(
      ['keys create-merchant "  Kofi & Söhne "', 0, CREATED],
      ["keys merchants", 0, "{ id: {id}, name: Kofi & Söhne, state: active, "],
      ["keys rename-merchant {id} New", 0, DONE],
      ["keys suspend-merchant {id}", 0, DONE],
      ["keys merchants", 0, "{ id: {id}, name: New, state: suspended, "],
    );
    expect(await pay(known.key!)).toBe("merchant_suspended");
    await rows(
      ["keys reopen-merchant {id}", 0, DONE],
      ["keys close-merchant {id}", 2, /^New: Close the merchant for good\. .+ Nothing was done; add --yes to do it\.$/],
    );
    expect(await pay(known.key!)).toMatch(/^DSB/);
    await rows(
      ["keys close-merchant {id} --yes", 0],
      ["keys reopen-merchant {id}", 2, "The merchant is closed for good."],
      ["keys create {id}", 2, "closed this merchant"],
      ["keys merchants", 0, "{ id: {id}, name: New, state: closed, "],
    );
    expect(await pay(known.key!)).toBe("unauthorized");
    expect((await run("keys audit {id}")).match(/merchant\.\w+/g)!.toReversed()).toEqual(
      ["create", "rename", "suspend", "reopen", "close"].map((action) => `merchant.${action}`),
    );
  });
});

describe("people", () => {
  test("payouts that wait for approval are listed, approved and rejected, but not by who created the key", async () => {
    await rows(
      ["keys create-merchant Approving", 0, CREATED],
      ["keys limit-merchant {id} --approval-from XOF:10000", 0],
      ["keys limit-merchant {M} --approval-from XOF:10000", 0],
    );
    known.reference = await pay(known.key!);
    await rows(
      ["keys approvals {id}", 0, /phoneNumber: "2257038102473", amount: XOF.100\.00, currency: XOF, failsAt: \S+Z \}$/],
      ["keys approve {id} {reference}", 2, NEEDS_SECOND],
      ["keys approve {id} {id}/{reference}", 2, "It does not wait for approval any more."],
      ['keys reject {id} {reference} --reason "A test"', 0, "Rejected {reference}"],
      ["keys audit {id}", 0, /action: payment\.reject, .* reason: A test /],
    );
    const failure = { status: "failed", failure: { code: "not_approved" } };
    expect(await server.storage.findDisbursement(known.id!, known.reference!)).toMatchObject(failure);
    // Somebody else created this merchant's key.
    known.reference = await pay(server.key);
    await rows(
      ["keys limit-merchant {M}", 0],
      ["keys approve {M} {reference}", 0, "Approved {reference}"],
      ["keys approvals", 0, NONE],
    );
  });

  test("a link signs in to the dashboard", async () => {
    terminal.env.PUBLIC_URL = server.url;
    const link = /^http:\S+\/dashboard\/sign-in\?token=(?<token>[\w-]{43})\nIt works once, within 10 minutes, /;
    await rows(
      ["keys dashboard-link {M} --name Yaw", 0, link, server.url, "for this merchant only."],
      ["keys dashboard-link --name Ama --role viewer", 0, link, "for all merchants."],
    );
    expect((await send(server, "/sign-in", { token: known.token! })).status).toBe(303);
    const done = /actor: dashboard Ama, action: dashboard\.sign-in, [^]+action: dashboard\.link, merchantId: "", /;
    await rows(["keys audit", 0, done]);
    expect(await run("keys audit")).not.toContain(known.token);
    delete terminal.env.PUBLIC_URL;
  });
});

describe("balances", () => {
  test("money is added and taken, and a payout or withdrawal that the balance does not cover is refused", async () => {
    await rows(["keys create-merchant Balanced", 0, CREATED]);
    const empty = { currency: "XOF", available: 0, enforced: true };
    await server.storage.setBalance(known.id!, "empty", empty, "server app@host");
    expect(await pay(known.key!)).toBe("insufficient_funds");
    const added = /available: XOF.202\.00, reserved: XOF.0\.00, /;
    await rows(['balances top-up {id} 20200 XOF --reason "Bank transfer 17"', 0, added]);
    expect(await pay(known.key!)).toMatch(/^DSB/);
    expect(await pay(known.key!, { amount: 10_001 })).toBe("insufficient_funds");
    await server.pass(0);
    await rows(
      ["balances list {id} --json", 0, '"available": 10100,\n      "reserved": 0'],
      ['balances withdraw {id} 10100 XOF --reason "To the bank"', 0, /available: XOF.0\.00/],
      ['balances withdraw {id} 1 XOF --reason "Too much"', 2, /^The available balance is less\./],
    );
  });

  test("from an amount on, somebody else must approve a change, and the statement shows what was booked", async () => {
    terminal.rules.balanceApprovalFrom = { XOF: 1_000_000 };
    const proposed =
      /^Proposed\..* Somebody else must approve an amount this large:\n.*balances approve \S+ (?<change>\S+)$/;
    const booked =
      /kind: top-up, .* amount: "XOF.10,000\.00", balance: "XOF.19,999\.99" }[^]* balance: "XOF.9,999\.99"/;
    await rows(
      ["keys create-merchant Approved", 0, CREATED],
      ["balances top-up {id} 999999 XOF --reason Transfer", 0, /available: "XOF.9,999\.99"/],
      ["balances top-up {id} 1000000 XOF --reason Transfer", 0, proposed],
      ["balances proposals", 0, /amount: "XOF.10,000\.00", .*reason: Transfer/, /by: command /],
      ["balances approve {id} {change}", 2, NEEDS_SECOND],
    );
    expect(await server.storage.decideAdjustment(known.id!, known.change!, "dashboard Grace", true)).toBe("booked");
    await rows(
      ["balances approve {id} {change}", 0, /available: "XOF.19,999\.99"/],
      ["balances reject {id} {change}", 2, /^Nothing like this waits for approval/],
      ["balances top-up {id} 2000000 XOF --reason Transfer", 0, proposed],
      ["balances reject {id} {change}", 0, DONE],
      ["balances proposals", 0, NONE],
      ["balances statement {id}", 0, booked],
    );
    const enforcing = createTerminal({ ...terminal.env, BALANCES: "enforced" }, known);
    await enforcing.rows(["balances list {id}", 0, "enforced: true"]);
    delete terminal.rules.balanceApprovalFrom;
  });
});

describe("rails", () => {
  test("a payment is listed, shown, and asked about again", async () => {
    const reference = await lose();
    await rows(
      ["rails attention", 0, /reference: DSB.* rail: test, .*unknownSince: \S+Z/],
      ["rails show {reference}", 0, /at: \S+Z, action: pay, latencyMs: 0, result: unknown, detail: time-out/],
      ["rails list", 0, /rail: test, waiting: 1, accepted: 0, conflicts: 0, oldestUnknownSince: \S+Z/],
    );
    await rows(["rails ask {reference}", 0]);
    rail.found.push({ status: "success", railReference: "TX-7" });
    await server.pass(0);
    expect(await statusOf(reference)).toBe("success");
    await rows(["rails show {reference}", 0, "railReference: TX-7"], ["rails ask {reference}", 2, ALREADY]);
  });

  test("a person decides alone if a setting says so, and otherwise proposes", async () => {
    const decide = "rails decide {reference} --outcome failed --reason unpaid";
    terminal.rules.oneOperatorDecides = true;
    await lose();
    await rows([decide, 0, /^The payment has ended as failed\.$/], [decide, 2, ALREADY]);
    terminal.rules.oneOperatorDecides = false;
    await lose();
    await rows(
      [decide, 0, "Proposed: failed."],
      ["rails attention", 0, "proposal: { status: failed, reason: unpaid, "],
    );
    await server.storage.decideByHand(
      known.reference!,
      { status: "failed", reason: "I see it too" },
      "dashboard Esi",
      true,
    );
    expect(await statusOf(known.reference!)).toBe("failed");
  });

  test("a conflict is closed with a reason", async () => {
    known.reference = await pay(server.key);
    await server.pass(0);
    const report = { exchanges: [], answer: { status: "failed" }, askAgainAfterMs: 0 } as const;
    await server.storage.recordHandover(
      { lane: { merchantId: server.merchant.id, host: "test" }, id: known.reference },
      report,
    );
    await rows(
      ["rails attention {M}", 0, /conflict: \{ at: \S+Z, answer: \{ status: failed/],
      ['rails close {reference} --reason "paid again by hand"', 0],
      ["rails attention", 0, NONE],
      ["rails close {reference} --reason r", 2, ALREADY],
    );
  });

  test("a rail is paused and resumed", async () => {
    await lose();
    await rows(
      ["rails pause other --reason r", 2, "There is no rail other. Known: test."],
      ["rails pause test --reason maintenance", 0],
      ["rails pause test --reason maintenance", 2, ALREADY],
      ["rails list", 0, /pause: \{ rail: test, at: \S+Z, by: command \S+, reason: maintenance/],
      ["rails resume test", 0],
      ["rails resume test", 2, ALREADY],
    );
  });
});

describe("webhooks", () => {
  test("shows the secret, and after a rotation both", async () => {
    await rows(
      ["keys secret {M}", 0, /^secret: (?<secret>whsec_\S+)\npreviousSecrets: \[\]$/],
      ["keys rotate-secret {M}", 0, /^secret: (?<rotated>whsec_\S+)\n/, "  - { secret: {secret}, expiresAt: "],
      ["keys secret {M}", 0, "secret: {rotated}\npreviousSecrets:\n  - { secret: {secret}, expiresAt: "],
      ["keys audit {M} --limit 3", 0, /secret\.reveal[^]+secret\.rotate[^]+secret\.reveal/, ACTOR],
    );
    expect(known.rotated).not.toBe(known.secret);
  });

  test("a delivered webhook is replayed: the same event once more", async () => {
    await deliver();
    await rows(["keys replay {M} {delivery}", 0, "Replay of {delivery} requested"]);
    await server.pass(0);
    const [first, second, ...others] = receivedFor(known.delivery!);
    expect([first!.text, others]).toEqual([second!.text, []]);
    await rows(
      [
        "keys deliveries {M} --reference {reference}",
        0,
        /event: disbursement\.completed, .* status: delivered, .*number: 1, .*httpStatus: 204.*number: 2, .*httpStatus: 204/,
      ],
      [
        "keys audit {M} --limit 1",
        0,
        `actor: ${ACTOR}, action: delivery.replay, merchantId: {M}, details: { delivery: {delivery}, status: delivered`,
      ],
    );
  });

  test("all failed deliveries are counted first, and replayed once that is confirmed", async () => {
    const failed = [await deliver(410), await deliver(410)].map(({ id }) => id);
    const { host } = new URL(receiver.url);
    const filter = `--status failed --host ${host} --since 2020-01-01 --until 9999-01-01`;
    await rows(
      ["keys deliveries {M} --status failed", 0, ...failed, /status: ended, .*httpStatus: 410/],
      ["keys deliveries {M} --status delivered --reference {reference}", 0, NONE],
      [`keys replay {M} ${filter}`, 2, `2 deliveries match, to ${host} (2). Nothing was done; add --yes to do it.`],
      [`keys replay {M} ${filter} --pace 50 --yes`, 0, "Deliveries replayed: 2"],
    );
    for (let seconds = 0; seconds < 3; seconds += 1) await server.pass(1_000);
    for (const id of failed) expect(receivedFor(id)).toHaveLength(2);
    await rows(
      ["keys replay {M} --status failed --yes", 0, "No deliveries match."],
      ["keys audit {M} --limit 1", 0, "action: replay.start, ", "createdAfter: 2020-01-01T00:00:00.000Z, ", ACTOR],
    );
  });

  test("lists page by cursor and filter by time", async () => {
    const made = [await deliver(), await deliver(), await deliver()].map(({ id }) => id).toReversed();
    for (const list of ["events", "deliveries"]) {
      const first = await json(`keys ${list} {M} --limit 2`);
      const second = await json(`keys ${list} {M} --limit 1 --cursor ${first.nextCursor}`);
      expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(made);
      await rows([`keys ${list} {M} --limit 1`, 0, /^items:\n  - \{ id: msg_[^\n]+\nnextCursor: \S+$/]);
    }
    await rows(["keys events {M} --since 9999-01-01T00:00:00Z", 0, NONE]);
    expect((await json("keys deliveries {M} --since 2020-01-01 --limit 3")).items).toHaveLength(3);
  });

  test("the default address is set, shown and removed", async () => {
    const url = `${receiver.url}?token=confidential`;
    const audited = "action: default-webhook.set, merchantId: {M}, details: { receiver: ";
    await rows(
      [`keys default-webhook {M} ${url}`, 0, DONE],
      ["keys merchants", 0, "receiver: ", new URL(url).host],
      ["keys default-webhook {M} none", 0, DONE],
      ["keys merchants", 0, /^(?!.*receiver)/s],
      ["keys audit {M} --limit 2", 0, audited, new URL(url).host],
    );
    for (const command of ["keys audit {M}", "keys merchants"])
      expect(await run(command)).not.toContain("confidential");
  });

  test("no list, audit trail or log of the server contains a secret or key", async () => {
    const { current, previous } = await server.storage.readSecrets(known.M!);
    const lists = await Promise.all(["keys audit", "keys list", "keys merchants"].map((list) => run(`${list} --json`)));
    const texts = [...lists, JSON.stringify(server.logged())].join("\n");
    for (const secret of [current, ...previous.map(({ secret: old }) => old), server.key])
      expect(texts).not.toContain(secret);
  });
});

const REFUSALS: Row[] = [
  ["keys", 2, /^Usage: npx --no -- disbursement-checkout keys COMMAND\n\n  merchants\n/],
  ["keys toString", 2, /^Usage/],
  [
    "keys create",
    2,
    /^Usage: npx --no -- disbursement-checkout keys create MERCHANT \[--name NAME\] \[--scopes SCOPES\]$/,
  ],
  ["keys list more", 2, /^Usage: npx --no -- disbursement-checkout keys list$/],
  ["keys list --all", 2, /^Unknown option '--all'.*\nUsage: /],
  ["keys revoke sk_confidential", 2, /^An argument is a key or secret\. [^_]+$/],
  [
    "db status postgres://ada:confidential@db.example/shop",
    2,
    /^An argument is the URL of a database\. .+ DATABASE_URL_TO\.$/,
  ],
  ["keys create-merchant {long}", 2, /^A name has 1 to 100 characters, and no control or invisible characters\.$/],
  ["keys dashboard-link --name A\u202eda", 2, /^A name has 1 to 100/],
  ["keys create nobody", 2, /^There is no merchant nobody\. Run `npx --no -- .+ keys merchants` to list them\.$/],
  ["keys create {M} --scopes pay", 2, /^--scopes is not valid: .+ read, disburse, checkout\.\nUsage: /],
  ["keys reject {M} DSB1", 2, /^Give --reason TEXT: why, for the audit trail\.\nUsage: /],
  ["keys limit nothing", 2, /^There is no key nothing\. Run `.+ keys list` to list them\.$/],
  ["keys limit-merchant {M} --per-day 5", 2, /^Most per day \(UTC\), by currency: this cannot be “5”\.$/],
  ["keys merchant-terms {M} --checkout-fee 10000", 2, /^Fee of a checkout .+: this cannot be “10000”\.$/],
  ["keys replay {M} msg_nothing", 2, /^You have no delivery with this id\.$/],
  ["keys replay {M}", 2, /^Give either a DELIVERY_ID, or --status/],
  ["keys replay {M} --status failed --pace 501", 2, /^--pace is not valid: deliveries per second, 1 to 500; /],
  ["keys deliveries {M} --status lost", 2, /^--status is not valid: pending, .+\nUsage: /],
  ["keys deliveries {M} --since yesterday", 2, /^--since is not valid: a time in UTC, such as /],
  ["keys deliveries {M} --limit 0", 2, /^--limit is not valid: entries on a page, 1 to 1000; /],
  ["keys deliveries {M} --cursor x", 2, /^cursor must be a nextCursor that this list returned\.$/],
  [
    "keys default-webhook {M} ftp://confidential.example",
    2,
    /^Refused: webhooks are sent to http and https URLs only, not ftp:$/,
  ],
  ["keys default-webhook {M} http://a:confidential@b.example", 2, /^Refused: .+ contains a user name or password\. /],
  ["balances top-up {M} 1.5 XOF --reason r", 2, /lowest denomination \(10000 is 100\.00\): this cannot be “/],
  ["balances top-up {M} 1 xof --reason r", 2, /^Currency: this cannot be “xof”\.$/],
  ["listen", 2, /^Give --forward-to URL: where the receiver listens, such as /],
  [
    "listen --forward-to localhost:4000 --events lost",
    2,
    /^--events is not valid: .+ there are disbursement\.completed, /,
  ],
  ["listen --forward-to mailto:ada", 2, /^--forward-to is not valid: where the receiver listens/],
  ["rails show DSBunknown", 2, /^There is no payment DSBunknown on a rail\. .+ which begins with DSB or CHK/],
  ["db reconcile --rail mobile --from soon", 2, /^--from is not valid: the first day \(UTC\)/],
  ["db reconcile --rail mobile --from 2026-11-20 --to 2026-11-19", 2, /^--to must not be before --from\.$/],
  [
    "db reconcile --rail mobile --from 2026-11-20 --to 2026-11-20",
    2,
    /^The payments of the rail mobile cannot be read: the configuration does not name it\./,
  ],
];

test.each(REFUSALS.map((row) => ({ typed: row[0], row })))(
  "$typed exits with 2 and says what to do",
  async ({ typed, row }) => {
    known.long = "x".repeat(101);
    await rows(row);
    expect(await run(typed, 2)).not.toContain("confidential");
  },
);

test("makes no link to a dashboard that the server does not serve", async () => {
  const plain = createTerminal({ ...terminal.env, PUBLIC_URL: "http://pay.example" });
  const refusal = /^A live server serves no dashboard over plain http, .+ Set PUBLIC_URL to an https address\.$/;
  expect(await plain.run("keys dashboard-link", 2)).toMatch(refusal);
});
