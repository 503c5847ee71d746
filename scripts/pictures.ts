// `npm run pictures`: takes the pictures of the README from a running server and a run of the conformance suite.
import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { linkAddress } from "../server/domain/sign-in.ts";
import { newLink } from "../server/testing/dashboard-visitor.ts";
import { startProcess } from "../server/testing/process.ts";
import { startReceiver } from "../server/testing/receiver.ts";
import { startServer, type TestServer } from "../server/testing/server.ts";
import { launchBrowser } from "./browser.ts";

const MOST_BYTES = 150_000;
const path = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));

/** Payouts with every status, as a merchant would have them after a morning. */
async function fill(server: TestServer, webhookURL: string): Promise<void> {
  const endings = ["001", "473", "002", "129", "089", "001", "815", "001", "129", "001"];
  for (const [index, ending] of endings.entries()) {
    const reference = `invoice-${1042 + index}`;
    const phoneNumber = `22507${String(10_203 + index * 7_919).padStart(5, "0")}${ending}`;
    await server.createPayout({ reference, amount: 250_000 + index * 137_500, phoneNumber, webhookURL });
    await server.pass(137_000);
  }
  await server.createPayout({ reference: "invoice-1052", phoneNumber: "2257038102473", webhookURL });
}

async function dashboard(page: Page): Promise<void> {
  const [server, receiver] = await Promise.all([startServer(), startReceiver()]);
  try {
    await fill(server, receiver.url);
    await page.goto(linkAddress(server.url, await newLink(server)));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/dashboard");
    await page.goto(`${server.url}/dashboard/m/${server.merchant.id}/disbursements`);
    await page.getByText("invoice-1052").waitFor();
    await take(page, "dashboard.png");
  } finally {
    await Promise.all([server.close(), receiver.close()]);
  }
}

async function report(page: Page): Promise<void> {
  const key = "a-key-for-the-pictures";
  const folder = await mkdtemp(join(tmpdir(), "pictures-"));
  const server = await startProcess({ DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: key });
  try {
    const args = [path("conformance/certify.ts"), "--base-url", server.url, "--report", folder];
    await promisify(execFile)(process.execPath, args, { env: { ...process.env, API_KEY: key } });
    await page.goto(pathToFileURL(join(folder, "report.html")).href);
    await page.getByRole("heading", { name: "Summary" }).waitFor();
    await take(page, "certify.png");
  } finally {
    server.kill("SIGTERM");
    await server.ended;
    await rm(folder, { recursive: true });
  }
}

async function take(page: Page, name: string): Promise<void> {
  const file = path(`server/docs/pictures/${name}`);
  await page.screenshot({ path: file });
  const { size } = await stat(file);
  console.log(`${name}: ${Math.ceil(size / 1_000)} kB`);
  if (size > MOST_BYTES) throw new Error(`${name} is larger than ${MOST_BYTES / 1_000} kB: make the window smaller.`);
}

const browser = await launchBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1080, height: 680 }, colorScheme: "light" });
  await dashboard(page);
  await report(page);
} finally {
  await browser.close();
}
