import { afterAll, beforeAll, expect, test } from "vitest";
import { signedIn } from "../../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../../testing/receiver.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

const DAY = 86_400_000;
const FAILS = "2250700000002";
const STAYS_PENDING = "2250700000129";
let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startServer(), startReceiver(500)]);
});
afterAll(() => Promise.all([server.close(), receiver.close()]));

/** The texts of a page, without its markup. */
const textOf = (html: string) => html.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");

test("shows the figures of each day, their sums, and what needs attention", async () => {
  const { merchant, key } = await server.addMerchant("Ada");
  const page = `/m/${merchant.id}/overview`;
  expect(textOf((await (await signedIn(server)).get(page)).html)).toMatch(
    /Needs attention Nothing.*No payouts in this period/,
  );

  const payout = (changes: object) => server.createPayout(changes, { key });
  await payout({ amount: 150_000 });
  await payout({ amount: 5_000, phoneNumber: FAILS });
  await payout({ amount: 700, currency: "KES", country: "KE", phoneNumber: "254712345678" });
  await server.pass(5_000);
  await server.pass(DAY);
  await payout({ amount: 250_000, webhookURL: receiver.url });
  await payout({ amount: 3_000, phoneNumber: STAYS_PENDING });
  await server.pass(5_000);
  await server.pass(3_601_000);

  const operator = await signedIn(server);
  const week = await operator.get(page);
  const text = textOf(week.html);
  expect(text).toMatch(/Payouts 5 .* final 75 % .* within 5 seconds/);
  expect(text).toContain("KES 100 % KES 7.00 1 payout none none");
  expect(text).toContain("XOF 66.6 % XOF 4,000.00 2 payouts XOF 50.00 1 payout XOF 30.00 1 payout");
  expect(text).toMatch(/Fri 2026-11-20 2 1 0 KES 7.00 XOF 1,500.00 Sat 2026-11-21 1 0 1 XOF 2,500.00/);
  expect(text).toMatch(/127.0.0.1:\d+ fails: 1 webhook waits/);
  expect(text).toContain("1 payout is pending for more than 60 minutes, the oldest since 2026-11-21");
  expect(text).toContain(
    "Why they failed Reason Payouts The provider rejected the request for the payment. rejected 1 ",
  );

  const yesterday = textOf((await operator.get(`${page}?range=day&until=2026-11-20`)).html);
  expect(yesterday).toMatch(/Payouts on 2026-11-20 .* Payouts 3 /);
  expect(textOf((await operator.get(`${page}?of=checkouts`)).html)).toContain("No checkouts in this period.");

  const all = textOf((await operator.get("/overview")).html);
  expect(all).not.toContain("Sums by currency");
  expect(all).toMatch(/127.0.0.1:\d+ \( Ada \) fails: 1 webhook waits/);
  expect(all).toContain("1 payout is pending ( Ada ) for more than 60 minutes");
});

test("shows the overview of all merchants to operators only, and refuses other parameters", async () => {
  const member = await signedIn(server, { merchantId: server.merchant.id });
  expect((await member.get("/overview")).status).toBe(303);
  for (const query of ["range=quarter", "range=__proto__", "of=fees", "until=yesterday"])
    expect((await member.get(`/m/${server.merchant.id}/overview?${query}`)).status).toBe(422);
});

test("compares the success of each currency with the period before, and names the days of the week", async () => {
  const { merchant, key } = await server.addMerchant("Kofi");
  const kenyan = { currency: "KES", country: "KE" };
  const payout = (changes: object) => server.createPayout(changes, { key });
  await payout(kenyan);
  await payout({});
  await server.pass(7 * DAY);
  for (const phoneNumber of ["254712345001", FAILS]) await payout({ ...kenyan, phoneNumber });
  await payout({ currency: "GHS" });
  await server.pass(5_000);

  const operator = await signedIn(server);
  const text = textOf((await operator.get(`/m/${merchant.id}/overview`)).html);
  expect(text).toMatch(/final 66\.6 % Earlier: 100 % Half/);
  expect(text).toMatch(/KES 50 % Earlier: 100 % KES [\d.]+ 1 payout KES [\d.]+ 1 payout none/);
  expect(text).toMatch(/GHS 100 % GHS [\d.]+ 1 payout none none KES/);
  expect(text).toContain("Sat 2026-11-28 ");
});

test("names all merchants that need attention, the worst first, also if nothing waits any more", async () => {
  const gone = await startReceiver(410);
  const [few, many] = [await server.addMerchant("Few"), await server.addMerchant("Many")];
  const late = { phoneNumber: STAYS_PENDING };
  for (const [{ key }, count] of [
    [few, 1],
    [many, 2],
  ] as const)
    for (let made = 0; made < count; made += 1) {
      await server.createPayout(late, { key });
      await server.createPayout({ webhookURL: receiver.url, phoneNumber: "2250700000001" }, { key });
      await server.createPayout({ webhookURL: gone.url, phoneNumber: "2250700000001" }, { key });
    }
  await server.pass(3_601_000);
  // A receiver that fails gets one webhook at a time.
  for (let passed = 0; passed < 5; passed += 1) await server.pass(60_000);
  await gone.close();

  const operator = await signedIn(server);
  const { html } = await operator.get("/overview");
  const text = textOf(html.slice(html.indexOf("<main")));
  expect(text).toMatch(/\( Many \) fails: 2 webhooks wait .* \( Few \) fails: 1 webhook waits /);
  expect(text).toMatch(
    /\( Many \): 2 webhooks failed for good .* \( Few \): 1 webhook failed for good , the oldest from 2026/,
  );
  expect(text).toContain("1 payout is pending ( Few ) for more than 60 minutes");
  expect(text).toContain("2 payouts are pending ( Many ) for more than 60 minutes");
  const again = `/dashboard/m/${many.merchant.id}/replays/new?status=failed&amp;host=${encodeURIComponent(new URL(gone.url).host)}`;
  expect(html).toContain(`href="${again}"`);
  expect(textOf((await operator.get(`/m/${many.merchant.id}/overview`)).html)).toContain("2 webhooks failed for good");
  await server.pass(8 * DAY);
  expect(textOf((await operator.get("/overview")).html)).not.toMatch(/\( Few \): 1 webhook failed/);
});
