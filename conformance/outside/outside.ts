// Everything through which a run learns about the world. A run is a function of its options and of what comes through
// here: with the same responses, times and notifications it reaches the same verdicts.
import { setTimeout as sleep } from "node:timers/promises";
import { startPrism } from "../contract/prism.ts";
import { complain } from "../report/print.ts";
import { publicPart, systemLookup, type Lookup } from "../target/foreign.ts";
import { createHttpClient, type HttpClient } from "../target/http.ts";
import { promptOnTerminal, type Prompt } from "../target/person.ts";
import { listenOnHost, type Listen } from "../target/receiver.ts";
import type { TlsFiles } from "../target/tls.ts";

export type Outside = {
  now(): Date;
  sleep(ms: number): Promise<void>;
  /**
   * Creates an HTTP client.
   * @param origin the target's origin, to which the client certificate is shown
   */
  connect(origin: string, tls?: TlsFiles): HttpClient;
  /** Resolves the hosts of links to other origins. */
  lookup: Lookup;
  /** Listens for webhooks. */
  listen: Listen;
  /** Asks the person on the terminal. */
  prompt: Prompt;
  /** Starts Prism in front of a target. */
  startPrism: typeof startPrism;
  /** Tells the caller something during a run. */
  notice(text: string): void;
  /** Aborted when the caller ends the run early. */
  interrupted: AbortSignal;
};

/** Returns the network, clock and terminal of this machine. */
export const thisMachine = (interrupted: AbortSignal = new AbortController().signal): Outside => ({
  now: () => new Date(),
  sleep: (ms) => sleep(ms),
  connect(origin, tls) {
    const client = createHttpClient(tls, origin);
    return {
      ...client,
      async send(request) {
        const result = await client.send(request);
        return request.isForeign ? publicPart(result) : result;
      },
    };
  },
  lookup: systemLookup,
  listen: listenOnHost,
  prompt: promptOnTerminal,
  startPrism,
  notice: (text) => complain(`\n${text[0]!.toUpperCase()}${text.slice(1)}`),
  interrupted,
});
