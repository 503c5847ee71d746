// The judge of a forward, in a process of its own. Its argument is its settings as JSON; the forwarding process tells it
// what passes (judge-pipe.ts). It ends when that process says so or is gone, and leaves signals to it.
import { createInterface } from "node:readline";
import { complain } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import { createHttpStream } from "./http-stream.ts";
import { stopping, type Frame, type Idle, type WatchSettings } from "./judge-pipe.ts";
import { createJudge } from "./judge.ts";
import { openOutlet } from "./outlet.ts";
import { saveMemory } from "./store.ts";
import { webhookOf, type Exchange, type Listener } from "./traffic.ts";

/** Tells `listener` the exchanges and webhooks of connections. */
async function readFrames(lines: AsyncIterable<string>, listener: Listener): Promise<void> {
  const connections = new Map<number, { count: number; stream: ReturnType<typeof createHttpStream> }>();
  let now = 0;
  let isStopping = false;
  const missed = (reason: string) => listener.missed(reason);
  const see = {
    service: (exchange: Exchange) => listener.see(exchange),
    webhooks(exchange: Exchange) {
      if (exchange.method === "POST") listener.see(webhookOf(exchange));
      else missed("requests to the receiver of webhooks that are no POST");
    },
  };
  function tellIdle(id: number): void {
    const { count, stream } = connections.get(id)!;
    if (isStopping && process.connected && stream.isIdle()) process.send!({ id, count } satisfies Idle);
  }
  for await (const line of lines) {
    if (line === stopping) {
      isStopping = true;
      connections.forEach((_, id) => tellIdle(id));
      continue;
    }
    // The forward was killed while it wrote.
    if (!line.endsWith("}")) break;
    const { id, role, index, at, kind, chunk } = JSON.parse(line) as Frame;
    const { count, stream } = connections.get(id) ?? {
      count: 0,
      stream: createHttpStream(see[role], missed, () => now),
    };
    now = at;
    if (index !== count) stream.lose("parts of connections: the judge fell behind");
    stream[kind](Buffer.from(chunk, "base64"));
    connections.set(id, { count: index + 1, stream });
    if (kind === "closed") connections.delete(id);
    else tellIdle(id);
  }
  if (connections.size > 0) listener.missed("connections that were open when the forward was killed", connections.size);
}

async function run({ judge: options, outlet: settings }: WatchSettings): Promise<number> {
  const judge = createJudge(options);
  try {
    const outlet = await openOutlet(settings, judge.result);
    process.send!(true);
    await readFrames(createInterface(process.stdin), judge);
    return await outlet.finish();
  } finally {
    judge.close();
  }
}

saveMemory();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
try {
  process.exitCode = await run(JSON.parse(process.argv[2]!) as WatchSettings);
} catch (error) {
  complain(error instanceof CannotRun ? error.message : error);
  process.exitCode = 2;
}
