// The entry point. The exit code is 0 if everything selected passed, 1 if something failed, and 2 if the suite could
// not do its work. Each command imports its own parts, since it takes a second to load all parts.
import { randomInt } from "node:crypto";
import { helpOf } from "./cli/help.ts";
import { OptionsError, readOptions } from "./cli/options.ts";
import { CannotRun } from "./cli/probe.ts";
import { isSubcommand, runSubcommand, unknownCommand } from "./cli/subcommands.ts";
import { NoDredd } from "./contract/dredd.ts";
import { NoPrism } from "./contract/prism.ts";
import { complain, print } from "./report/print.ts";

/** The time limit of `certify doctor`, including the start of the process. */
const examinationMs = 9500;

const newSeed = () => randomInt(2 ** 31);

async function subcommand(name: Parameters<typeof runSubcommand>[0], args: readonly string[]): Promise<number> {
  const { exitCode, text } = await runSubcommand(name, [...args], new Date());
  (exitCode === 2 ? complain : print)(text.replace(/\n$/, ""));
  return exitCode;
}

async function examine(args: readonly string[]): Promise<number> {
  const options = readOptions(args, process.env, () => 1);
  // `performance.now()` counts from the start of the process.
  const overdue = AbortSignal.timeout(Math.max(0, examinationMs - Math.round(performance.now())));
  const { doctor } = await import("./cli/doctor.ts");
  const { exitCode, text } = await doctor(options, overdue);
  print(text.replace(/\n$/, ""));
  return exitCode;
}

async function initialise(args: readonly string[]): Promise<number> {
  const { init } = await import("./cli/init.ts");
  await init(args, process.env, newSeed, print);
  return 0;
}

/** The commands that run programs or send requests, by name. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  doctor: examine,
  init: initialise,
  client: async (args) => (await import("./programs/client/command.ts")).certifyClient(args, newSeed),
  receiver: async (args) => (await import("./programs/receiver/command.ts")).certifyReceiver(args, newSeed),
};

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (args.includes("--help") || args.includes("-h")) {
    print(await helpOf(name));
    return 0;
  }
  try {
    const command = Object.hasOwn(commands, name ?? "") ? commands[name!] : undefined;
    if (command) return await command(rest);
    if (isSubcommand(name)) return await subcommand(name, rest);
    if (name !== undefined && /^\w/.test(name)) throw new OptionsError([unknownCommand(name, Object.keys(commands))]);
    return await (await import("./cli/certify-service.ts")).certifyService(args, newSeed);
  } catch (error) {
    if (error instanceof OptionsError) complain(`${error.faults.join("\n")}\n\nRun with --help to see every option.`);
    else if ([CannotRun, NoDredd, NoPrism].some((known) => error instanceof known)) complain((error as Error).message);
    else complain(error);
    return 2;
  }
}

// Ignore write errors: if a reader such as `| head` closes the pipe, the run must still write its report.
process.stdout.on("error", () => undefined);
process.exitCode = await main(process.argv.slice(2));
