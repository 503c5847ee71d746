// Runs every command of the guides, as they are served, against a server in a process of its own.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { lexer, type Tokens } from "marked";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { freePort, startProcess, type ServerProcess } from "../../testing/process.ts";

const KEY = "a-key-for-the-guides-0000";
let server: ServerProcess;
let folder: string;
let receiver: { process: ChildProcess; printed: string[] } | undefined;

beforeAll(async () => {
  server = await startProcess({ DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: KEY });
});
afterAll(async () => {
  server.kill("SIGTERM");
  await server.ended;
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "guides-"));
});
afterEach(async () => {
  if (receiver) {
    receiver.process.kill();
    await once(receiver.process, "exit");
    receiver = undefined;
  }
  await rm(folder, { recursive: true });
});

/** The code blocks of a guide, with a free port for its receiver. */
async function blocksOf(guide: string, port: number): Promise<Tokens.Code[]> {
  const markdown = await (await fetch(`${server.url}/docs/${guide}.md`)).text();
  const blocks = lexer(markdown).filter((token): token is Tokens.Code => token.type === "code");
  return blocks.map((block) => ({ ...block, text: block.text.replace(/(?<=\D)4000(?=\D)/g, String(port)) }));
}

function startReceiver(file: string, env: Record<string, string>, port: number) {
  const child = spawn(process.execPath, [file], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  const printed: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => printed.push(line));
  receiver = { process: child, printed };
  const listens = () => fetch(`http://127.0.0.1:${port}`, { method: "POST" }).then(({ status }) => status);
  return expect.poll(() => listens().catch(() => "not yet"), { timeout: 30_000 }).toBe(400);
}

/** In what a guide shows, `…` stands for any text. */
function shows(actual: unknown, shown: any): unknown {
  if (typeof shown === "string" && shown.endsWith("…")) return expect.stringMatching(`^${shown.slice(0, -1)}.+`);
  if (typeof shown !== "object" || Array.isArray(shown)) return shown;
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]) => [name, shows((actual as any)?.[name], value)]),
  );
}

test.each(["first-payout", "webhooks", "checkout", "sandbox", "going-live"])(
  "the commands of %s work, with the responses that it shows",
  async (guide) => {
    const port = await freePort();
    const blocks = await blocksOf(guide, port);
    const env: Record<string, string> = { PATH: process.env.PATH!, API_KEY: KEY };
    let response = "";
    let commands = 0;

    const run = async (command: string, next?: Tokens.Code) => {
      const [, name, prefix] = /^export (\w+)=(\w+)…$/.exec(command) ?? [];
      if (name === "API_KEY") return;
      if (name) return void (env[name] = new RegExp(`"(${prefix}[^"]*)"`).exec(response)![1]!);
      const [, file] = /^node (\S+)$/.exec(command) ?? [];
      if (file) return startReceiver(file, env, port);
      response = (await promisify(execFile)("sh", ["-euc", command], { env })).stdout;
      commands += 1;
      if (next?.lang !== "json") expect.soft(JSON.parse(response).statusCode, `${command}\n${response}`).toBe(200);
    };
    for (const [index, { lang, text }] of blocks.entries()) {
      if (lang === "sh") await run(text, blocks[index + 1]);
      else if (lang === "js") await writeFile(join(folder, "receiver.mjs"), text);
      else if (lang === "json") {
        const actual = JSON.parse(response);
        expect.soft(actual).toEqual(shows(actual, JSON.parse(text)));
      } else {
        await expect.poll(() => receiver!.printed, { timeout: 30_000 }).toEqual([text]);
        const { request } = server.client(KEY);
        const delivered = async () =>
          (await request("GET", "/sandbox/deliveries?status=delivered")).body.data.items.length;
        await expect.poll(delivered, { timeout: 30_000 }).toBe(1);
      }
    }
    expect(commands).toBeGreaterThan(1);
    if (receiver) expect(receiver.printed).toHaveLength(1);
  },
);
