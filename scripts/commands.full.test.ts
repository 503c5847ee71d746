// Runs the commands of all documents, as a reader would paste them, and compares what they print with what is shown.
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { blocksOf, openTerminal, type Block } from "./testing/reader.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const TUTORIAL = "server/docs/tutorial.md";
/** server/http/docs/guides.full.test.ts follows these. */
const GUIDES = /^server\/docs\/(first-payout|webhooks|checkout|sandbox|going-live)\.md$/;
const NOT_OWN = new Set(["node_modules", "dist", "generated", "data", "coverage", "reports", "certify-report"]);

const documents = globSync("**/*.md", { cwd: root, exclude: (path) => NOT_OWN.has(basename(path)) })
  .filter((file) => file !== TUTORIAL && !GUIDES.test(file))
  .toSorted();

const blocksIn = async (document: string) => blocksOf(await readFile(join(root, document), "utf8"));

/** A folder that looks like a checkout, in which commands may write files. */
async function checkout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "commands-"));
  const parts = ["client", "conformance", "generated", "node_modules", "scripts", "server", "spec"];
  for (const name of [...parts, "package.json", "package-lock.json", ".npmrc", "CHANGELOG.md"]) {
    await symlink(join(root, name), join(folder, name));
  }
  return folder;
}

/** Inside this repository the published command is a script, and the target is the server of the tutorial. */
const here = (block: Block, server: number): Block => ({
  ...block,
  text: block.text
    .replaceAll("npx --no -- certify", "node conformance/certify.ts")
    .replaceAll("https://sandbox.example", `http://127.0.0.1:${server}`),
});

test("the commands of all documents work on the server that the tutorial starts", { timeout: 600_000 }, async () => {
  const ports = { server: await reservePort(), receiver: await reservePort() };
  const env = { LOG_LEVEL: "silent", NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE! };
  const terminal = openTerminal({ folder: await checkout(), ports, env });
  try {
    expect(await terminal.follow(await blocksIn(TUTORIAL))).toBeGreaterThan(5);
    expect(terminal.unshown()).toBe("");
    for (const document of documents)
      await terminal.follow((await blocksIn(document)).map((block) => here(block, ports.server)));
  } finally {
    await terminal.close();
    await rm(terminal.folder, { recursive: true, maxRetries: 5 });
  }
});
