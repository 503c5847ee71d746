// Forwards connections byte for byte: no retry, no change, no timeout. A judge beside it (judge-pipe.ts) is told what
// passes, after it has passed.
import { once } from "node:events";
import { connect, createServer, type Socket, isIP, type AddressInfo } from "node:net";
import * as tls from "node:tls";
import { describeError, hostOf } from "../target/failures.ts";
import { tlsContext, type TlsCertificates } from "../target/tls.ts";
import { complain, print } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import type { Told } from "./http-stream.ts";
import { startJudge, type Role, type WatchSettings } from "./judge-pipe.ts";

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

type Route = { listen: { host: string; port: number }; target: URL; certificates?: TlsCertificates };

/** Of callers to the service, and of the service to the receiver of webhooks. */
export type Routes = Partial<Record<Role, Route>>;

/**
 * Forwards the connections to an address.
 * @param open is told each connection, and how to close it when nothing is open on it
 * @throws CannotRun if the address cannot be listened on
 */
export async function forwardTcp(
  { listen, target, certificates = {} }: Route,
  open: (close: () => void) => Told,
  say: (text: string) => void,
) {
  const callers = new Set<Socket>();
  const dial = createDial(target, certificates);
  let isDown = false;

  const server = createServer({ allowHalfOpen: true, noDelay: true, ...keepAlive }, (caller) => {
    let isConnected = false;
    // `pipe` waits for the slower side, and passes on the end of each side. TLS cannot end before its handshake.
    const service = dial(() => {
      isConnected = true;
      if (isDown) say(`${hostOf(target)} can be reached again.`);
      isDown = false;
      caller.pipe(service);
      caller.on("data", told.sent);
    });
    const told = open(() => [caller, service].forEach((side) => side.destroySoon()));
    callers.add(caller);
    service.pipe(caller);
    service.on("data", told.received).on("end", told.ended);
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
      told.closed();
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
    /** Stops listening. Resolves when the open connections have ended. */
    async stop() {
      server.close();
      await Promise.all(Array.from(callers, (caller) => new Promise((resolve) => caller.once("close", resolve))));
    },
    /** Cuts every open connection. */
    cut: () => callers.forEach(reset),
  };
}

/**
 * Forwards until SIGTERM or SIGINT, and then finishes what is open; a second signal cuts it.
 * @returns the exit code of the judge (judge-process.ts)
 * @throws CannotRun if an address cannot be listened on, or if the judge does not start
 */
export async function forward(routes: Routes, settings: WatchSettings): Promise<number> {
  const judge = await startJudge(settings, complain);
  const doors: Awaited<ReturnType<typeof forwardTcp>>[] = [];
  try {
    for (const [role, route] of Object.entries(routes) as [Role, Route][]) {
      const door = await forwardTcp(route, (close) => judge.open(role, close), complain);
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
  const stopped = doors.map((door) => door.stop());
  judge.stop();
  await Promise.all(stopped);
  return judge.end();
}
