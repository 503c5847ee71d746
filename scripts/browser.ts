import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";
import type { Browser } from "playwright-core";

/** A headless Chromium: the one that npm installs on Linux x64, elsewhere the Chrome that the machine has. */
export async function launchBrowser(): Promise<Browser> {
  if (process.platform !== "linux" || process.arch !== "x64") return playwright.launch({ channel: "chrome" });
  return playwright.launch({ executablePath: await chromium.executablePath(), args: chromium.args });
}
