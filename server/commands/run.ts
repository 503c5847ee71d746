// Runs a command of the table: checks what it was given, opens what it works on, and prints what it says.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { stringify } from "yaml";
import type { ActionContext } from "../actions/action.ts";
import { actionOf, readInput, type ActionName } from "../actions/index.ts";
import { readConfig, type Config } from "../config.ts";
import { describeChanges, noteChanges, truthful, type Change } from "../domain/changes.ts";
import { createSystemClock, type Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import { createIds } from "../domain/ids.ts";
import { modeOf } from "../domain/keys.ts";
import { readRailStates } from "../domain/handovers.ts";
import type { Merchant, MerchantContext } from "../domain/merchants.ts";
import type { Page } from "../domain/pages.ts";
import { listView, timestamp } from "../domain/representation.ts";
import type { Storage } from "../domain/storage.ts";
import { formatAmount } from "../http/pages/formats.ts";
import { operator } from "../operator.ts";
import { openStorage } from "../storage/open.ts";
import { connectToServer } from "../storage/socket.ts";
import { english, isTextId } from "../texts/index.ts";
import {
  FailedAfterChange,
  parseCommand,
  PROGRAM,
  UsageError,
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
}

/**
 * What a command says: a text, or a value that is printed as YAML, or with `--json` as JSON. With `isWrong` a check has
 * found something, and the exit code is 1. A command that runs for long prints as it goes, and returns nothing.
 */
type Output = string | object | void;

/** What a command does, in one of four ways. `In` is its input. */
interface Entry<In> {
  /** By default, what the form of the action says. */
  summary?: string;
  /** Works on an open storage. */
  run?(context: Context, input: In): Promise<Output>;
  /** Works on the database as a whole. */
  runOnDatabase?(context: DatabaseContext, input: In): Promise<Output>;
  /** Works at a sandbox that is running, here or elsewhere. */
  runAtSandbox?(context: { env: NodeJS.ProcessEnv; printer: Printer }, input: In): Promise<Output>;
  /** Does what a form of the dashboard does, with its checks and refusals. With `[--yes]`, only if this is given. */
  action?: ActionName;
  /** The form's inputs and the parameters of its path; by default they are the command's. */
  sends?(input: In): object;
  /** What is said after the action; by default `Done.` */
  says?(result: unknown, input: In, context: Context): Output | Promise<Output>;
  /** True if the command may create the database. Other commands expect an existing database. */
  creates?: boolean;
}
export type Command = Omit<Entry<any>, "summary"> & Syntax;
type TakesOf<Line> = Line extends `${string} ${infer Takes}` ? Takes : "";

/** A table of commands, by the line that people type: a name, arguments and options, as in `Syntax`. */
export const commands = <const Line extends string>(table: { readonly [L in Line]: Entry<Input<TakesOf<L>>> }) =>
  Object.fromEntries(
    Object.entries<Entry<any>>(table).map(([line, entry]): [string, Command] => {
      const [name = "", ...takes] = line.split(" ");
      const { summary = summaryOf(entry.action!) } = entry;
      return [name, { ...entry, summary, takes: takes.join(" ") }];
    }),
  );

function summaryOf(action: ActionName): string {
  const hint = `${action}.hint`;
  return `${english(action)}. ${isTextId(hint) ? english(hint as "key.revoke.hint") : ""}`.trim();
}

async function act(context: Context, name: ActionName, command: Command, input: Record<string, any>): Promise<Output> {
  const { sends = (given: object) => given, says = () => "Done." } = command;
  const merchant = await ownerOf(context.storage, input);
  if (command.takes.includes("[--yes]")) requireYes(input, `${merchant?.name}: ${command.summary}`);
  const params = sends(input) as Record<string, string>;
  const names = input.rail === undefined ? [] : (await railStates(context)).map(({ rail }) => rail);
  if (input.rail !== undefined && !names.includes(input.rail))
    throw new UsageError(
      `There is no rail ${input.rail}. Known: ${names.join(", ") || "none"}. Set RAIL_URL or RAILS as for the server.`,
    );
  // The actions of commands need no other part of the context.
  const acting = { ...context, rails: { names } } as unknown as ActionContext;
  const doer = { context: acting, actor: context.actor, merchant: merchant as Merchant, params };
  return says(await actionOf(name).run(doer as never, readInput(name, params) as never), input, context);
}

/** The rails of the configuration, and those that payments or a pause name. */
export const railStates = ({ storage, config }: Context) =>
  readRailStates(storage, config.rails?.rails.map(({ name }) => name) ?? []);

/** The merchant that the arguments name, or to which the key or the payment belongs. */
async function ownerOf(storage: Storage, { merchant, key: keyId, reference }: Record<string, any>) {
  if (merchant !== undefined) return merchant as Merchant;
  if (keyId !== undefined) {
    const key = (await storage.listKeys()).find(({ id }) => id === keyId);
    if (key) return storage.findMerchant(key.merchantId);
    throw new UsageError(`There is no key ${keyId}. Run \`${PROGRAM} keys list\` to list them.`);
  }
  return reference === undefined ? undefined : storage.findMerchant((await paymentOf(storage, reference)).merchantId);
}

/** @throws UsageError if no rail has the payment */
export async function paymentOf(storage: Storage, reference: string) {
  const payment = await storage.findHandover(reference);
  if (payment) return payment;
  throw new UsageError(
    `There is no payment ${reference} on a rail. REFERENCE is the service's, which begins with DSB or CHK; the dashboard finds payments by the merchant's reference.`,
  );
}

/** A page of a list. @param view what is printed of an item */
export const listing = <T, V = T>(page: Page<T>, view = (item: T) => item as unknown as V) => listView(page, view);

/** @throws UsageError unless the caller has confirmed what the command would do */
export function requireYes({ yes }: { yes?: true }, would: string): void {
  if (!yes) throw new UsageError(`${would} Nothing was done; add --yes to do it.`);
}

/** Runs a command of a group and prints its result. Resolves with the exit code. */
export async function runCommand(
  group: string,
  table: Readonly<Record<string, Command>>,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  printer: Printer,
): Promise<0 | 1> {
  const { command: chosen, input } = parseCommand(group, table, words);
  const result = await (chosen.runAtSandbox
    ? chosen.runAtSandbox({ env, printer }, input)
    : onDatabase(chosen, input, env));
  if (result === undefined) return 0;
  printer.log(input.json ? printableJson(result, 2, inJson) : printableLines(textOf(result)));
  return typeof result === "object" && "isWrong" in result && result.isWrong ? 1 : 0;
}

/** Runs a command on the database that DATABASE_URL selects. */
async function onDatabase(chosen: Command, input: Record<string, unknown>, env: NodeJS.ProcessEnv): Promise<Output> {
  const config = readConfig(env);
  await requireDatabase(chosen, config);
  const changes: Change[] = [];
  const context = { config, env, clock: createSystemClock() };
  const work = () => (chosen.runOnDatabase ? chosen.runOnDatabase(context, input) : onStorage(context, chosen, input));
  return noteChanges(changes, work).catch((error: unknown) => {
    throw withChanges(error, changes, chosen.takes.includes("[--id]") ? input.id : undefined);
  });
}

const inLine = (part: unknown) => stringify(part, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();

/** A value as YAML, with a line for each field and for each entry of a list. */
function textOf(value: string | object): string {
  if (typeof value === "string") return value;
  const parts = Object.entries(JSON.parse(JSON.stringify(inText("", value))) as object).flatMap(([name, part]) => {
    if (!Array.isArray(part) || part.length === 0) return [`${name}: ${inLine(part)}`];
    return [`${name}:`, ...part.map((each) => `  - ${inLine(each)}`)];
  });
  return parts.join("\n");
}

const MONEY = new Set(["amount", "fee", "railFee", "balance", "available", "reserved"]);
/** Converts a value for people, who read amounts as on pages. @param currency of the object around the value */
function inText(name: string, value: unknown, currency?: string): unknown {
  if (Array.isArray(value)) return value.map((each) => inText(name, each, currency));
  if (typeof value === "object" && value !== null) {
    const own = "currency" in value && typeof value.currency === "string" ? value.currency : currency;
    return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, inText(field, part, own)]));
  }
  const isMoney = currency !== undefined && MONEY.has(name) && /^-?\d+$/.test(String(value));
  return isMoney ? formatAmount(BigInt(value as string), currency, "en") : inJson(name, value);
}

/** Converts what JSON cannot have, and times, which are ISO 8601 as in responses of the API. */
const inJson = (name: string, value: unknown) => {
  if (typeof value === "bigint") return String(value);
  return typeof value === "number" && /(^at|At|Since|since|until)$/.test(name) ? timestamp(value) : value;
};

async function onStorage(shared: DatabaseContext, chosen: Command, input: Record<string, unknown>) {
  const { clock, env } = shared;
  const { database, mode, secretKeys } = shared.config;
  const storage = await openStorage(database, { clock, server: false, mode, secretKeys });
  try {
    // Without SANDBOX, the mode is that of the database.
    const config = readConfig({ ...env, SANDBOX: String((await storage.readMode()) !== "live") });
    const ids = createIds(randomBytes, modeOf(config));
    const context: Context = { ...shared, config, storage, ids, random: randomBytes, actor: operator("command") };
    const { merchant: id } = input;
    const given = { ...input, ...(typeof id === "string" && { merchant: await merchantOf(storage, id) }) };
    return await (chosen.action ? act(context, chosen.action, chosen, given) : chosen.run!(context, given));
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
  // A running server still has the data of a deleted file.
  if (await connectToServer(database.path)) return;
  throw new UsageError(`There is no database at ${database.path}. Start the server first, or fix DATABASE_URL.`);
}

/** Returns the error of a command as its caller must see it. @param id makes a repeat of the command take effect once */
function withChanges(error: unknown, changes: readonly Change[], id: unknown): unknown {
  const repeat = id === undefined ? "" : ` To repeat the command, add --id ${String(id)}: it then takes effect once.`;
  const see = `See \`${PROGRAM} keys audit\` before you repeat it.${repeat}`;
  if (changes.length > 0)
    return new FailedAfterChange(`${(error as Error).message} ${describeChanges(changes, english)} ${see}`, {
      cause: error,
    });
  return error instanceof ServiceError ? truthful(error, changes, see, english) : error;
}
