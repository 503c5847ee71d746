import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";
import type { Browser } from "playwright-core";

// The package's own list is for functions in a cloud: one process for all pages, which ends with the first page that is
// closed, and no web security, which lets pages do what no customer's browser would. Nor does root get a sandbox.
const args = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"];

/** A headless Chromium: the one that npm installs on Linux x64, elsewhere the Chrome that the machine has. */
export async function launchBrowser(): Promise<Browser> {
  if (process.platform !== "linux" || process.arch !== "x64") return playwright.launch({ channel: "chrome" });
  return playwright.launch({ executablePath: await chromium.executablePath(), args });
}
