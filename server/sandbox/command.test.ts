import { join } from "node:path";
import { expect, test } from "vitest";
import { isAuthentic } from "../../spec/testing/guide.ts";
import { runCommand, startProgram } from "../testing/process.ts";
import { startReceiver } from "../testing/receiver.ts";

const cli = join(import.meta.dirname, "../cli.ts");
const PLAIN_FILE = import.meta.filename;
const sandbox = (...args: string[]) => startProgram(process.execPath, [cli, "sandbox", ...args]);
test.concurrent.each<[command: string[], code: number | string, stdout: string, stderr: string]>([
  [["--", "node", "-e", "console.log(process.argv[1])", "--", "--help"], 0, "--help\n", ""],
  [["sh", "-c", "echo wrong >&2; exit 3"], 3, "", "wrong\n"],
  [["--", "sh", "-c", "kill -TERM $$"], "SIGTERM", "", ""],
  [["--", "sh", "-c", "kill -KILL $$"], "SIGKILL", "", ""],
  [["--", "no-such-command"], 127, "", "There is no command no-such-command. Check its name, its path and PATH.\n"],
  [["--", PLAIN_FILE], 126, "", `The command ${PLAIN_FILE} cannot be run: the file is not executable.\n`],
])("%j ends as the command does, and prints nothing else", async (command, code, stdout, stderr) => {
  expect(await sandbox(...command).ended).toEqual({ code, stdout, stderr });
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
    const script = `trap "exit 5" ${signal.slice(3)}; node -e '${program}'; exit 6`;
    const { child, until, ended } = sandbox("--", "sh", "-c", script);
    await until(/ready/);
    child.kill(signal);
    expect(await ended).toEqual({ code: 5, stdout: "ready\ngot it\n", stderr: "" });
  },
);

/** Runs two processes that ignore SIGTERM. Once the sandbox responds, its guard knows the command. */
const ASKS = `fetch(process.env.BASE_URL + "/readyz").then(() => console.log("ready"))`;
const STUBBORN = ["--", "sh", "-c", `trap '' TERM; sleep 600 & node -e '${ASKS}'; sleep 600`];
/** Each runs the command that follows it. */
const SHELL = ["sh", "-c", '"$0" "$@"; true'];
const SPAWNS_SHELL = `require("child_process").spawn("sh", process.argv.slice(1), { stdio: "inherit" })`;
const NPM = ["node", "-e", SPAWNS_SHELL, "--", ...SHELL.slice(1)];
test.concurrent.each([
  ["itself", ["sh", "-c", 'exec "$0" "$@"'], STUBBORN],
  ["the shell that started it", SHELL, STUBBORN],
  ["npm, which started it with a shell", NPM, STUBBORN],
  ["a shell that started npm", [...SHELL, ...NPM], STUBBORN],
  ["npm, without a command", NPM, []],
])("leaves no process if %s is killed", async (_, [program, ...args], command) => {
  const all = [...args, process.execPath, cli, "sandbox", ...command];
  const { child, until, ended } = startProgram(program!, all, { npm_config_user_agent: "npm" });
  await until(/ready|WEBHOOK_SECRET/);
  child.kill("SIGKILL");
  expect(await ended).toMatchObject({ code: "SIGKILL" });
});

test.concurrent("without a command, prints what a program needs and runs until it is stopped", async () => {
  const { child, until, printed, ended } = sandbox("--json");
  await until(/\n$/);
  const { BASE_URL, API_KEY, WEBHOOK_SECRET } = JSON.parse(printed.stdout);
  expect(WEBHOOK_SECRET).toMatch(/^whsec_/);
  const { status } = await fetch(`${BASE_URL}/v1/disbursements`, { headers: { "x-api-key": API_KEY } });
  expect(status).toBe(200);
  child.kill("SIGTERM");
  expect(await ended).toEqual({ code: 0, ...printed });
  await expect(fetch(`${BASE_URL}/readyz`)).rejects.toThrow("fetch failed");
});
