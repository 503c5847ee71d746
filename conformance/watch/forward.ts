// Forwards connections byte for byte: no retry, no change, no timeout. A judge beside it (judge-pipe.ts) is told what
// passes, after it has passed.
import { once } from "node:events";
import { connect, createServer, type Socket, isIP, type AddressInfo } from "node:net";
import * as tls from "node:tls";
import { describeError, hostOf } from "../target/failures.ts";
import { tlsContext, type TlsCertificates } from "../target/tls.ts";
import { complain, print } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import type { WatchSettings } from "./judge-process.ts";
import { startJudge, type Role, type Told } from "./judge-pipe.ts";

export type Address = { host: string; port: number };

/** The open door of a forward. */
export type Door = {
  /** Where it listens. */
  url: string;
  /** Stops listening. Resolves when the open connections have ended by themselves. */
  stop(): Promise<void>;
  /** Cuts every open connection. */
  cut(): void;
};

/** TCP notices by itself that the other side's machine is gone. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 60_000 };

function connectTo(target: URL, secureContext: tls.SecureContext): { service: Socket; connected: string } {
  const host = target.hostname.replace(/^\[(.*)\]$/, "$1");
  const isSecure = target.protocol === "https:";
  const options = { host, port: Number(target.port || (isSecure ? 443 : 80)), allowHalfOpen: true };
  if (!isSecure) return { service: connect({ ...options, noDelay: true, ...keepAlive }), connected: "connect" };
  const service = tls.connect({
    ...options,
    ...(isIP(host) === 0 && { servername: host }),
    ALPNProtocols: ["http/1.1"],
    secureContext,
  });
  service.setNoDelay(true).setKeepAlive(true, keepAlive.keepAliveInitialDelay);
  return { service, connected: "secureConnect" };
}

/**
 * Closes a connection as one that failed, after what was already to be written. TLS has no such way: there, the missing
 * end shows it.
 */
function reset(socket: Socket): void {
  const close = () => (socket instanceof tls.TLSSocket ? socket.destroy() : socket.resetAndDestroy());
  if (socket.writableLength === 0 || socket.writableEnded) close();
  else socket.write("", close);
}

/**
 * Forwards the connections to an address.
 * @param open is told each connection, and how to close it when it is idle
 * @throws CannotRun if the address cannot be listened on
 */
export async function forwardTcp(
  { listen, target, certificates = {} }: { listen: Address; target: URL; certificates?: TlsCertificates },
  open: (close: () => void) => Told,
  say: (text: string) => void,
): Promise<Door> {
  const callers = new Set<Socket>();
  const secureContext = tlsContext(certificates) ?? tls.createSecureContext();
  let isDown = false;

  function failed(error: Error): void {
    if (!isDown) say(`${describeError(error, target).failure}. Callers see closed connections meanwhile.`);
    isDown = true;
  }
  function succeeded(): void {
    if (isDown) say(`${hostOf(target)} can be reached again.`);
    isDown = false;
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true, ...keepAlive }, (caller) => {
    const { service, connected } = connectTo(target, secureContext);
    const sides = [caller, service];
    const told = open(() => sides.forEach((side) => side.destroySoon()));
    let isConnected = false;
    callers.add(caller);
    // `pipe` waits for the slower side, and passes on the end of each side. TLS cannot end before its handshake.
    service.once(connected, () => {
      isConnected = true;
      succeeded();
      caller.pipe(service);
      caller.on("data", told.sent);
    });
    service.pipe(caller);
    service.on("data", told.received).on("end", told.ended);
    service.on("error", (error) => isConnected || failed(error));
    caller.on("error", () => undefined);
    service.on("close", (isFailure: boolean) => isFailure && reset(caller));
    caller.on("close", (isFailure: boolean) => {
      if (isFailure) reset(service);
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
    // The server closes before its last connection says that it did.
    stop: () => new Promise((resolve) => server.close(() => setImmediate(resolve))),
    cut: () => callers.forEach(reset),
  };
}

export type ForwardOptions = {
  target: string;
  listen: Address;
  /** Where the service sends webhooks, and the receiver to which they are forwarded. */
  webhooks?: { to: string; listen: Address };
  certificates?: TlsCertificates;
};

export type Forward = {
  /** Where it listens: for callers, and for webhooks. */
  urls: string[];
  /** Stops listening, finishes what is open, and lets the judge write its report. Returns the judge's exit code. */
  stop(): Promise<number>;
  /** Cuts what is open. */
  cut(): void;
  /** Sends a signal to the judge's process. */
  signalJudge(name: NodeJS.Signals): void;
};

/**
 * Starts to forward, with a judge in a process of its own (judge-process.ts).
 * @throws CannotRun if an address cannot be listened on, or if the judge does not start
 */
export async function startForward(
  { target, listen, webhooks, certificates = {} }: ForwardOptions,
  settings: WatchSettings,
  say: (text: string) => void = complain,
): Promise<Forward> {
  const judge = await startJudge(settings, say);
  const open = (role: Role, from: Address, to: string, own: TlsCertificates) =>
    forwardTcp({ listen: from, target: new URL(to), certificates: own }, (close) => judge.open(role, close), say);
  const doors: Door[] = [];
  try {
    doors.push(await open("service", listen, target, certificates));
    // The client certificate is for the service alone.
    const { ca } = certificates;
    if (webhooks) doors.push(await open("webhooks", webhooks.listen, webhooks.to, ca === undefined ? {} : { ca }));
  } catch (error) {
    for (const door of doors) void door.stop();
    judge.signal("SIGKILL");
    throw error;
  }
  return {
    urls: doors.map(({ url }) => url),
    async stop() {
      const stopped = doors.map((door) => door.stop());
      judge.drain();
      await Promise.all(stopped);
      return judge.end();
    },
    cut: () => doors.forEach((door) => door.cut()),
    signalJudge: judge.signal,
  };
}

/** Forwards until SIGTERM or SIGINT. A second signal cuts what is open, a third ends the judge. Returns the exit code. */
export async function forward(options: ForwardOptions, settings: WatchSettings): Promise<number> {
  const { urls, stop, cut, signalJudge } = await startForward(options, settings);
  const targets = [options.target, options.webhooks?.to];
  for (const [which, url] of urls.entries()) print(`Forwarding ${url} to ${targets[which]}`);
  print("SIGTERM or Ctrl-C finishes what is open and writes the report.");
  const { promise, resolve } = Promise.withResolvers<number>();
  const steps = [() => void stop().then(resolve), cut, () => signalJudge("SIGKILL")];
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => steps.shift()?.());
  return promise;
}
