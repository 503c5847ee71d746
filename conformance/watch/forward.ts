// Forwards connections byte for byte: no retry, no change, no timeout. What has passed is read (http-stream.ts) and told to
// a judge in another process (judge-pipe.ts).
import { once } from "node:events";
import { connect, createServer, type Socket, isIP, type AddressInfo } from "node:net";
import * as tls from "node:tls";
import { describeError, hostOf } from "../target/failures.ts";
import { tlsContext, type TlsCertificates } from "../target/tls.ts";
import { complain, print } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import { createHttpStream } from "./http-stream.ts";
import { startJudge } from "./judge-pipe.ts";
import type { Missed, Recorded } from "./recorded.ts";
import type { WatchSettings } from "./watch.ts";

/** TCP notices by itself that the other side's machine is gone. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 60_000 };

/** Returns a function that opens a connection to the target, and calls `connected` once it can be written to. */
function createDial(target: URL, certificates: TlsCertificates) {
  const host = target.hostname.replace(/^\[(.*)\]$/, "$1");
  const isSecure = target.protocol === "https:";
  const options = { host, port: Number(target.port || (isSecure ? 443 : 80)), allowHalfOpen: true };
  const secureContext = isSecure ? (tlsContext(certificates) ?? tls.createSecureContext()) : undefined;
  const names = { ALPNProtocols: ["http/1.1"], ...(isIP(host) === 0 && { servername: host }) };
  return (connected: () => void): Socket => {
    const service = isSecure
      ? tls.connect({ ...options, ...names, secureContext }, connected)
      : connect(options, connected);
    return service.setNoDelay(true).setKeepAlive(true, keepAlive.keepAliveInitialDelay);
  };
}

/** Closes a connection as one that failed, after what was already to be written. In TLS, its missing end shows that. */
function reset(socket: Socket): void {
  const close = () => (socket instanceof tls.TLSSocket ? socket.destroy() : socket.resetAndDestroy());
  if (socket.writableLength === 0 || socket.writableEnded) close();
  else socket.write("", close);
}

/** From callers to the service (`exchange`), or from the service to the receiver of webhooks (`webhook`). */
export type Route = {
  kind: "exchange" | "webhook";
  listen: { host: string; port: number };
  target: URL;
  certificates?: TlsCertificates;
};

/**
 * Forwards the connections to an address.
 * @param tell is told what has passed, and what was not read
 * @throws CannotRun if the address cannot be listened on
 */
export async function forwardTcp(
  { kind, listen, target, certificates = {} }: Route,
  tell: (line: Recorded | Missed) => void,
  say: (text: string) => void,
) {
  /** The callers, each with what closes its connection when nothing is open on it. */
  const callers = new Map<Socket, () => void>();
  const dial = createDial(target, certificates);
  let isDown = false;
  let isStopping = false;

  const server = createServer({ allowHalfOpen: true, noDelay: true, ...keepAlive }, (caller) => {
    let isConnected = false;
    const stream = createHttpStream(kind, tell);
    const closeIfIdle = () => {
      if (isStopping && stream.isIdle()) [caller, service].forEach((side) => side.destroySoon());
    };
    // `pipe` waits for the slower side, and passes on the end of each side. TLS cannot end before its handshake.
    const service = dial(() => {
      isConnected = true;
      if (isDown) say(`${hostOf(target)} can be reached again.`);
      isDown = false;
      caller.pipe(service);
      caller.on("data", stream.sent).on("data", closeIfIdle);
    });
    callers.set(caller, closeIfIdle);
    service.pipe(caller);
    service.on("data", stream.received).on("data", closeIfIdle).on("end", stream.ended);
    service.on("error", (error) => {
      if (isConnected || isDown) return;
      isDown = true;
      say(`${describeError(error, target).failure}. Callers see closed connections meanwhile.`);
    });
    service.on("close", (isFailure: boolean) => {
      if (!isFailure) return;
      // A service that has ended may refuse the rest of a request. What it said before is still on its way.
      if (caller.writableEnded) caller.resume();
      else reset(caller);
    });
    caller.on("error", () => undefined);
    caller.on("close", (isFailure: boolean) => {
      // A connection that is cut has no end to pass on.
      if (isFailure || !service.writableEnded) reset(service);
      callers.delete(caller);
      stream.closed();
    });
  });
  server.listen(listen.port, listen.host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new CannotRun(`cannot listen on ${listen.host}:${listen.port}: ${(error as Error).message}`);
  }
  // Without a listener, an error such as too many open files would end the process.
  server.on("error", (error) => say(error.message));
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `http://${isIP(address) === 6 ? `[${address}]` : address}:${port}`,
    /** Stops listening, and closes each connection once nothing is open on it. Resolves when all are closed. */
    async stop() {
      isStopping = true;
      server.close();
      const closed = Array.from(callers.keys(), (caller) => new Promise((resolve) => caller.once("close", resolve)));
      for (const closeIfIdle of callers.values()) closeIfIdle();
      await Promise.all(closed);
    },
    /** Cuts every open connection. */
    cut: () => callers.forEach((_, caller) => reset(caller)),
  };
}

/**
 * Forwards until SIGTERM or SIGINT, and then finishes what is open; a second signal cuts it.
 * @returns the exit code of the judge (judge-process.ts)
 * @throws CannotRun if an address cannot be listened on, or if the judge does not start
 */
export async function forward(routes: readonly Route[], settings: WatchSettings): Promise<number> {
  const judge = await startJudge(settings, complain);
  const doors: Awaited<ReturnType<typeof forwardTcp>>[] = [];
  try {
    for (const route of routes) {
      const door = await forwardTcp(route, judge.tell, complain);
      print(`Forwarding ${door.url} to ${route.target.origin}`);
      doors.push(door);
    }
  } catch (error) {
    for (const door of doors) void door.stop();
    judge.kill();
    throw error;
  }
  print("SIGTERM or Ctrl-C finishes what is open and writes the report.");
  const { promise: signalled, resolve: stop } = Promise.withResolvers<void>();
  const steps = [stop, () => doors.forEach((door) => door.cut())];
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => steps.shift()?.());
  await signalled;
  await Promise.all(doors.map((door) => door.stop()));
  return judge.end();
}
