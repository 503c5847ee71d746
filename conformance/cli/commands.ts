// The commands of `certify`. Each loads its own parts when it runs, since it takes a second to load all parts.
import { publicKeyFile, writeKeyPair } from "../certificate/keys.ts";
import { compareReports } from "../report/diff.ts";
import { readReport } from "../report/json.ts";
import { didYouMean, helpOf, OptionsError, readFlags, refuse, type CommandResult } from "./flags.ts";
import { serviceGroups } from "./options.ts";
import { verify, verifyOptions } from "./verify.ts";

/** What a command gets from the process. */
export type Surroundings = { env: NodeJS.ProcessEnv; now: Date; newSeed: () => number };

type Command = {
  /** The arguments, as the usage line shows them. */
  usage: string;
  meaning: string;
  /** Returns what --help says about the command's own options. */
  details?: () => Promise<string>;
  run(args: readonly string[], surroundings: Surroundings): Promise<CommandResult>;
};

/** The time limit of `certify doctor`, including the start of the process. */
const examinationMs = 9500;

/** Returns the arguments of a command that has no options. */
function argumentsIn(args: readonly string[], count: number, noun?: string): string[] {
  const { positionals, faults } = readFlags(args, {}, count, noun);
  refuse(faults);
  return positionals;
}

const asForRun = async () => "The options are those of a run: see certify --help.";

export const commands: Readonly<Record<string, Command>> = {
  doctor: {
    usage: "--base-url URL [options]",
    meaning: "examine address, keys, clock and webhooks for a run with these options; creates nothing",
    details: asForRun,
    async run(args, { env }) {
      // `performance.now()` counts from the start of the process.
      const overdue = AbortSignal.timeout(Math.max(0, examinationMs - Math.round(performance.now())));
      const [{ readOptions }, { doctor }] = await Promise.all([import("./options.ts"), import("./doctor.ts")]);
      return doctor(
        readOptions(args, env, () => 1),
        overdue,
      );
    },
  },
  init: {
    usage: "--base-url URL [options] [--output FILE]",
    meaning:
      "write the limits of the target to FILE (default: ./certify.yaml) for --declare; finds them with payouts, so only " +
      "with --effects money; never overwrites a file",
    details: asForRun,
    async run(args, { env, newSeed }) {
      await (await import("./init.ts")).init(args, env, newSeed);
      return { exitCode: 0, text: "" };
    },
  },
  client: {
    usage: "--command CMD [options]",
    meaning: "judge a program that pays",
    details: async () => (await import("../programs/client/command.ts")).clientHelp,
    run: async (args, { newSeed }) => ({
      exitCode: await (await import("../programs/client/command.ts")).certifyClient(args, newSeed),
      text: "",
    }),
  },
  receiver: {
    usage: "--url URL --effects-url URL [options]",
    meaning: "judge a program that receives webhooks",
    details: async () => (await import("../programs/receiver/command.ts")).receiverHelp,
    run: async (args, { newSeed }) => ({
      exitCode: await (await import("../programs/receiver/command.ts")).certifyReceiver(args, newSeed),
      text: "",
    }),
  },
  watch: {
    usage: "--target URL --listen HOST:PORT | --har FILE | --exchanges FILE [options]",
    meaning:
      "judge a service by the traffic that it has anyway: forwarded, or recorded by a browser, a proxy or a gateway. It " +
      "sends nothing of its own, changes nothing and keeps nothing personal",
    details: async () => helpOf((await import("../watch/command.ts")).watchOptions),
    run: async (args) => ({ exitCode: await (await import("../watch/command.ts")).watch(args), text: "" }),
  },
  list: {
    usage: "[--profile core|extended|client|receiver]",
    meaning: "list the requirements",
    run: async (args) => (await import("./catalogue.ts")).list(args),
  },
  explain: {
    usage: "ID",
    meaning:
      "what a requirement says, how it is checked, and how to check only it; the same for a scenario of a client or receiver",
    run: async (args) => (await import("./catalogue.ts")).explain(argumentsIn(args, 1, "id")[0]!),
  },
  keygen: {
    usage: "FILE",
    meaning: "create a signing key in FILE (mode 0600) and its public key in FILE.pub",
    async run(args) {
      const [file = ""] = argumentsIn(args, 1);
      writeKeyPair(file);
      const text =
        `Private key: ${file}. Keep it secret, and sign with \`certify --sign ${file}\`.\n` +
        `Public key: ${publicKeyFile(file)}. Give it to everyone who verifies your certificates.\n`;
      return { exitCode: 0, text };
    },
  },
  verify: {
    usage: "CERTIFICATE --key FILE.pub [options]",
    meaning: "verify a certificate offline; each option says what it must state",
    details: async () => helpOf(verifyOptions),
    run: (args, { now }) => verify(args, now),
  },
  rejudge: {
    usage: "FOLDER",
    meaning: "judge the run of a report again, offline, from its exchanges.jsonl.gz",
    run: async (args) => (await import("./rejudge.ts")).rejudge(argumentsIn(args, 1, "folder")[0]!),
  },
  diff: {
    usage: "A.json B.json",
    meaning: "compare two reports",
    async run(args) {
      const [a, b] = argumentsIn(args, 2).map(readReport);
      const { differences, text } = compareReports(a!, b!);
      return { exitCode: differences === 0 ? 0 : 1, text };
    },
  },
  history: {
    usage: "FOLDER",
    meaning:
      "show how the verdicts in the reports in FOLDER and below changed over time, and which requirements flicker",
    run: async (args) => ({
      exitCode: 0,
      text: (await import("../report/history.ts")).historyOf(argumentsIn(args, 1, "folder")[0]!),
    }),
  },
};

/** Returns the command with a name; undefined if the command line starts with an option or is empty. */
export function commandOf(name: string | undefined): Command | undefined {
  if (name === undefined || !/^\w/.test(name)) return undefined;
  if (Object.hasOwn(commands, name)) return commands[name];
  throw new OptionsError(`There is no command ${JSON.stringify(name)}.${didYouMean(name, Object.keys(commands))}`);
}

/** Returns the usage line of a command; without a name, that of a run. */
export const usageOf = (name: string | undefined) =>
  name !== undefined && Object.hasOwn(commands, name)
    ? `Usage: certify ${name} ${commands[name]!.usage}`
    : "Usage: certify --base-url URL [options]";

/** Returns the text of `--help` for a command; without a name, for a run. */
export async function fullHelp(name: string | undefined): Promise<string> {
  if (name !== undefined && Object.hasOwn(commands, name)) {
    const { meaning, details } = commands[name]!;
    return [usageOf(name), meaning, ...(details ? [await details()] : [])].join("\n\n");
  }
  const groups = Object.entries(serviceGroups).map(([title, options]) => `${title}:\n${helpOf(options)}`);
  const all = Object.entries(commands).map(
    ([each, { usage, meaning }]) => `  certify ${each} ${usage}\n      ${meaning}`,
  );
  return [
    usageOf(undefined),
    ...groups,
    `Commands:\n${all.join("\n")}`,
    "Environment:\n  API_KEY, API_KEY_2            the API keys of the merchant and of a second merchant\n  WEBHOOK_SECRET                the secret that signs the merchant's webhooks",
  ].join("\n\n");
}
