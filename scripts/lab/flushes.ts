import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { aPayout } from "../../server/testing/http.ts";
import { inParallel, inWorld, Missing, type RunOptions, type Violate } from "./world.ts";

const CALLERS = 16;
/** More than a page of the database, so that the trace shows each page and each response completely. */
const BYTES_SHOWN = 6_000;
const CALLS = "pwrite64,fdatasync,fsync,write,writev,sendto,sendmsg";
/** Write calls are traced with the path of the file; a write to a connection is a response. */
const LOG_WRITE = /^pwrite64\(\d+<[^>]*-wal>/;
const FLUSH = /^f(?:data)?sync\(\d+<[^>]*-wal>\)\s+= 0/;
const RESPONSE = /^(?:write|writev|sendto|sendmsg)\(\d+<(?:socket|TCP)[^]*HTTP\/1\.1 200[^]*"reference\\":\\"(DSB\w+)/;

/**
 * Creates payouts in SQLite while `strace` records the server's system calls. Each payout must have been written to the
 * write-ahead log, and the log flushed to the disk, before the response is sent. Returns the violations found.
 * @throws Missing without `strace`
 */
export const runFlushes = (options: RunOptions & { creates: number }) =>
  inWorld({ ...options, database: "sqlite" }, async ({ server, caller, fileWith, violate }) => {
    const { creates, print } = options;
    const trace = fileWith("trace", "");
    // Only the main thread is traced: it writes to SQLite and sends the responses.
    const args = ["-p", String(server.pid()), "-y", "-s", String(BYTES_SHOWN), "-e", `trace=${CALLS}`, "-o", trace];
    const tracer = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
    const ended = once(tracer, "close").catch(() => undefined);
    try {
      if (!(await isAttached(tracer)))
        throw new Missing("strace is not installed, or not allowed to trace another process");
      await inParallel(Array(creates).keys(), CALLERS, async () => {
        await caller.send("POST", "/v1/disbursements", { body: aPayout() });
      });
    } finally {
      tracer.kill("SIGINT");
      await ended;
    }
    const { responses, flushes } = judge(readFileSync(trace, "latin1").split("\n"), violate);
    if (responses !== creates) violate(`${responses} of ${creates} responses are in the trace`);
    print(`${responses} payouts; ${flushes} flushes`);
  });

/** `strace` first says that it is attached, or why it cannot be. */
async function isAttached(tracer: ChildProcess): Promise<boolean> {
  const said = once(tracer.stderr!, "data").then(([text]) => /attached/.test(String(text)));
  const missing = once(tracer, "exit").catch(() => undefined);
  return Promise.race([said, missing.then(() => false)]);
}

/** Checks, call by call, that a payout is flushed before it is acknowledged. */
function judge(calls: readonly string[], violate: Violate) {
  let [responses, flushes] = [0, 0];
  /** The bytes that were written to the log since the last flush, and before the last flush. */
  let [written, flushed] = ["", ""];
  for (const call of calls) {
    if (LOG_WRITE.test(call)) written += call;
    else if (FLUSH.test(call)) {
      flushes += 1;
      flushed += written;
      written = "";
    }
    const [, reference] = RESPONSE.exec(call) ?? [];
    if (!reference) continue;
    responses += 1;
    if (!flushed.includes(reference)) violate(`${reference} was acknowledged before it was flushed`);
  }
  return { responses, flushes };
}
