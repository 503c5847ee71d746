// Measures how long it takes from the commit of a settlement until an open page of the dashboard shows it, in a real
// browser. The server runs in this process.
// Usage: node scripts/bench/live.ts [PAYMENTS]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLink, linkAddress } from "../../server/domain/sign-in.ts";
import { createTelemetry } from "../../server/domain/telemetry.ts";
import { createLog } from "../../server/log.ts";
import { launchBrowser } from "../browser.ts";
import { API_KEY, payout, quantile } from "./load.ts";
import { startService } from "./service.ts";

const PAYMENTS = Number(process.argv[2] ?? 100);
/** The limit for the 95th percentile, in milliseconds. */
const LIMIT_MS = 2_200;
const SETTLE_DELAY_MS = 700;

const folder = await mkdtemp(join(tmpdir(), "bench-"));
const telemetry = createTelemetry((error) => console.error(error));
const env = {
  DATABASE_URL: `sqlite:${join(folder, "server.db")}`,
  SANDBOX_API_KEY: API_KEY,
  SETTLE_DELAY_MS: String(SETTLE_DELAY_MS),
};
const { url, service, httpServer, storage, merchants } = await startService({
  env,
  telemetry,
  log: createLog("silent", 1).log,
});
const browser = await launchBrowser();

/** Creates a payout. Returns its reference. */
async function create(): Promise<string> {
  const { method, path, body } = payout();
  const headers = { "x-api-key": API_KEY, "content-type": "application/json" };
  const response = await fetch(url + path, { method, headers, body: body!() });
  if (!response.ok) throw new Error(`A create returned ${response.status}.`);
  return ((await response.json()) as { data: { reference: string } }).data.reference;
}

/** Resolves with the time of the next settlement's commit. */
const settled = () =>
  new Promise<number>((resolve) => {
    const end = telemetry.on("settled", () => {
      end();
      resolve(Date.now());
    });
  });

/** Runs in the page. Records when each payment is first shown as settled. */
function noteSettlements() {
  const seen: Record<string, number> = {};
  const note = () => {
    for (const row of document.querySelectorAll<HTMLElement>("tr[data-key]")) {
      if (row.querySelector(".badge.success")) seen[row.dataset.key!] ??= Date.now();
    }
  };
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true, attributes: true });
  Object.assign(globalThis, { seen });
}

try {
  const [merchant] = await storage.listMerchants();
  const page = await browser.newPage();
  await page.goto(
    linkAddress(
      url,
      await createLink({ ...merchants, storage }, { name: "Bench", role: "administrator" }, merchants.actor),
    ),
  );
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  await page.goto(`${url}/dashboard/m/${merchant!.id}/disbursements`);
  await page.evaluate(noteSettlements);

  const delays: number[] = [];
  for (let payment = 0; payment < PAYMENTS; payment += 1) {
    // Irregular pauses, so that payments do not keep step with the page's requests.
    await sleep((payment * 370) % 2_000);
    const committed = settled();
    const reference = await create();
    const at = await committed;
    const shown = await page.waitForFunction(
      (of) => (globalThis as never as { seen: Record<string, number> }).seen[of],
      reference,
    );
    delays.push((await shown.jsonValue())! - at);
  }
  const sorted = delays.toSorted((a, b) => a - b);
  const [p50, p95] = [quantile(sorted, 0.5), quantile(sorted, 0.95)];
  const verdict = p95 <= LIMIT_MS ? "within the limit" : "above the limit";
  console.log(`from the commit of a settlement to the page, ${PAYMENTS} payments:`);
  console.log(`  p50 ${p50} ms, p95 ${p95} ms (${verdict} of ${LIMIT_MS} ms), max ${sorted.at(-1)} ms`);
} finally {
  await browser.close();
  service.release();
  await httpServer.close(1_000);
  await service.stop(1_000);
  await storage.close();
  await rm(folder, { recursive: true });
}
