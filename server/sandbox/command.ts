// `disbursement-checkout sandbox`: a sandbox in memory, for the tests of a program in any language.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";
import { parseArgs } from "node:util";
import spawn from "cross-spawn";
import { parseCommand, printable, printableJson, UsageError, usageOf, type Printer } from "../commands/command.ts";

const SYNTAX = {
  sandbox: {
    takes: "[--receiver] [COMMAND]",
    summary: `Start a sandbox in memory, on a free port of this machine, and run the COMMAND with BASE_URL, API_KEY and WEBHOOK_SECRET
in its environment, as in \`sandbox -- pytest -x\`. The sandbox ends with the COMMAND, and the exit code is the COMMAND's: 127
if it does not exist, 126 if it cannot run. Without a COMMAND, print the three and keep the sandbox until it is stopped.
A payout stays pending until it is finished or its time is moved, by a day or by SETTLE_DELAY_MS.`,
  },
};
const A_DAY_MS = "86400000";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const LOOK_FOR_PARENT_EVERY_MS = 200;
/** How long the command may take to end after this process has disappeared. */
const GRACE_SECONDS = 0.5;
const isWindows = process.platform === "win32";

/**
 * Runs `disbursement-checkout sandbox ARGS`. Resolves with the exit code, or ends this process by the signal that ended the
 * command.
 * @throws UsageError or ConfigError if the arguments or SETTLE_DELAY_MS are invalid
 */
export async function runSandbox(args: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<number> {
  const lineage = readLineage();
  const { own, command } = split(args);
  if (own.includes("--help") || own.includes("-h")) return (printer.log(usageOf("", SYNTAX, "sandbox")), 0);
  const { input } = parseCommand("", SYNTAX, ["sandbox", ...own]);
  // The variable that names the command is empty: without this, a job would wait for ever.
  if (command.length === 0 && args.at(-1) === "--") throw new UsageError("There is no COMMAND after --.");
  const { receiver, json } = input as { receiver?: string; json?: true };
  const settings = { SETTLE_DELAY_MS: env.SETTLE_DELAY_MS || A_DAY_MS };
  // Node 22 warns that node:sqlite is experimental.
  process.removeAllListeners("warning");
  const { serveInMemory } = await import("./serve.ts");
  const server = await serveInMemory(settings, receiver);
  const values = { BASE_URL: server.baseUrl, API_KEY: server.apiKey, WEBHOOK_SECRET: server.webhookSecret };
  if (command.length === 0) {
    const lines = Object.entries(values).map(([name, value]) => `${name}=${value}`);
    printer.log(json ? printableJson(values) : lines.join("\n"));
    // A second signal ends the process at once.
    const stops: Promise<unknown>[] = SIGNALS.map((signal) => once(process, signal));
    // npm passes a signal on to its shell, which ends without us. Other shells may leave us in the background.
    if (env.npm_config_user_agent && isShell(process.ppid)) stops.push(orphaned(lineage.slice(0, 2)));
    await Promise.race(stops);
    await server.stop();
    return 0;
  }
  const { code, signal, error } = await run(command, { ...env, ...values }, lineage).finally(server.stop);
  if (error !== undefined) printer.error(printable(error));
  if (!signal) return code;
  // Callers, such as a shell after Ctrl-C, distinguish a signal from an exit code.
  if (!isWindows) process.kill(process.pid, signal);
  // The first process of a container outlives its own signal.
  return 128 + constants.signals[signal];
}

/** Splits the arguments at the command: what follows `--`, or begins with the first word that is no option. */
function split(args: readonly string[]): Record<"own" | "command", string[]> {
  const options = { receiver: { type: "string" } } as const;
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const { kind, index } = tokens.find((token) => token.kind !== "option") ?? { kind: "positional", index: args.length };
  return { own: args.slice(0, index), command: args.slice(kind === "positional" ? index : index + 1) };
}

/** How a command ended. `error` says why it could not be started. */
type Ended = { code: number; signal?: NodeJS.Signals | null; error?: string };

/** Runs the command and passes signals on. It ends with this process, and with the parent, however these are ended. */
async function run([file, ...args]: string[], env: NodeJS.ProcessEnv, lineage: string[]): Promise<Ended> {
  // In a terminal, Ctrl-C reaches the command without us. Elsewhere it leads a group of processes, so that a signal also
  // reaches what the command has started.
  const hasTerminal = isatty(0);
  const leadsGroup = !hasTerminal && !isWindows;
  let target: number | undefined;
  const pass = (signal: NodeJS.Signals) => {
    if (target === undefined || (hasTerminal && signal === "SIGINT")) return;
    // The command may have just ended.
    tried(() => process.kill(target!, signal), false);
  };
  for (const signal of SIGNALS) process.on(signal, pass);
  // Before the command, which may print something that makes somebody kill this process.
  const guard = isWindows ? undefined : startGuard();
  void orphaned(lineage).then(() => {
    if (guard?.pid === undefined) pass("SIGKILL");
    return process.kill(process.pid, "SIGKILL");
  });
  try {
    const child = spawn(file!, args, { env, stdio: "inherit", detached: leadsGroup });
    const ended = once(child, "exit");
    target = child.pid && (leadsGroup ? -child.pid : child.pid);
    if (target !== undefined) guard?.stdin!.write(`${target}\n`);
    const [code, signal] = await ended;
    return { code: code ?? 1, signal };
  } catch (error) {
    return whyNotStarted(file!, error as NodeJS.ErrnoException);
  } finally {
    guard?.kill("SIGKILL");
    for (const signal of SIGNALS) process.off(signal, pass);
  }
}

function whyNotStarted(file: string, { code, message }: NodeJS.ErrnoException) {
  if (code === "ENOENT") return { code: 127, error: `There is no command ${file}. Check its name, its path and PATH.` };
  const why = code === "EACCES" ? "the file is not executable" : message;
  return { code: 126, error: `The command ${file} cannot be run: ${why}.` };
}

/**
 * A shell that reads the command's id, and ends the command, and what it has started, when this process disappears, because
 * its input then ends. Windows does the same itself.
 */
function startGuard() {
  const script = `read -r target || exit
    read -r _
    tree() { for child in $(pgrep -P "$1"); do tree "$child"; done; echo "$1"; }
    all=$(tree "\${target#-}")
    kill -TERM "$target" $all; sleep ${GRACE_SECONDS}; kill -KILL "$target" $all`;
  const guard = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  // A system without a shell has no guard.
  for (const part of [guard, guard.stdin!]) part.on("error", () => undefined);
  guard.unref();
  return guard;
}

/**
 * Names what must not change while the command runs: the parents in this process's group, such as npm and its shell, and what
 * has started the group. Without /proc, only the parent is known.
 */
function readLineage(): string[] {
  const { ppid } = process;
  // On Windows the id of the parent does not change when the parent ends.
  const lineage = [`${ppid} ${!isWindows || tried(() => process.kill(ppid, 0), false)}`];
  const [parent, own] = familyOf("self");
  for (let [next, group] = familyOf(parent); group && group === own; [next, group] = familyOf(next))
    lineage.push(next!);
  return lineage;
}

/** The ids of a process's parent and group. */
function familyOf(pid = "0"): string[] {
  return /.*\) \S (\d+) (\d+)/s.exec(textOf(`/proc/${pid}/stat`))?.slice(1) ?? [];
}

const isShell = (pid: number) => /^[^\0]*sh\0-\w*c\0/.test(textOf(`/proc/${pid}/cmdline`));

/** Resolves when the lineage, or its beginning, is no longer the given one. */
async function orphaned(lineage: string[]): Promise<void> {
  for (let now = lineage; lineage.every((each, index) => each === now[index]); now = readLineage())
    await sleep(LOOK_FOR_PARENT_EVERY_MS, undefined, { ref: false });
}

const textOf = (file: string) => tried(() => readFileSync(file, "utf8"), "");

/** What the call returns, or the other value if it throws. */
function tried<T>(call: () => T, otherwise: T): T {
  try {
    return call();
  } catch {
    return otherwise;
  }
}
