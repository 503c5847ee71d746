import { afterAll, expect, test } from "vitest";
import { not, says } from "../../testing/dashboard.ts";
import { signedIn } from "../../testing/dashboard-visitor.ts";
import { startReceiver } from "../../testing/receiver.ts";
import { startServer } from "../../testing/server.ts";

const DAY = 86_400_000;
const SUCCEEDS = "2250700000001";
const FAILS = "2250700000002";
const STAYS_PENDING = "2250700000129";
const [server, busy, gone] = await Promise.all([startServer(), startReceiver(500), startReceiver(410)]);
afterAll(() => Promise.all([server.close(), busy.close(), gone.close()]));

async function merchantOf(name: string) {
  const { merchant, key } = await server.addMerchant(name);
  return { page: `/m/${merchant.id}/overview`, payout: (changes = {}) => server.createPayout(changes, { key }) };
}
/** A new session each time, because much time passes. */
const open = async (path: string) => (await signedIn(server)).get(path);

test("shows the figures of each day, their sums, and what needs attention", async () => {
  const { page, payout } = await merchantOf("Ada");
  await says(open(page), 200, /Needs attention There is nothing here.*Disbursements from .* There is nothing here/);
  await payout({ amount: 150_000 });
  await payout({ amount: 5_000, phoneNumber: FAILS });
  await payout({ amount: 700, currency: "KES", country: "KE", phoneNumber: "254712345678" });
  await server.pass(5_000);
  await server.pass(DAY);
  await payout({ amount: 250_000, webhookURL: busy.url });
  await payout({ amount: 3_000, phoneNumber: STAYS_PENDING });
  await server.pass(5_000);
  await server.pass(3_601_000);

  const { rows } = await says(
    open(page),
    200,
    /127\.0\.0\.1:\d+: 1 webhook waits ?, the oldest from/,
    /1 payout ?: pending for more than 60 minutes, the oldest since 2026-11-21/,
  );
  expect(rows).toEqual([
    ["Total", "KES", "100 %", "KES 7.00 1", "none", "none"],
    ["Total", "XOF", "66.6 %", "XOF 4,000.00 2", "XOF 50.00 1", "XOF 30.00 1"],
    ["2026-11-20", "KES", "100 %", "KES 7.00 1", "none", "none"],
    ["2026-11-20", "XOF", "50 %", "XOF 1,500.00 1", "XOF 50.00 1", "none"],
    ["2026-11-21", "XOF", "100 %", "XOF 2,500.00 1", "none", "XOF 30.00 1"],
  ]);
  const day = "from=2026-11-20&to=2026-11-20";
  await says(open(`${page}?${day}`), 200, "Disbursements from 2026-11-20 to 2026-11-20");
  await says(open(`${page}?of=checkouts`), 200, /Checkouts from .* There is nothing here/);
  await says(
    open("/overview"),
    200,
    not("Success rate"),
    /127\.0\.0\.1:\d+ \( ?Ada ?\): 1 webhook waits/,
    /1 payout \( ?Ada ?\): pending for more than 60 minutes/,
  );
  for (const query of ["of=fees", "to=yesterday", "from=2026-11-21&to=2026-11-20", "from=2026-10-01"])
    await says(open(`${page}?${query}`), 422);
});

test("names all merchants that need attention, the worst first, also if nothing waits any more", async () => {
  const [few, many] = [await merchantOf("Few"), await merchantOf("Many")];
  for (const { payout } of [few, many, many]) {
    await payout({ phoneNumber: STAYS_PENDING });
    for (const { url } of [busy, gone]) await payout({ webhookURL: url, phoneNumber: SUCCEEDS });
  }
  await server.pass(3_601_000);
  // A receiver that fails gets one webhook at a time.
  for (let passed = 0; passed < 5; passed += 1) await server.pass(60_000);
  const failed = `status=failed&amp;host=${encodeURIComponent(new URL(gone.url).host)}`;
  await says(
    open("/overview"),
    200,
    /\( ?Many ?\): 2 webhooks wait.* \( ?Few ?\): 1 webhook waits/,
    /\( ?Many ?\): 2 webhooks failed for good.* \( ?Few ?\): 1 webhook failed for good ?, the oldest from 2026/,
    /1 payout \( ?Few ?\): pending for more than 60 minutes/,
    /2 payouts \( ?Many ?\): pending for more than 60 minutes/,
    `href="/dashboard${many.page.replace("overview", "webhooks")}?${failed}"`,
  );
  await server.pass(8 * DAY);
  await says(open("/overview"), 200, not(/\( ?Few ?\): 1 webhook failed/));
});
