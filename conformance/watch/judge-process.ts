// The judge of a forward, in a process of its own. Its argument is its settings as JSON; the forwarding process tells it
// what passes (judge-pipe.ts). It ends when that process says so or is gone, and leaves signals to it.
import { once } from "node:events";
import { complain } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import { createHttpStream, type HttpStream } from "./http-stream.ts";
import type { Frame, Reply, Role } from "./judge-pipe.ts";
import { createJudge, type JudgeOptions } from "./judge.ts";
import { openOutlet, type OutletSettings } from "./outlet.ts";
import type { Exchange, Listener } from "./traffic.ts";

/** What judges, and where its findings go. Both are JSON, so that they can be given to another process. */
export type WatchSettings = { judge: JudgeOptions; outlet: OutletSettings };

const send = (reply: Reply) => void (process.connected && process.send?.(reply));

function seeWebhook({ method, sentAt, path, headers, body, response }: Exchange, listener: Listener): void {
  if (method !== "POST") return listener.missed("requests to the receiver of webhooks that are no POST");
  listener.see({ kind: "webhook", sentAt, path, headers, body, ...(response && { status: response.status }) });
}

/** Returns a function that takes frames, and tells the listener exchanges and webhooks. */
export function readFrames(listener: Listener): (frame: Exclude<Frame, { kind: "end" }>) => void {
  const connections = new Map<number, { stream: HttpStream; told: number }>();
  let isDraining = false;

  function open(id: number, role: Role) {
    const stream = createHttpStream(
      (exchange) => (role === "service" ? listener.see(exchange) : seeWebhook(exchange, listener)),
      (reason) => listener.missed(reason),
    );
    const connection = { stream, told: 0 };
    connections.set(id, connection);
    return connection;
  }
  function tellIdle(id: number) {
    const { stream, told } = connections.get(id)!;
    if (isDraining && stream.isIdle) send({ kind: "idle", id, told });
  }

  return (frame) => {
    if (frame.kind === "missed") return listener.missed(frame.reason, frame.count);
    if (frame.kind === "drain") {
      isDraining = true;
      return connections.forEach((_, id) => tellIdle(id));
    }
    const { id } = frame;
    if (frame.kind === "open") {
      const connection = connections.get(id) ?? open(id, frame.role);
      connection.told = 0;
      if (frame.gap !== undefined) connection.stream.lose(frame.gap);
      return tellIdle(id);
    }
    const connection = connections.get(id)!;
    connection.told += 1;
    if ("chunk" in frame) connection.stream[frame.kind](frame.chunk, frame.at);
    else connection.stream[frame.kind](frame.at);
    if (frame.kind === "closed") connections.delete(id);
    else tellIdle(id);
  };
}

async function run({ judge: options, outlet: settings }: WatchSettings): Promise<number> {
  const judge = createJudge(options);
  try {
    const outlet = await openOutlet(settings, judge.result);
    const read = readFrames(judge);
    const ended = Promise.withResolvers<void>();
    process.on("message", (frames: Frame[]) => {
      for (const frame of frames) {
        if (frame.kind === "end") ended.resolve();
        else read(frame);
      }
    });
    send({ kind: "ready" });
    const gone = once(process, "disconnect").then(() => judge.missed("the forward ended before it told everything"));
    await Promise.race([ended.promise, gone]);
    return await outlet.finish();
  } finally {
    judge.close();
  }
}

if (process.send) {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
  try {
    process.exitCode = await run(JSON.parse(process.argv[2]!) as WatchSettings);
  } catch (error) {
    complain(error instanceof CannotRun ? error.message : error);
    process.exitCode = 2;
  }
  // The channel would keep the process alive.
  if (process.connected) process.disconnect();
}
