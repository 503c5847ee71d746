// Runs a command of the table: checks what it was given, opens what it works on, and prints what it says.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { stringify } from "yaml";
import { readConfig, type Config } from "../config.ts";
import { describeChanges, noteChanges, truthful, type Change } from "../domain/changes.ts";
import { createSystemClock, type Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import { createIds } from "../domain/ids.ts";
import type { Merchant, MerchantContext } from "../domain/merchants.ts";
import type { Page } from "../domain/pages.ts";
import { timestamp } from "../domain/representation.ts";
import type { Storage } from "../domain/storage.ts";
import { createWebhooks, type Webhooks } from "../domain/webhooks.ts";
import { formatAmount } from "../http/pages/formats.ts";
import { listView } from "../http/views.ts";
import { operator } from "../operator.ts";
import { modeOfServer } from "../storage/mode.ts";
import { databaseAt, openStorage } from "../storage/open.ts";
import { connectToServer } from "../storage/socket.ts";
import { english } from "../texts/index.ts";
import {
  FailedAfterChange,
  parseCommand,
  PROGRAM,
  UsageError,
  usageOf,
  printableJson,
  printableLines,
  type Input,
  type Printer,
  type Syntax,
} from "./command.ts";

/** What every command gets. A command about the database as a whole opens the database itself. */
export interface DatabaseContext {
  config: Config;
  env: NodeJS.ProcessEnv;
  clock: Clock;
}

/** What a command on an open storage gets, which may be the storage of a running server. */
export interface Context extends DatabaseContext, MerchantContext {
  storage: Storage;
  webhooks: Webhooks;
}

/**
 * What a command says: a text, or a value that is printed as YAML, or with `--json` as JSON. With `isWrong` a check has
 * found something, and the exit code is 1.
 */
type Output = string | object;

/** A command of the table. */
interface Entry<Takes extends string, Gets> extends Syntax {
  takes: Takes;
  /** True if the command may create the database. Other commands expect an existing database. */
  creates?: boolean;
  /** True if the command does not connect to a PostgreSQL database: it prints which programs to use instead. */
  onlyAdvises?: boolean;
  run(context: Gets, input: Input<Takes>): Promise<Output>;
}
export type Command = Entry<string, never> & { opensStorage: boolean };

/** A command on an open storage. */
export const command = <const Takes extends string>(entry: Entry<Takes, Context>): Command => ({
  ...(entry as Entry<string, never>),
  opensStorage: true,
});

/** A command about the database as a whole. */
export const databaseCommand = <const Takes extends string>(entry: Entry<Takes, DatabaseContext>): Command => ({
  ...(entry as Entry<string, never>),
  opensStorage: false,
});

/** A page of a list. @param view what is printed of an item */
export const listing = <T, V = T>(page: Page<T>, view = (item: T) => item as unknown as V) => listView(page, view);

/** @throws UsageError unless the caller has confirmed what the command would do */
export function requireYes({ yes }: { yes?: true }, would: string): void {
  if (!yes) throw new UsageError(`${would} Nothing was done; add --yes to do it.`);
}

/** Returns a group of commands that run on the database that DATABASE_URL selects. */
export function commandGroup(group: string, commands: Readonly<Record<string, Command>>) {
  /** Runs a command and prints its result. Resolves with the exit code. */
  async function run(argv: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<0 | 1> {
    const { command: chosen, input } = parseCommand(group, commands, argv);
    const asked = readConfig(env);
    await requireDatabase(chosen, asked);
    const opensNothing = chosen.onlyAdvises && asked.database.kind === "postgres";
    const config = opensNothing ? asked : await inModeOfDatabase(asked, env);
    const changes: Change[] = [];
    const context = { config, env, clock: createSystemClock() };
    const work = () =>
      chosen.opensStorage ? onStorage(context, chosen, input) : chosen.run(context as never, input as never);
    const result = await noteChanges(changes, work).catch((error: unknown) => {
      throw withChanges(error, changes, chosen.takes.includes("[--id]") ? input.id : undefined);
    });
    printer.log(input.json ? printableJson(result, 2, inJson) : printableLines(textOf(result)));
    return typeof result === "object" && "isWrong" in result && result.isWrong ? 1 : 0;
  }
  return { run, commands, usage: ([name]: readonly string[]) => usageOf(group, commands, name) };
}

const inLine = (part: unknown) => stringify(part, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();

/** A value as YAML, with a line for each field and for each entry of a list. */
function textOf(value: Output): string {
  if (typeof value === "string") return value;
  const parts = Object.entries(JSON.parse(JSON.stringify(value, inText)) as object).flatMap(([name, part]) => {
    if (!Array.isArray(part) || part.length === 0) return [`${name}: ${inLine(part)}`];
    return [`${name}:`, ...part.map((each) => `  - ${inLine(each)}`)];
  });
  return parts.join("\n");
}

const MONEY = new Set(["amount", "fee", "balance", "available", "reserved"]);
/** People read amounts as on pages. */
function inText(this: { currency?: unknown }, name: string, value: unknown) {
  const { currency } = this;
  return MONEY.has(name) && typeof value === "number" && typeof currency === "string"
    ? formatAmount(value, currency, "en")
    : inJson(name, value);
}

/** Converts what JSON cannot have, and times, which are ISO 8601 as in responses of the API. */
const inJson = (name: string, value: unknown) => {
  if (typeof value === "bigint") return String(value);
  return typeof value === "number" && /(^at|At|Since|since|until)$/.test(name) ? timestamp(value) : value;
};

async function onStorage(shared: DatabaseContext, { run }: Command, input: Record<string, unknown>) {
  const { config, clock } = shared;
  const storage = await openStorage(config.database, { clock, server: false, secretKeys: config.secretKeys });
  try {
    const webhooks = createWebhooks({ storage, clock, random: randomBytes, attempt: storage.requestReplay });
    const ids = createIds(randomBytes, config.mode);
    const context: Context = { ...shared, storage, webhooks, ids, random: randomBytes, actor: operator("command") };
    const { merchant: id } = input;
    const merchant = typeof id === "string" && { merchant: await merchantOf(storage, id) };
    return await run(context as never, { ...input, ...merchant } as never);
  } finally {
    // What the command did is committed. An error now must not replace its output, such as a new key.
    await storage.close().catch(() => undefined);
  }
}

async function merchantOf(storage: Storage, id: string): Promise<Merchant> {
  const merchant = await storage.findMerchant(id);
  if (!merchant) throw new UsageError(`There is no merchant ${id}. Run \`${PROGRAM} keys merchants\` to list them.`);
  return merchant;
}

async function requireDatabase({ creates }: Command, { database }: Config): Promise<void> {
  if (creates || database.kind !== "sqlite" || existsSync(database.path)) return;
  // A server has the data of a file that was deleted meanwhile.
  if (await connectToServer(database.path)) return;
  throw new UsageError(`There is no database at ${database.path}. Start the server first, or fix DATABASE_URL.`);
}

/** Returns the error of a command as its caller must see it. @param id with which the command can be repeated */
function withChanges(error: unknown, changes: readonly Change[], id: unknown): unknown {
  const repeat = id === undefined ? "" : ` To repeat the command, add --id ${String(id)}: it then takes effect once.`;
  const see = `See \`${PROGRAM} keys audit\` before you repeat it.${repeat}`;
  if (changes.length > 0)
    return new FailedAfterChange(`${(error as Error).message} ${describeChanges(changes, english)} ${see}`, {
      cause: error,
    });
  return error instanceof ServiceError ? truthful(error, changes, see, english) : error;
}

/**
 * Returns the configuration in the mode of the database, if it has one.
 * @throws StorageError if SANDBOX asks for the other mode
 */
async function inModeOfDatabase(asked: Config, env: NodeJS.ProcessEnv): Promise<Config> {
  const stored = await databaseAt(asked.database).readMode();
  if (asked.mode !== "unset") modeOfServer(stored, asked.mode);
  const { mode } = stored;
  return mode === undefined ? asked : readConfig({ ...env, SANDBOX: String(mode === "sandbox") });
}
