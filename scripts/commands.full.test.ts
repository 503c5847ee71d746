// Runs the commands of all documents, as a reader would paste them, and compares what they print with what is shown.
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isMissing, toolchains } from "../conformance/examples/examples.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { pages } from "./docs/pages.ts";
import { blocksOf, openTerminal, type Block } from "./testing/reader.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
/** The page that starts the server and receives a first webhook. */
const FIRST = "server/docs/merchants.md";
const NOT_OWN = new Set(["node_modules", "dist", "generated", "data", "coverage", "reports", "certify-report"]);

const found = globSync("**/*.md", { cwd: root, exclude: (path) => NOT_OWN.has(basename(path)) }).toSorted();
const guides = pages.flatMap(({ file = [] }) => file);
/** The pages in the order of the navigation, then the other documents. */
const documents = new Set([FIRST, ...guides, ...found]);

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

/** Inside this repository the published command is a script, and the target is the server of the first page. */
const here = (block: Block, server: number): Block => ({
  ...block,
  text: block.text
    .replaceAll("npx --no -- certify", "node conformance/certify.ts")
    .replaceAll("https://sandbox.example", `http://127.0.0.1:${server}`),
});

async function openCheckout() {
  const ports = { server: await reservePort(), receiver: await reservePort() };
  const env = { LOG_LEVEL: "silent", NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE! };
  const terminal = openTerminal({ folder: await checkout(), ports, env });
  onTestFinished(async () => {
    await terminal.close();
    await rm(terminal.folder, { recursive: true, maxRetries: 5 });
  });
  return { terminal, ports };
}

test("the commands of all documents work on the server that the first starts", { timeout: 600_000 }, async () => {
  const { terminal, ports } = await openCheckout();
  for (const document of documents) {
    const count = await terminal.follow((await blocksIn(document)).map((block) => here(block, ports.server)));
    if (document !== FIRST) continue;
    expect(count).toBeGreaterThan(5);
    expect(terminal.unshown()).toBe("");
  }
});

const toolchain = toolchains.python;
test.skipIf(isMissing({ toolchain }))(
  "the receiver in Python prints what the one in JavaScript does",
  { timeout: 120_000 },
  async () => {
    const { terminal } = await openCheckout();
    const blocks = (await blocksIn(FIRST)).map((block) => ({
      ...block,
      text: block.text.replace("node receiver.mjs", "python3 receiver.py"),
    }));
    await terminal.follow(blocks);
    expect(terminal.unshown()).toBe("");
  },
);
