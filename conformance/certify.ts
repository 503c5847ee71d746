// The entry point. The exit code is 0 if everything selected passed, 1 if something failed, and 2 if the suite could not
// do its work.
import { randomInt } from "node:crypto";
import { commandOf, fullHelp, usageOf } from "./cli/commands.ts";
import { isFileError, OptionsError } from "./cli/flags.ts";
import { complain, print } from "./report/visible.ts";
import { CannotRun } from "./results.ts";

const newSeed = () => randomInt(2 ** 31);

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  try {
    if (args.includes("--help") || args.includes("-h")) {
      print(await fullHelp(name));
      return 0;
    }
    const command = commandOf(name);
    if (!command) return await (await import("./cli/certify-service.ts")).certifyService(args, newSeed);
    const { exitCode, text } = await command.run(rest, { env: process.env, now: new Date(), newSeed });
    if (text !== "") print(text.replace(/\n$/, ""));
    return exitCode;
  } catch (error) {
    if (error instanceof OptionsError)
      complain(`${error.message}\n\n${usageOf(name)}. Run with --help to see every option.`);
    else complain(error instanceof CannotRun || isFileError(error) ? error.message : error);
    return 2;
  }
}

// Ignore write errors: if a reader such as `| head` closes the pipe, the run must still write its report.
process.stdout.on("error", () => undefined);
process.exitCode = await main(process.argv.slice(2));
