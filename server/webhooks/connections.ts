import type { IncomingMessage } from "node:http";
import { Agent as TlsAgent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { createSecureContext } from "node:tls";
import { callbackify } from "node:util";
import { neverReachable, notPublic, Refusal, specialRange } from "./guard.ts";
import type { Lookup } from "./lookup.ts";

// An import would also load undici, for its WebSocket.
const { Agent, request: httpRequest } = process.getBuiltinModule("node:http");

/**
 * The same text is used for a name without an address and for a name with a private address. Different texts would tell
 * merchants which names exist in the operator's internal DNS.
 */
const NO_PUBLIC_ADDRESS = "the receiver's name does not lead to a public address.";
/** The largest size of the headers of a response, also of an informational response, in bytes. */
const HEADERS_BYTES = 16_384;
/** The largest number of informational (1xx) responses before the final response. */
const INFORMATIONAL_RESPONSES = 10;
/** How long an unused connection stays open, in milliseconds. A receiver can ask for less. */
const IDLE_MS = 4_000;

interface ConnectionOptions {
  /** Resolves a name to all of its addresses; called once per connection. */
  lookup: Lookup;
  /** False to refuse every unusable name with the same text, so that it tells nothing about the operator's DNS. */
  allowPrivate: boolean;
}

interface Request {
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Ends the request. */
  signal: AbortSignal;
}

/** An end of a request that Node has no error for. `reasons.ts` explains the code. */
const endedBy = (code: "SWITCHING_PROTOCOLS" | "INFORMATIONAL_FLOOD"): Error =>
  Object.assign(new Error(code), { code });

/**
 * Keeps connections to receivers open for later webhooks, each for one request at a time. The caller limits the number
 * of connections. Uses Node's client, which ignores informational responses as RFC 9110 (section 15.2) demands; undici
 * gives up at a `100 Continue`.
 *
 * Every new connection leads to an allowed address. A name is resolved once, all of its addresses must be allowed, and the
 * socket connects to one of these. There is no second DNS query that could return another address (DNS rebinding). TLS
 * still verifies the name. A reused connection needs no check.
 */
export function createConnections({ lookup, allowPrivate }: ConnectionOptions) {
  const forbidden = allowPrivate ? neverReachable : specialRange;
  /** A refusal whose details merchants must not read, because they tell about the operator's DNS. */
  const refusal = (detail: string) => (allowPrivate ? new Refusal(detail) : new Refusal(NO_PUBLIC_ADDRESS, detail));

  const resolveName = callbackify(async (name: string) => {
    const addresses = await lookup(name).catch((error: NodeJS.ErrnoException) => {
      throw allowPrivate ? error : refusal(`${name} could not be resolved (${error.code})`);
    });
    for (const address of addresses) {
      const special = forbidden(address);
      if (special) throw refusal(`${name} resolves to ${address}, which is ${notPublic(address, special)}`);
    }
    if (addresses.length === 0) throw refusal(`${name} has no IP address`);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  });
  const settings = {
    keepAlive: true,
    timeout: IDLE_MS,
    // With `autoSelectFamily` sockets request all addresses.
    lookup: ((name, _options, callback) => resolveName(name, callback as never)) as LookupFunction,
    // Try each address for one second before the next address. Node's default of 250 ms is too short for distant
    // receivers.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
    rejectUnauthorized: true,
    // Without it, each connection would load the certificate authorities again, for about a millisecond.
    secureContext: createSecureContext(),
  };

  const agents = { "http:": new Agent(settings), "https:": new TlsAgent(settings) };

  return {
    /** Sends a POST over an unused connection to this origin, or a new one. Resolves when the headers have arrived. */
    post: (target: URL, { headers, body, signal }: Request) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        // Sockets skip the lookup for an IP address, so check it here.
        const host = target.hostname.startsWith("[") ? target.hostname.slice(1, -1) : target.hostname;
        const special = isIP(host) === 0 ? undefined : forbidden(host);
        if (special) throw new Refusal(`${host} is ${notPublic(host, special)}`);
        const send = target.protocol === "https:" ? httpsRequest : httpRequest;
        const request = send({
          host,
          port: target.port || undefined,
          path: target.pathname + target.search,
          method: "POST",
          agent: agents[target.protocol as "http:"],
          headers: { host: target.host, "content-length": Buffer.byteLength(body), ...headers },
          maxHeaderSize: HEADERS_BYTES,
        });
        let informational = 0;
        // The option `signal` of a request watches the whole stream for its end (a fifth of the CPU of an attempt).
        const abort = () => void request.destroy(signal.reason as Error);
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
        request
          .on("information", () => {
            informational += 1;
            // A receiver could otherwise keep this process busy with 1xx responses until the deadline.
            if (informational > INFORMATIONAL_RESPONSES) request.destroy(endedBy("INFORMATIONAL_FLOOD"));
          })
          .on("response", resolve)
          // After a 101 the connection speaks no more HTTP, so there will be neither a response nor an error.
          .on("upgrade", (_, socket) => {
            socket.destroy();
            reject(endedBy("SWITCHING_PROTOCOLS"));
          })
          // An error of an aborted request does not say why it was aborted.
          .on("error", (error) => reject(signal.aborted ? signal.reason : error))
          .on("close", () => {
            signal.removeEventListener("abort", abort);
            // Without effect after a response or an error.
            reject(signal.reason);
          })
          .end(body);
      }),
    /** Closes all connections. Requests in progress fail. */
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}
