// Everything through which a run learns about the world. A run is a function of its options and of what comes through
// here: with the same responses, times and notifications it reaches the same verdicts.
import { setTimeout as sleep } from "node:timers/promises";
import { startPrism } from "../contract/prism.ts";
import { complain } from "../report/visible.ts";
import { publicPart, systemLookup, type Lookup } from "../target/foreign.ts";
import { createHttpClient, type HttpClient } from "../target/http.ts";
import { promptOnTerminal, type Prompt } from "../target/person.ts";
import { listenOnHost, type Listen } from "../target/receiver.ts";
import type { TlsCertificates } from "../target/tls.ts";

const never = () => new Promise<never>(() => undefined);

export type Outside = {
  now(): Date;
  sleep(ms: number): Promise<void>;
  /** @param origin the target's origin, to which the client certificate is shown */
  connect(origin: string, tls?: TlsCertificates): HttpClient;
  /** Resolves the hosts of links to other origins. */
  lookup: Lookup;
  listen: Listen;
  prompt: Prompt;
  startPrism: typeof startPrism;
  notice(text: string): void;
  /** Aborted when the caller ends the run early. */
  interrupted: AbortSignal;
};

/**
 * Returns the network, clock and terminal of this machine. `close` closes everything that would keep the process alive.
 * Checks that still wait after an interruption then wait for ever.
 */
export function thisMachine(interrupted: AbortSignal = new AbortController().signal) {
  const closing = new AbortController();
  const opened: (() => unknown)[] = [];
  /** Remembers how to close what is opened. */
  async function tracked<T>(opening: Promise<T>, end: (open: T) => unknown): Promise<T> {
    const open = await opening;
    if (closing.signal.aborted) await end(open);
    else opened.push(() => end(open));
    return open;
  }
  const outside: Outside = {
    now: () => new Date(),
    sleep: (ms) => sleep(ms, undefined, { signal: closing.signal }).catch(never),
    connect(origin, tls) {
      const client = createHttpClient(tls, origin);
      opened.push(client.close);
      return {
        ...client,
        async send(request) {
          const result = await client.send(request);
          return request.isForeign ? publicPart(result) : result;
        },
      };
    },
    lookup: systemLookup,
    listen: (address, receive) => tracked(listenOnHost(address, receive), (listener) => listener.close()),
    prompt: (text, timeoutMs) => promptOnTerminal(text, timeoutMs, closing.signal),
    startPrism: (target) => tracked(startPrism(target), (prism) => prism.stop()),
    notice: (text) => complain(`\n${text[0]!.toUpperCase()}${text.slice(1)}`),
    interrupted,
  };
  return {
    ...outside,
    async close() {
      closing.abort();
      await Promise.all(opened.map((each) => each()));
    },
  };
}
