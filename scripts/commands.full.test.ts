// Runs the commands of all documents, as a reader would paste them, and compares what they print with what is shown.
import { existsSync } from "node:fs";
import { glob, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { blocksOf, isShell, type Block } from "./commands/documents.ts";
import { Terminal } from "./commands/terminal.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const TUTORIAL = "server/docs/tutorial.md";

interface Elsewhere {
  document: string;
  /** The commands that this entry is about; by default all commands of the document. */
  commands?: RegExp;
  test: string;
  /** A text that the test file contains if it runs the commands. */
  proof: string;
}

const guide = (name: string): Elsewhere => ({
  document: `server/docs/${name}.md`,
  test: "server/http/docs/guides.full.test.ts",
  proof: `"${name}"`,
});

/** Commands that other tests run. */
const ELSEWHERE: Elsewhere[] = [
  guide("first-payout"),
  guide("webhooks"),
  guide("checkout"),
  guide("sandbox"),
  guide("going-live"),
  {
    document: "server/docs/for-platforms.md",
    commands: /--only/,
    test: "conformance/package.full.test.ts",
    proof: '"--only", only, "--effects", "none"',
  },
  {
    document: "server/docs/for-maintainers.md",
    commands: /npm run --silent contract/,
    test: "scripts/contract.test.ts",
    proof: 'run("diff"',
  },
  {
    document: "CONTRIBUTING.md",
    commands: /npm run contract/,
    test: "scripts/contract.test.ts",
    proof: 'run("diff"',
  },
  {
    document: "client/README.md",
    commands: /npm (pack|install)/,
    test: "client/package.full.test.ts",
    proof: "the README's commands",
  },
  {
    document: "client/README.md",
    commands: /npx --no -- disbursement-pay/,
    test: "client/package.full.test.ts",
    proof: 'describe("the command disbursement-pay"',
  },
  {
    document: "conformance/README.md",
    commands: /npm (pack|install --save-dev)/,
    test: "conformance/package.full.test.ts",
    proof: "installPacked(",
  },
  {
    document: "conformance/README.md",
    commands: /certify doctor/,
    test: "conformance/cli/doctor.test.ts",
    proof: "await doctor(",
  },
  {
    document: "conformance/README.md",
    commands: /certify init/,
    test: "conformance/cli/init.test.ts",
    proof: "await init(",
  },
  {
    document: "conformance/README.md",
    commands: /certify keygen/,
    test: "conformance/cli/subcommands.test.ts",
    proof: 'runSubcommand("verify"',
  },
  {
    document: "conformance/README.md",
    commands: /certify verify/,
    test: "conformance/cli/verify.test.ts",
    proof: 'runSubcommand("verify"',
  },
  {
    document: "conformance/README.md",
    commands: /--challenge TEXT/,
    test: "conformance/certify.full.test.ts",
    proof: 'referencesOf("a nonce")',
  },
  {
    document: "conformance/README.md",
    commands: /certify registry/,
    test: "conformance/cli/registry.test.ts",
    proof: 'runSubcommand("registry"',
  },
  {
    document: "conformance/README.md",
    commands: /certify diff/,
    test: "conformance/cli/subcommands.test.ts",
    proof: 'runSubcommand("diff"',
  },
  {
    document: "conformance/README.md",
    commands: /certify client/,
    test: "conformance/merchants/client/command.full.test.ts",
    proof: "judgeClient(",
  },
  {
    document: "conformance/README.md",
    commands: /certify receiver/,
    test: "conformance/merchants/receiver/run.full.test.ts",
    proof: "await run({ url, effects })",
  },
];

const NOT_OWN = new Set(["node_modules", "dist", "generated", "data", "coverage", "reports", "certify-report"]);

const isForeign = (path: string) => NOT_OWN.has(basename(path));

async function documents(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("**/*.md", { cwd: root, exclude: isForeign })) found.push(file);
  return found.toSorted();
}

/** The blocks of a document. Blocks that other tests run are marked as not run here. */
async function blocksIn(document: string): Promise<Block[]> {
  const elsewhere = ELSEWHERE.filter((each) => each.document === document);
  return blocksOf(await readFile(join(root, document), "utf8")).map((block) => {
    const other = elsewhere.find(({ commands = /./ }) => commands.test(block.text));
    return other ? { ...block, notRun: `${other.test} runs it` } : block;
  });
}

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

test("other tests run the commands that this one leaves to them", async () => {
  for (const { document, commands = /./, test: file, proof } of ELSEWHERE) {
    expect.soft(existsSync(join(root, file)), file).toBe(true);
    expect.soft(await readFile(join(root, file), "utf8"), `${file} runs ${document}`).toContain(proof);
    const blocks = blocksOf(await readFile(join(root, document), "utf8")).filter(isShell);
    expect
      .soft(
        blocks.some(({ text }) => commands.test(text)),
        `${document} has ${commands}`,
      )
      .toBe(true);
  }
});

test("the commands of all documents work on the server that the tutorial starts", { timeout: 600_000 }, async () => {
  const ports = { server: await reservePort(), receiver: await reservePort() };
  const env = { LOG_LEVEL: "silent", NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE! };
  const terminal = new Terminal({ folder: await checkout(), ports, env });
  try {
    expect(await terminal.follow(await blocksIn(TUTORIAL))).toBeGreaterThan(5);
    expect(terminal.unshown()).toBe("");
    for (const document of await documents()) {
      if (document === TUTORIAL) continue;
      await terminal.follow((await blocksIn(document)).map((block) => here(block, ports.server)));
    }
  } finally {
    await terminal.close();
    await rm(terminal.folder, { recursive: true, maxRetries: 5 });
  }
});

test("a command that does not work, or prints something else, fails", async () => {
  const ports = { server: await reservePort(), receiver: await reservePort() };
  const terminal = new Terminal({ folder: tmpdir(), ports, env: {} });
  const follow = (markdown: string) => terminal.follow(blocksOf(markdown));
  await expect(follow("```sh\nexit 3\n```")).rejects.toThrow("exit 3");
  await expect(follow("```sh\necho '{\"statusCode\":401}'\n```")).rejects.toThrow("401");
  await follow("```sh\necho one two\n```\n\n```text\none …\n```");
  await expect(follow("```sh\necho one\n```\n\n```json\n2\n```")).rejects.toThrow("not valid JSON");
  await follow("```sh\necho one\n```\n\n# Else\n\n```json\n2\n```");
  await follow("<!-- not run: a reason -->\n\n```sh\nexit 3\n```\n\n```text\nnothing\n```");
  await expect(follow("<!-- not run: -->\n\n```sh\nexit 3\n```")).rejects.toThrow("exit 3");
});
