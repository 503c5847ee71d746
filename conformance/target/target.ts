// Sends requests to the target. Every request of a run, including Dredd's, goes through the object that `createTarget`
// returns.
import { createBreaker, looksDead, probeRequest } from "./breaker.ts";
import { routeOf } from "../contract/contract.ts";
import type { Clock } from "../allowances/pace.ts";
import type { Visibility } from "../allowances/visibility.ts";
import { createMerchant, type MerchantOptions } from "../generate/merchant.ts";
import { openingOf, systemLookup, type Lookup } from "./foreign.ts";
import type { HttpClient, HttpFailure, HttpResponse } from "./http.ts";
import { type Budget, createLedger } from "./ledger.ts";
import { violationsIn } from "../contract/prism.ts";
import { createRecorder } from "./recorder.ts";
import type { Redact } from "./redact.ts";
import type { Account, TargetRequest, TargetResponse } from "./exchange.ts";
import type { Together } from "./together.ts";
import type { Exchange } from "../results.ts";
import type { RunOptions } from "../run-options.ts";
import { parsedJson } from "./values.ts";

export type TargetOptions = MerchantOptions &
  Pick<
    RunOptions,
    "baseUrl" | "effects" | "key" | "secondKey" | "headers" | "curlFlags" | "rate" | "timeoutMs" | "prismUrl"
  > & {
    /** The phone numbers of real people to whom the run pays, by the name of the shell variable in commands. */
    people?: Record<string, string>;
    /** True if nothing probes a target after a failure. An unreachable target then stops the run at once. */
    isImpatient?: boolean;
  };

export type TargetDeps = Clock & {
  http: HttpClient;
  budget: Budget;
  redact: Redact;
  /** Resolves the hosts of links to other origins; by default with this machine's DNS. */
  lookup?: Lookup;
  /** Determines when a new record can be read. By default it can be read immediately. */
  visibility?: Visibility;
  /** Tells a person, once, that the target makes the suite wait. */
  notice?: (text: string) => void;
};

const longestWaitMs = 120_000;
const longestPauseMs = 5000;
/** Shorter waits are not worth a notice. */
const noticedWaitMs = 5000;

function bodyOf(request: TargetRequest): Buffer | undefined {
  if (request.json !== undefined) return Buffer.from(JSON.stringify(request.json));
  return request.body === undefined ? undefined : Buffer.from(request.body);
}

/** Returns true if Prism forwards the request unchanged. */
const isPlain = ({ method, path, headers, body, forced }: TargetRequest) =>
  routeOf(method, path) !== undefined && headers === undefined && body === undefined && !forced;

/** Returns how long to wait after a 429, in milliseconds. The minimum is 100. */
function retryAfterMs(header: string | undefined, now: Date): number {
  const wait = /^\d+$/.test(header ?? "") ? Number(header) * 1000 : Date.parse(header ?? "") - now.getTime();
  return Math.max(100, Number.isFinite(wait) ? wait : 1000);
}

function headersOf(request: TargetRequest, options: TargetOptions, body: Buffer | undefined) {
  const { key = "own" } = request;
  const known = { own: options.key, second: options.secondKey, none: undefined };
  const value = typeof key === "object" ? key.value : known[key];
  return {
    Host: new URL(options.baseUrl).host,
    ...options.headers,
    ...(value === undefined ? {} : { "x-api-key": value }),
    ...(request.json === undefined ? {} : { "content-type": "application/json" }),
    ...(body && !request.headers?.["transfer-encoding"] ? { "content-length": String(body.length) } : {}),
    ...request.headers,
  };
}

function responseOf(request: TargetRequest, exchange: Exchange, result: HttpResponse | HttpFailure): TargetResponse {
  if ("failure" in result) return { request, exchange, headers: {}, text: "", json: undefined };
  const { body, ...head } = result;
  const text = body.toString("utf8");
  return { request, exchange, ...head, text, json: parsedJson(text) };
}

function createRateLimiter(rate: number | undefined, { now, sleep }: TargetDeps) {
  let nextSlot = 0;
  return async () => {
    if (!rate) return;
    const time = now().getTime();
    const slot = Math.max(time, nextSlot);
    nextSlot = slot + 1000 / rate;
    if (slot > time) await sleep(slot - time);
  };
}

type Destination = { origin: URL; path: string };

export type Target = ReturnType<typeof createTarget>;

export function createTarget(options: TargetOptions, deps: TargetDeps) {
  const base = new URL(options.baseUrl);
  const prism = options.prismUrl === undefined ? undefined : new URL(options.prismUrl);
  const prefix = base.pathname.replace(/\/$/, "");
  const ledger = createLedger(options.effects, deps.budget);
  const { redact, now } = deps;
  const merchant = createMerchant(options);
  const recorder = createRecorder({
    redact,
    merchant,
    now,
    key: options.key,
    secondKey: options.secondKey,
    people: options.people,
    secretHeaders: Object.keys(options.headers),
  });
  const listeners: ((response: TargetResponse) => void)[] = [];
  const waitForSlot = createRateLimiter(options.rate, deps);
  const { isImpatient = false } = options;
  const breaker = createBreaker(options.timeoutMs, probe, deps);
  let isNoticed = false;
  let longestRetryMs = 0;
  /** Stops the run. A check may have put the key into the URL of the request that the reason names. */
  const stop = (reason: string) => ledger.stop(redact(reason));

  const stopDead = (when: string) => stop(`the target stopped responding ${when}`);

  /** Sends the harmless request of the breaker. It is not recorded, because it is no evidence about a requirement. */
  async function probe(timeoutMs: number): Promise<number | undefined> {
    await waitForSlot();
    const headers = merchant.headers(headersOf(probeRequest, options, undefined));
    const { method } = probeRequest;
    const path = probeRequest.path + merchant.unknown;
    const result = await deps.http.send({ origin: base, path: prefix + path, method, headers, timeoutMs });
    return "failure" in result ? undefined : result.status;
  }

  /** Stops the run if the response shows that the target has died, and returns the error to throw. */
  async function deathBy({ request, exchange, status }: TargetResponse) {
    if (isImpatient || !looksDead({ request, status }) || (await breaker.isAlive())) return undefined;
    const what = status === undefined ? exchange.failure : `status ${status}`;
    const where = `${request.method} ${request.path.slice(0, 80)}`;
    return stopDead(`at request ${exchange.id}: ${where}: ${what}`);
  }

  async function sendOnce(
    request: TargetRequest,
    { origin, path }: Destination,
    { together, isPage = false }: { together?: Together | undefined; isPage?: boolean } = {},
  ): Promise<TargetResponse> {
    await waitForSlot();
    await together?.start(request);
    const body = bodyOf(request);
    const own = headersOf(request, options, body);
    const headers = isPage ? merchant.browserHeaders(own) : merchant.headers(own);
    const flags = options.curlFlags;
    const exchange = recorder.begin({ request, url: origin.origin + path, headers, body, flags });
    // Prism serialises bodies anew, so a request goes through Prism only if the new body is the same. Prism adds the
    // path prefix, because it was started with the base URL. The path is therefore sent without the prefix.
    const via = prism && origin === base && isPlain(request) ? { origin: prism, path: request.path } : { origin, path };
    const { timeoutMs = options.timeoutMs, method } = request;
    const beforeLastByte = together && (() => together.finish(request));
    const result = await deps.http.send({ ...via, method, headers, body, timeoutMs, beforeLastByte });
    together?.end(request, "failure" in result || result.status === 429);
    recorder.end(exchange, result);
    if ("failure" in result && result.unreachable && origin === base && isImpatient)
      throw stop(`the target is unreachable: ${exchange.failure}`);
    const response = responseOf(request, exchange, result);
    return via.origin === prism ? { ...response, prism: violationsIn(response.headers["sl-violations"]) } : response;
  }

  /** Requests a page of another origin, to which neither the key nor `--header` is sent. */
  async function openForeign(request: TargetRequest, url: URL): Promise<TargetResponse> {
    await waitForSlot();
    const { method, path } = request;
    const exchange = recorder.beginForeign(request, url);
    const opening = await openingOf(url, base, deps.lookup ?? systemLookup);
    const { timeoutMs } = options;
    const headers = merchant.browserHeaders({ Host: url.host });
    const result =
      "refusal" in opening
        ? { failure: opening.refusal, unreachable: true }
        : await deps.http.send({ origin: url, path, method, headers, timeoutMs, isForeign: true, ...opening });
    recorder.end(exchange, result, true);
    return responseOf(request, exchange, result);
  }

  /** Waits as long as a 429 demands. Returns the total wait of the request; stops the run beyond two minutes. */
  async function waitAfter429(response: TargetResponse, { method, path }: TargetRequest, waited: number) {
    const wait = retryAfterMs(response.headers["retry-after"], now());
    const total = waited + wait;
    longestRetryMs = Math.max(longestRetryMs, wait);
    const limited = `the target answers ${method} ${path} with 429 (too many requests)`;
    if (total > longestWaitMs) {
      const demand = waited === 0 ? `and Retry-After: ${Math.round(wait / 1000)}` : "for two minutes";
      throw stop(`${limited} ${demand}: wait until its limit allows a run, or send less often with --rate`);
    }
    if (total >= noticedWaitMs && !isNoticed) {
      isNoticed = true;
      deps.notice?.(`${redact(limited)}; the suite waits as it is told, up to two minutes for each request.`);
    }
    await deps.sleep(wait);
    return total;
  }

  /**
   * Sends a request and retries it after each 429. Repeats a read while the record may not be visible yet; listeners get
   * only the last response.
   */
  async function sendAndWait(request: TargetRequest): Promise<TargetResponse> {
    const { visibility } = deps;
    let { together } = request;
    for (let [waited, repeats] = [0, 0]; ;) {
      const early = visibility?.before(request) ?? 0;
      if (early > 0) await deps.sleep(early);
      const destination = { origin: base, path: prefix + request.path };
      const response = await sendOnce(request, destination, { together });
      together = undefined;
      const death = await deathBy(response);
      if (death) {
        ledger.account(request, response);
        throw death;
      }
      const pause = visibility?.again(response, repeats);
      if (typeof pause === "string") throw stop(pause);
      if (pause !== undefined) {
        repeats += 1;
        await deps.sleep(pause);
        continue;
      }
      visibility?.created(response);
      for (const listener of listeners) listener(response);
      if (response.status !== 429) return response;
      waited = await waitAfter429(response, request, waited);
    }
  }

  return {
    /** @throws EffectNotAllowed, BudgetExceeded, RunStopped */
    async send(request: TargetRequest): Promise<TargetResponse> {
      try {
        await breaker.settled();
        ledger.authorise(request);
        const response = await sendAndWait(request);
        ledger.account(request, response);
        return response;
      } finally {
        request.together?.end(request);
      }
    },
    /**
     * Requests a link that the target returned, by default with GET. The key is not sent. `--header` is sent only if the
     * link is on the target. A link to a host that foreign.ts refuses gets no request, and the response says why.
     */
    async openLink(
      link: string,
      more: { method?: "GET" | "HEAD"; headers?: Record<string, string>; account?: Account } = {},
    ): Promise<TargetResponse> {
      const url = new URL(link);
      const path = url.pathname + url.search;
      const request: TargetRequest = { method: "GET", path, key: "none", ...more };
      await breaker.settled();
      ledger.authorise({ ...request, method: "GET" });
      if (url.origin !== base.origin) return openForeign(request, url);
      const response = await sendOnce(request, { origin: url, path }, { isPage: true });
      const death = await deathBy(response);
      if (death) throw death;
      return response;
    },
    /** Makes sure that the target still responds, for a check that waited in vain. @throws RunStopped */
    async requireAlive(): Promise<void> {
      if (ledger.stopped || isImpatient || (await breaker.isAlive())) return;
      throw stopDead("while a check waited for it");
    },
    /** Waits for the longest Retry-After of the run, or 5 s, so that the target limits the following requests less. */
    async pause(): Promise<void> {
      if (longestRetryMs > 0) await deps.sleep(Math.min(longestRetryMs, longestPauseMs));
    },
    /** Calls `listener` with the response to every request of `send`, including each 429 that is then retried. */
    onResponse(listener: (response: TargetResponse) => void) {
      listeners.push(listener);
    },
    ledger,
    merchant,
    /** Removes secrets and masks phone numbers in a text before it is reported. */
    redact: deps.redact,
    budget: deps.budget,
    options,
  };
}
