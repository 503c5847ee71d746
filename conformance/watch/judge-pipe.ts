// The forwarding process's end of the pipe to its judge. It copies what passes and never waits: beyond a bound, and while
// no judge runs, traffic is not told, and the judge learns later that it missed something.
import { spawn, type ChildProcess } from "node:child_process";
import { constants, setPriority } from "node:os";
import { extname, join } from "node:path";
import { CannotRun } from "../results.ts";
import { headerBytes, writeFrame, type FrameKind } from "./frames.ts";

/** The largest number of bytes that wait for the judge. */
const mostWaiting = 64 * 1024 * 1024;
/** Frames are sent together, so that the judge wakes up rarely. A socket reads at most 64 KB at once. */
const batchBytes = 256 * 1024;
const batchMs = 20;
const longestPauseMs = 60_000;

const fellBehind = "parts of connections: the judge fell behind";
const wasRestarted = "parts of connections: the judge ended and was started again";
const findingsLost = "connections of which a judge that ended had told nothing yet";

/** What is told of one connection. */
export type Told = { sent(chunk: Buffer): void; received(chunk: Buffer): void; ended(): void; closed(): void };

/** Which connections a forward serves: callers to the service, or the service to a receiver of webhooks. */
export type Role = "service" | "webhooks";

export type JudgePipe = {
  /** @param close closes the connection, if it is idle while the forward stops */
  open(role: Role, close: () => void): Told;
  /** Asks to close connections as soon as the judge finds them idle. */
  drain(): void;
  /** Lets the judge finish. Returns its exit code, 2 if it fails. */
  end(): Promise<number>;
  /** Ends the judge at once. */
  kill(): void;
};

type Connection = {
  id: number;
  role: Role;
  close: () => void;
  /** True if the judge that runs has been told of the connection. */
  isKnown: boolean;
  /** Why bytes were not told, until the judge knows it. */
  gap?: string;
  /** The number of chunks that were told since the connection opened, or since the last gap. */
  told: number;
};

const program = join(import.meta.dirname, `judge-process${extname(import.meta.filename)}`);
const empty = Buffer.alloc(0);

/**
 * Starts the judge in a process of its own, and starts it again whenever it ends.
 * @param settings what the judge is told at its start, as JSON
 * @param command the program, and its arguments before the settings
 * @throws CannotRun if the first judge ends before it is ready
 */
export async function startJudge(
  settings: object,
  complain: (problem: string) => void,
  command: readonly [string, ...string[]] = [process.execPath, program],
): Promise<JudgePipe> {
  const connections = new Map<number, Connection>();
  /** What no frame told, by reason. */
  const missed = new Map<string, number>();
  const batch = Buffer.allocUnsafeSlow(batchBytes);
  let filled = 0;
  let flushing: NodeJS.Timeout | undefined;
  let judge: ChildProcess | undefined;
  let restarting: NodeJS.Timeout | undefined;
  let pauseMs = 0;
  let lastId = 0;
  /** The number of connections that the judge was told of. */
  let known = 0;
  let isDraining = false;
  /** True if a judge was ready once. */
  let isProven = false;
  let ended: ((exitCode: number) => void) | undefined;

  const miss = (reason: string, count = 1) => void missed.set(reason, (missed.get(reason) ?? 0) + count);

  function flush(): void {
    clearTimeout(flushing);
    flushing = undefined;
    // The batch is used again.
    if (filled > 0) judge?.stdin?.write(Buffer.from(batch.subarray(0, filled)));
    filled = 0;
  }

  /** @param mustFit false for the few frames that end what the judge knows. Returns false if the frame is not told */
  function put(kind: FrameKind, connection: number, content: Buffer, mustFit = true): boolean {
    if (!judge?.stdin) return false;
    const size = headerBytes + content.length;
    if (mustFit && judge.stdin.writableLength + filled + size > mostWaiting) return false;
    if (filled + size > batch.length) flush();
    filled = writeFrame(batch, filled, { kind, connection, at: Date.now(), content });
    flushing ??= setTimeout(flush, batchMs);
    return true;
  }

  /** Tells what was missed, as far as there is room. */
  function catchUp(mustFit = true): void {
    for (const [reason, count] of missed)
      if (put("missed", 0, Buffer.from(JSON.stringify({ reason, count })), mustFit)) missed.delete(reason);
  }

  function introduce(connection: Connection, mustFit = true): boolean {
    const { id, role, gap } = connection;
    const kind = gap === undefined ? "opened" : "gap";
    if (!put(role === "service" ? kind : `${kind}-webhooks`, id, Buffer.from(gap ?? ""), mustFit)) return false;
    if (!connection.isKnown) known += 1;
    connection.isKnown = true;
    connection.told = 0;
    delete connection.gap;
    return true;
  }

  function tell(connection: Connection, kind: FrameKind, content: Buffer): void {
    if (missed.size > 0) catchUp();
    if ((!connection.isKnown || connection.gap !== undefined) && !introduce(connection)) connection.gap ??= fellBehind;
    else if (put(kind, connection.id, content)) connection.told += 1;
    else connection.gap = fellBehind;
  }

  function close(connection: Connection): void {
    connections.delete(connection.id);
    if (connection.isKnown && connection.gap !== undefined) introduce(connection, false);
    if (connection.isKnown) put("closed", connection.id, empty, false);
    else if (connection.gap !== undefined) miss(connection.gap);
  }

  function run(): Promise<void> {
    const [file, ...before] = command;
    const child = spawn(file, [...before, JSON.stringify(settings)], { stdio: ["pipe", "inherit", "inherit", "ipc"] });
    const startedAt = performance.now();
    judge = child;
    try {
      // At once, so that its threads have it too: the forward goes first on a busy machine.
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {}
    child.stdin?.on("error", () => undefined);
    if (isDraining) put("drain", 0, empty, false);
    return new Promise((resolve, reject) => {
      child.on("message", (message: { ready: true } | { idle: number; told: number }) => {
        if ("ready" in message) {
          isProven = true;
          return resolve();
        }
        const connection = connections.get(message.idle);
        // What passed since then may be a request.
        if (connection?.told === message.told && connection.gap === undefined) connection.close();
      });
      const over = (why: string, exitCode: number | null) => {
        if (judge !== child) return;
        judge = undefined;
        filled = 0;
        if (ended) {
          if (exitCode === null) complain(`The judge ended before its report was written (${why}).`);
          return ended(exitCode ?? 2);
        }
        if (!isProven) return reject(new CannotRun("The judge did not start, so nothing is forwarded."));
        const isRecent = performance.now() - startedAt < longestPauseMs;
        pauseMs = isRecent ? Math.min(longestPauseMs, pauseMs * 2 || 1000) : 0;
        complain(`The judge ended (${why}) and is started again. Traffic is forwarded meanwhile, and not judged.`);
        if (known > 0) miss(findingsLost, known);
        known = 0;
        for (const connection of connections.values())
          Object.assign(connection, { isKnown: false, gap: wasRestarted, told: 0 });
        restarting = setTimeout(() => void run().catch(() => undefined), pauseMs);
      };
      child.on("error", (error) => over(error.message, null));
      child.on("exit", (code, signal) => over(signal ?? `exit code ${code}`, code));
    });
  }

  await run();
  return {
    open(role, closeConnection) {
      lastId = (lastId + 1) % 2 ** 32;
      const connection: Connection = { id: lastId, role, close: closeConnection, isKnown: false, told: 0 };
      connections.set(lastId, connection);
      if (!introduce(connection)) connection.gap = fellBehind;
      return {
        sent: (chunk) => tell(connection, "sent", chunk),
        received: (chunk) => tell(connection, "received", chunk),
        ended: () => tell(connection, "ended", empty),
        closed: () => close(connection),
      };
    },
    drain() {
      isDraining = true;
      put("drain", 0, empty, false);
      flush();
    },
    end() {
      clearTimeout(restarting);
      if (!judge) void run().catch(() => undefined);
      catchUp(false);
      flush();
      judge?.stdin?.end();
      return new Promise((resolve) => {
        ended = resolve;
      });
    },
    kill: () => void judge?.kill("SIGKILL"),
  };
}
