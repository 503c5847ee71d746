import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createBrotliDecompress } from "node:zlib";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

const packed = fileURLToPath(new URL("../bin/chromium.br", import.meta.resolve("@sparticuz/chromium")));
const unpacked = packed.replace(/\.br$/, "");

// The flags that the package recommends are for serverless functions. They include --single-process, with which closing
// a page ends the browser, and --disable-web-security. Chromium has no sandbox for root, which CI often runs as.
const args = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"];

/**
 * Unpacks the browser next to its archive. The package's own executablePath() is unsuitable: parallel test files would
 * start a binary that is still being written, an interrupted unpacking is never repeated, and its archive of fonts
 * cannot be unpacked in a user namespace.
 */
async function executablePath(): Promise<string> {
  if (existsSync(unpacked)) return unpacked;
  const partial = `${unpacked}.${crypto.randomUUID()}`;
  await pipeline(createReadStream(packed), createBrotliDecompress(), createWriteStream(partial, { mode: 0o755 }));
  await rename(partial, unpacked);
  return unpacked;
}

/** Starts a headless Chromium: on Linux x64 the one that npm installed, elsewhere the Chrome of this machine. */
export async function launchBrowser(): Promise<Browser> {
  if (process.platform !== "linux" || process.arch !== "x64") return chromium.launch({ channel: "chrome" });
  return chromium.launch({ executablePath: await executablePath(), args });
}
