// The forwarding process's end of the pipe to its judge (judge-process.ts). It copies what passes and never waits: beyond a
// bound, and while no judge runs, traffic is not told, and the judge learns later that it missed something.
import { fork, type ChildProcess } from "node:child_process";
import { constants, setPriority } from "node:os";
import { extname, join } from "node:path";
import { CannotRun } from "../results.ts";

/** Which connections a forward serves: callers to the service, or the service to a receiver of webhooks. */
export type Role = "service" | "webhooks";

/** What the judge is told. Times are in milliseconds since 1970. */
export type Frame =
  /** A new connection; with `gap`, one of which bytes are missing up to here, and why. The judge may know it already. */
  | { kind: "open"; id: number; role: Role; gap?: string }
  | { kind: "sent" | "received"; id: number; at: number; chunk: Buffer }
  /** The other side sends no more, or the connection is over. */
  | { kind: "ended" | "closed"; id: number; at: number }
  | { kind: "missed"; reason: string; count: number }
  /** The forward stops: from now on the judge tells which connections are idle. */
  | { kind: "drain" }
  | { kind: "end" };

/** What the judge tells: that it has started, or that all `told` chunks of a connection have been responded to. */
export type Reply = { kind: "ready" } | { kind: "idle"; id: number; told: number };

/** What is told of one connection. */
export type Told = { sent(chunk: Buffer): void; received(chunk: Buffer): void; ended(): void; closed(): void };

type Connection = {
  id: number;
  role: Role;
  /** Closes the connection, if it is idle while the forward stops. */
  close: () => void;
  /** True if the judge that runs has been told of the connection. */
  isKnown: boolean;
  /** Why bytes were not told, until the judge knows it. */
  gap?: string;
  /** The number of chunks that were told since the connection opened, or since the last gap. */
  told: number;
};

/** The largest number of bytes that wait for the judge. */
const mostWaiting = 64 * 1024 * 1024;
/** What a frame takes besides its chunk, in bytes. */
const frameBytes = 100;
/** Frames are sent together, so that the judge wakes up rarely. */
const batchBytes = 256 * 1024;
const batchMs = 20;
const restartMs = 1000;

const fellBehind = "parts of connections: the judge fell behind";
const wasRestarted = "parts of connections: the judge ended and was started again";
const findingsLost = "connections that were judged by a judge that ended: its findings are lost";

const program = join(import.meta.dirname, `judge-process${extname(import.meta.filename)}`);

/**
 * Starts the judge in a process of its own, and starts it again whenever it ends.
 * @throws CannotRun if the first judge ends before it is ready
 */
export async function startJudge(settings: object, say: (text: string) => void) {
  const connections = new Map<number, Connection>();
  /** What no frame told, by reason. */
  const missed = new Map<string, number>();
  let batch: Frame[] = [];
  let filled = 0;
  let waiting = 0;
  let isBehind = false;
  let sending: NodeJS.Timeout | undefined;
  let judge: ChildProcess | undefined;
  let restarting: NodeJS.Timeout | undefined;
  let lastId = 0;
  /** The number of connections that the judge was told of. */
  let known = 0;
  let isDraining = false;
  let isProven = false;
  let ended: ((exitCode: number) => void) | undefined;

  function flush(): void {
    clearTimeout(sending);
    const [child, bytes] = [judge, filled];
    child?.send(batch, () => {
      if (child === judge) waiting -= bytes;
    });
    batch = [];
    filled = 0;
    sending = undefined;
  }

  /** @param mustFit false for the few frames that end what the judge knows. Returns false if the frame is not told */
  function put(frame: Frame, mustFit = true): boolean {
    const bytes = frameBytes + ("chunk" in frame ? frame.chunk.length : 0);
    // Half of what waits must be gone before the judge is told more, so that gaps are few.
    isBehind = waiting + bytes > (isBehind ? mostWaiting / 2 : mostWaiting);
    if (!judge?.connected || (mustFit && isBehind)) return false;
    waiting += bytes;
    filled += bytes;
    batch.push(frame);
    if (filled > batchBytes) flush();
    else sending ??= setTimeout(flush, batchMs);
    return true;
  }

  function introduce(connection: Connection, mustFit = true): boolean {
    const { id, role, gap, isKnown } = connection;
    if (!put({ kind: "open", id, role, ...(gap !== undefined && { gap }) }, mustFit)) return false;
    if (!isKnown) known += 1;
    connection.isKnown = true;
    connection.told = 0;
    delete connection.gap;
    return true;
  }

  function tell(connection: Connection, frame: Frame): void {
    for (const [reason, count] of missed) if (put({ kind: "missed", reason, count })) missed.delete(reason);
    const isIntroduced = (connection.isKnown && connection.gap === undefined) || introduce(connection);
    if (isIntroduced && put(frame)) connection.told += 1;
    else connection.gap ??= judge ? fellBehind : wasRestarted;
  }

  function close(connection: Connection): void {
    const { id, isKnown, gap } = connection;
    connections.delete(id);
    if (isKnown && gap !== undefined) introduce(connection, false);
    if (isKnown) put({ kind: "closed", id, at: Date.now() }, false);
    else if (gap !== undefined) missed.set(gap, (missed.get(gap) ?? 0) + 1);
  }

  function lost(why: string): void {
    say(`The judge ended (${why}) and is started again. Traffic is forwarded meanwhile, and not judged.`);
    if (known > 0) missed.set(findingsLost, (missed.get(findingsLost) ?? 0) + known);
    known = 0;
    for (const each of connections.values()) Object.assign(each, { isKnown: false, gap: wasRestarted });
    restarting = setTimeout(() => void run(), restartMs);
  }

  /** Resolves when the judge is ready, with false if it never was. */
  function run(): Promise<boolean> {
    const child = fork(program, [JSON.stringify(settings)], { serialization: "advanced", execArgv: [] });
    judge = child;
    batch = [];
    filled = waiting = 0;
    // At once, so that its threads have it too: the forward goes first on a busy machine.
    try {
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {}
    if (isDraining) put({ kind: "drain" }, false);
    return new Promise((resolve) => {
      child.on("message", (reply: Reply) => {
        if (reply.kind === "ready") {
          isProven = true;
          return resolve(true);
        }
        const connection = connections.get(reply.id);
        // What passed since then may be a request.
        if (connection?.told === reply.told && connection.gap === undefined) connection.close();
      });
      const over = (why: string, exitCode: number | null) => {
        if (judge !== child) return;
        judge = undefined;
        if (ended && exitCode === null) say(`The judge ended before its report was written (${why}).`);
        if (ended) ended(exitCode ?? 2);
        else if (isProven) lost(why);
        resolve(false);
      };
      child.on("error", ({ message }) => child.exitCode === null && child.pid === undefined && over(message, null));
      child.on("exit", (code, signal) => over(signal ?? `exit code ${code}`, code));
    });
  }

  if (!(await run())) throw new CannotRun("The judge did not start, so nothing is forwarded.");
  return {
    /** @param closeIdle closes the connection, if it is idle while the forward stops */
    open(role: Role, closeIdle: () => void): Told {
      lastId += 1;
      const connection: Connection = { id: lastId, role, close: closeIdle, isKnown: false, told: 0 };
      const { id } = connection;
      connections.set(id, connection);
      if (!introduce(connection)) connection.gap = judge ? fellBehind : wasRestarted;
      return {
        sent: (chunk) => tell(connection, { kind: "sent", id, at: Date.now(), chunk }),
        received: (chunk) => tell(connection, { kind: "received", id, at: Date.now(), chunk }),
        ended: () => tell(connection, { kind: "ended", id, at: Date.now() }),
        closed: () => close(connection),
      };
    },
    /** Closes connections as soon as the judge finds them idle. */
    drain() {
      isDraining = true;
      put({ kind: "drain" }, false);
    },
    /** Lets the judge finish. Returns its exit code, 2 if it fails. */
    end(): Promise<number> {
      clearTimeout(restarting);
      const { promise, resolve } = Promise.withResolvers<number>();
      ended = resolve;
      if (!judge) void run();
      for (const [reason, count] of missed) put({ kind: "missed", reason, count }, false);
      put({ kind: "end" }, false);
      return promise;
    },
    /** Sends a signal to the judge that runs. */
    signal: (name: NodeJS.Signals) => void judge?.kill(name),
  };
}
