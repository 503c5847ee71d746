import { createHash, randomUUID } from "node:crypto";
import { constants, link, open, readFile, unlink, writeFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import { UsageError } from "../errors.ts";
import { ignore } from "../options.ts";
import type { Journal, JournaledPayout, JournalEntry } from "./payroll.ts";
import type { DisbursementRequest } from "../types.ts";

type Entry = JournalEntry & { hash: string };
/**
 * A line of the file. With `hash`, the payout is about to be sent; with `reference` alone, nothing was recorded for it.
 */
type Line = { reference: string; hash?: string } | { payout: JournaledPayout } | { service: string };

/** What a journal knows from earlier runs. */
interface Content {
  entries: Map<string, Entry>;
  /** The URL of the service. */
  service?: string | undefined;
}

const header = '{"journal":"@disbursement-checkout/client","version":1}\n';

/**
 * A journal in a file, for Node. The file is created if it does not exist, readable by its owner only. Delete it when the
 * payroll is done.
 *
 * It contains references, amounts, fees and statuses. Instead of the recipient it has a hash. Someone who can read the file
 * could find a phone number by trying all numbers, so treat the file like the payroll itself. The file does not contain
 * the API key.
 *
 * While a run uses the file, `path.lock` keeps other runs out. The lock of a run that was killed is ignored.
 */
export function fileJournal(path: string): Journal {
  const file = resolve(path);
  let opened: Promise<OpenJournal> | undefined;
  const use = () => (opened ??= openJournal(file));
  return {
    before: async (...args) => (await use()).before(...args),
    after: async (request, payout) =>
      (await use()).append(payout ? { payout: summaryOf(payout) } : { reference: request.reference }),
    async close() {
      const closing = opened;
      opened = undefined;
      await (await closing)?.close();
    },
  };
}

interface OpenJournal {
  before: Journal["before"];
  append(line: Line): Promise<void>;
  close(): Promise<void>;
}

async function openJournal(path: string): Promise<OpenJournal> {
  const content: Content = { entries: new Map() };
  const unlock = await lock(path);
  let file: FileHandle | undefined;
  const close = async () => {
    await file?.close();
    await unlock();
  };
  try {
    file = await openPrivately(path);
    await load(file, path, content);
    const append = createAppender(file);
    return { before: (...args) => before(path, content, append, ...args), append, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function before(
  path: string,
  content: Content,
  append: OpenJournal["append"],
  request: DisbursementRequest,
  service?: string,
): Promise<JournalEntry | undefined> {
  const known = content.entries;
  // If this write fails, the next write fails too and reports the error.
  if (service && !content.service) void append({ service: (content.service = service) }).catch(ignore);
  if (service && service !== content.service) {
    throw new UsageError(
      `${path} belongs to a payroll of ${content.service}. Use another journal for ${service}, or, if the service has ` +
        "moved there, replace the URL in the file.",
    );
  }
  const { reference } = request;
  const hash = hashOf(request);
  const entry = known.get(reference);
  if (!entry) {
    await append({ reference, hash });
    return undefined;
  }
  if (entry.hash !== hash) {
    throw new UsageError(
      `${path} has the reference "${reference}" with another amount, recipient, country or currency. ` +
        "It belongs to another payroll, or the entry was changed after it was sent.",
    );
  }
  // A run looks up each reference once, so the entry is no longer needed.
  known.delete(reference);
  return { payout: entry.payout };
}

/** Leaves out the recipient, which a recovered payout has. */
function summaryOf(payout: JournaledPayout): JournaledPayout {
  const { reference, merchantsReference, amount, fee, status, recovered } = payout;
  return { reference, merchantsReference, amount, fee, status, ...(recovered && { recovered }) };
}

/**
 * Writes a bigint, for which `JSON.stringify` would throw and end the run, as text. The create refuses such an amount
 * later, and then only that entry fails.
 */
const writable = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

function hashOf({ reference, amount, phoneNumber, country, currency }: DisbursementRequest): string {
  const text = JSON.stringify([reference, amount, phoneNumber, country, currency], writable);
  return createHash("sha256").update(text).digest("base64url");
}

/**
 * Returns a function that appends a line and resolves when the line is on disk. Lines that arrive while the disk is busy
 * share one flush. After a failure nothing more is written, because the file may end in the middle of a line.
 */
function createAppender(file: FileHandle): OpenJournal["append"] {
  let last: Promise<void> = Promise.resolve();
  let batch: { text: string; flushed: Promise<void> } | undefined;
  const flush = async () => {
    const { text } = batch!;
    batch = undefined;
    await file.appendFile(text);
    await file.datasync();
  };
  return (line) => {
    if (!batch) {
      last = last.then(flush);
      batch = { text: "", flushed: last };
    }
    batch.text += `${JSON.stringify(line)}\n`;
    return batch.flushed;
  };
}

/**
 * Reads the entries of a journal. Starts a new journal in an empty file, and removes a last line that is incomplete.
 */
async function load(file: FileHandle, path: string, content: Content) {
  let number = 0;
  let rest = "";
  // As latin1, each character of `rest` is one byte, so the length of `rest` is the number of bytes to remove.
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false, encoding: "latin1" })) {
    const lines = (rest + (chunk as string)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (number++ > 0) readLine(content, Buffer.from(line, "latin1").toString(), `${path}:${number}`);
      else if (`${line}\n` !== header) throw notAJournal(path);
    }
  }
  if (number === 0 && !header.startsWith(rest)) throw notAJournal(path);
  await file.truncate((await file.stat()).size - rest.length);
  if (number === 0) {
    await file.appendFile(header);
    await syncFolder(dirname(path));
  }
}

function notAJournal(path: string): UsageError {
  return new UsageError(`${path} exists and is not a journal of this client. It was not changed.`);
}

function readLine(content: Content, text: string, place: string) {
  const known = content.entries;
  try {
    const line = JSON.parse(text) as Partial<{ service: string; reference: string; hash: string }> & {
      payout?: JournaledPayout;
    };
    const { service, payout, hash } = line;
    if (service) return void (content.service = service);
    const { reference = payout!.merchantsReference } = line;
    if (payout) known.get(reference)!.payout = payout;
    else if (hash) known.set(reference, { hash });
    else known.delete(reference);
  } catch {
    throw new UsageError(
      `${place} is damaged. Restore the file from a copy, or run the payroll without a journal, which treats every ` +
        "entry as in doubt. Do not start a new journal: entries already paid could be reported as unpaid.",
    );
  }
}

/** Makes a new file survive a power failure. Windows cannot open folders and needs no flush. */
async function syncFolder(path: string) {
  const folder = await open(path).catch(() => undefined);
  await folder?.sync();
  await folder?.close();
}

/** Locks a journal and returns a function that unlocks it. */
async function lock(path: string): Promise<() => Promise<void>> {
  const file = `${path}.lock`;
  const own = `${process.pid}@${hostname()}@${await startOf(process.pid)}`;
  const temporary = `${file}.${randomUUID()}`;
  try {
    await writeFile(temporary, own, { mode: 0o600 });
    // Unlike a file that is created and then written, a link never leaves an empty lock behind.
    while (!(await succeeds(link(temporary, file), "EEXIST"))) await removeStale(file, temporary);
  } finally {
    await succeeds(unlink(temporary), "ENOENT");
  }
  return () => unlink(file);
}

/** Removes a lock whose process has ended. Throws if it may still run. */
async function removeStale(file: string, temporary: string) {
  const holder = await readFile(file, "utf8").catch(ignore);
  if (holder === undefined) return;
  // A power failure may leave an empty lock.
  if (holder && (await isRunning(holder))) throw inUse(holder, file);
  // One process at a time removes a stale lock: the lock that another process has taken meanwhile must stay.
  const guard = `${file}.stale`;
  if (!(await succeeds(link(temporary, guard), "EEXIST"))) {
    const remover = await readFile(guard, "utf8").catch(ignore);
    if (remover === undefined) return;
    throw inUse(remover, guard);
  }
  if ((await readFile(file, "utf8").catch(ignore)) === holder) await unlink(file);
  await unlink(guard);
}

function inUse(holder: string, file: string): UsageError {
  const [pid, host] = holder.split("@");
  return new UsageError(`Another run uses this journal: process ${pid} of ${host}. If it has ended, delete ${file}.`);
}

async function isRunning(holder: string): Promise<boolean> {
  const [pid, host, started] = holder.split("@");
  if (host !== hostname()) return true;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
  // In a container, a later process often has the id of an earlier one.
  return (await startOf(Number(pid))) === started;
}

/** When a process started, in clock ticks since the boot, or "undefined": it has ended, or this is not Linux. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`).catch(ignore);
  // A killed process keeps its id, with state Z (zombie), until its parent reaps it; in many containers the parent
  // never does. The program's name, before the state, may itself contain a parenthesis.
  return `${/\) [^Z](?: [-\d]+){18} (\d+) |$/.exec(`${stat}`)![1]}`;
}

/** Returns false if the operation fails with `code`. Throws its other errors. */
async function succeeds(operation: Promise<void>, code: string): Promise<boolean> {
  try {
    await operation;
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false;
    throw error;
  }
}

/** Opens a file for its owner only, without following a symbolic link that another user may have put there. */
async function openPrivately(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_RDWR } = constants;
  const file = await open(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === "ELOOP"
        ? new UsageError(`${path} is a symbolic link. Name the file that it leads to, or remove it.`)
        : error;
    },
  );
  if (((await file.stat()).mode & 0o077) !== 0) {
    await file.chmod(0o600).catch(async () => {
      await file.close();
      throw new UsageError(`Other users of this machine have access to ${path}. As its owner, run: chmod 600 ${path}`);
    });
  }
  return file;
}
