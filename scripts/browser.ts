import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { chromium } from "playwright-core";
import type { BrowserServer } from "playwright-core";

const require = createRequire(import.meta.url);
const packed = join(require.resolve("@sparticuz/chromium"), "../../bin/chromium.br");
const unpacked = packed.replace(/\.br$/, "");

// These flags replace the flags that the package recommends for serverless functions. Two of those do harm here:
// --disable-web-security, and --single-process, with which closing a page ends the browser. --no-sandbox is needed
// because CI often runs as root, for which Chromium has no sandbox.
const args = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"];

/**
 * Unpacks the browser next to its archive. The package's own executablePath() is unsuitable for three reasons: parallel
 * test files would start a binary that is still being written, an interrupted unpacking is never repeated, and the
 * package's archive of fonts cannot be unpacked in a user namespace.
 */
async function executablePath(): Promise<string> {
  if (existsSync(unpacked)) return unpacked;
  const partial = `${unpacked}.${crypto.randomUUID()}`;
  await pipeline(createReadStream(packed), createBrotliDecompress(), createWriteStream(partial, { mode: 0o755 }));
  await rename(partial, unpacked);
  return unpacked;
}

/**
 * Starts a headless Chromium for several processes, which connect to its address: on Linux x64 the one that npm
 * installed, elsewhere the installed Chrome.
 */
export const launchSharedBrowser = async (): Promise<BrowserServer> =>
  chromium.launchServer(
    process.platform === "linux" && process.arch === "x64"
      ? { executablePath: await executablePath(), args }
      : { channel: "chrome" },
  );
