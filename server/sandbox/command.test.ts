import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAuthentic } from "../../spec/testing/guide.ts";
import { runCommand } from "../testing/process.ts";
import { startReceiver } from "../testing/receiver.ts";

const cli = join(import.meta.dirname, "../cli.ts");
const PLAIN_FILE = import.meta.filename;
const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;

/** Starts a program. `ended` resolves when this and every program that it has started have ended: they share its pipes. */
function start(program: string, args: string[], more: NodeJS.ProcessEnv = {}) {
  const child = spawn(program, args, { env: { PATH, HOME, NODE_COMPILE_CACHE, ...more } });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => (printed[name] += String(chunk)));
  const ended = once(child, "close").then(([code, signal]) => ({ ended: signal ?? code, ...printed }));
  const until = async (text: RegExp) => {
    await expect.poll(() => printed.stdout).toMatch(text);
  };
  return { child, printed, ended, until };
}
const sandbox = (...args: string[]) => start(process.execPath, [cli, "sandbox", ...args]);
test.concurrent.each<[command: string[], ended: number | string, stdout: string, stderr: string]>([
  [["--", "node", "-e", "console.log(process.argv[1])", "--", "--help"], 0, "--help\n", ""],
  [["sh", "-c", "echo wrong >&2; exit 3"], 3, "", "wrong\n"],
  [["--", "sh", "-c", "kill -TERM $$"], "SIGTERM", "", ""],
  [["--", "sh", "-c", "kill -KILL $$"], "SIGKILL", "", ""],
  [["--", "no-such-command"], 127, "", "There is no command no-such-command. Check its name, its path and PATH.\n"],
  [["--", PLAIN_FILE], 126, "", `The command ${PLAIN_FILE} cannot be run: the file is not executable.\n`],
])("%j ends as the command does, and prints nothing else", async (command, ended, stdout, stderr) => {
  expect(await sandbox(...command).ended).toEqual({ ended, stdout, stderr });
});

test.each([
  [["--recever", "localhost:4000", "true"], "Unknown option '--recever'"],
  [["--receiver", "ftp://localhost", "true"], "--receiver is not valid: where webhooks go "],
  [["-x", "--", "true"], "Unknown option '-x'"],
  [["--"], "There is no COMMAND after --."],
])("%j is refused", async (args, message) => {
  const { code, stderr } = await runCommand({}, "sandbox", ...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

/** Makes a payout whose webhook is sent at once, waits for the response to the webhook, and prints what it was given. */
const PAYS = `const { BASE_URL, API_KEY, WEBHOOK_SECRET } = process.env;
const headers = { "x-api-key": API_KEY, "content-type": "application/json" };
const post = (path, body) => fetch(BASE_URL + path, { method: "POST", headers, body: JSON.stringify(body) });
const payout = { reference: "the same", amount: 100, phoneNumber: "2250000000001", country: "CI", currency: "XOF" };
const { ok } = await post("/v1/disbursements", payout);
await post("/sandbox/clock/advance", { seconds: 1 });
console.log(JSON.stringify({ ok, BASE_URL, WEBHOOK_SECRET }));`;

test.concurrent("two sandboxes share nothing but the receiver to which their webhooks go", async () => {
  const receiver = await startReceiver();
  const run = () => sandbox("--receiver", receiver.url, "node", "--input-type=module", "-e", PAYS).ended;
  const [one, two] = (await Promise.all([run(), run()])).map(({ stdout }) => JSON.parse(stdout));
  expect([one.ok, two.ok, one.BASE_URL === two.BASE_URL]).toEqual([true, true, false]);
  const isSignedBy = ({ WEBHOOK_SECRET }: { WEBHOOK_SECRET: string }) =>
    receiver.received.map(({ headers, text }) => isAuthentic(headers, Buffer.from(text), WEBHOOK_SECRET));
  expect(isSignedBy(one)).toEqual(isSignedBy(two).map((each) => !each));
  expect(isSignedBy(one).toSorted()).toEqual([false, true]);
  await receiver.close();
});

test.concurrent.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "passes %s on, also to what the command has started",
  async (signal) => {
    const program = `process.on("${signal}", () => { console.log("got it"); process.exit(9); });
    console.log("ready"); setInterval(() => {}, 1000);`;
    const { child, until, ended } = sandbox(
      "--",
      "sh",
      "-c",
      `trap "exit 5" ${signal.slice(3)}; node -e '${program}'; exit 6`,
    );
    await until(/ready/);
    child.kill(signal);
    expect(await ended).toEqual({ ended: 5, stdout: "ready\ngot it\n", stderr: "" });
  },
);

/** Two processes, one of which ignores SIGTERM. */
const STUBBORN = ["sh", "-c", "trap '' TERM; sleep 600 & echo ready; sleep 600"];

test.concurrent("a sandbox that is killed leaves no process of its command", async () => {
  const { child, until, ended } = sandbox("--", ...STUBBORN);
  await until(/ready/);
  child.kill("SIGKILL");
  expect(await ended).toMatchObject({ ended: "SIGKILL" });
});

const IN_SHELL = ["sh", "-c", '"$0" "$@"; true'];
const IN_NPM = [
  "node",
  "-e",
  `require("child_process").spawn("sh", process.argv.slice(1), { stdio: "inherit" })`,
  "--",
];
test.concurrent.each([
  ["shell", IN_SHELL],
  ["program with a shell in between", [...IN_NPM, ...IN_SHELL.slice(1)]],
  ["shell with such a program in between", [...IN_SHELL, ...IN_NPM, ...IN_SHELL.slice(1)]],
])("ends with its command if it was started by a %s that is killed", async (_, [program, ...args]) => {
  const { child, until, ended } = start(program!, [...args, process.execPath, cli, "sandbox", "--", ...STUBBORN]);
  await until(/ready/);
  child.kill("SIGKILL");
  expect(await ended).toMatchObject({ ended: "SIGKILL" });
});

test.concurrent("without a command, prints what a program needs and runs until it is stopped", async () => {
  const { child, until, printed, ended } = sandbox("--json");
  await until(/\n$/);
  const { BASE_URL, API_KEY, WEBHOOK_SECRET } = JSON.parse(printed.stdout);
  expect(WEBHOOK_SECRET).toMatch(/^whsec_/);
  const { status } = await fetch(`${BASE_URL}/v1/disbursements`, { headers: { "x-api-key": API_KEY } });
  expect(status).toBe(200);
  child.kill("SIGTERM");
  expect(await ended).toEqual({ ended: 0, ...printed });
  await expect(fetch(`${BASE_URL}/readyz`)).rejects.toThrow("fetch failed");
});

test.concurrent("without a command, ends with npm although npm passes signals on to its shell only", async () => {
  const [program, ...args] = [...IN_NPM, ...IN_SHELL.slice(1), process.execPath, cli, "sandbox"];
  const { child, until, ended } = start(program!, args, { npm_config_user_agent: "npm" });
  await until(/WEBHOOK_SECRET/);
  child.kill("SIGKILL");
  expect(await ended).toMatchObject({ ended: "SIGKILL" });
});
