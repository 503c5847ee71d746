import {
  AbortedError,
  AuthenticationError,
  ClientError,
  ConnectionError,
  DuplicateReferenceError,
  NotFoundError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedAnswerError,
  UsageError,
  ValidationError,
} from "./errors.ts";
import type { ErrorDetails } from "./errors.ts";
import { ignore } from "./options.ts";
import type { ErrorInfo, Fetch, Hooks, RequestInfo, Settings } from "./options.ts";
import { atEnd } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { Path, Reply, Transport } from "./transport.ts";
import type { OperationId } from "./types.ts";

/** What all calls of a client share. */
export interface Context {
  runtime: Runtime;
  transport: Transport;
  fetch: Fetch;
  /** Scheme, host and port of the service. */
  origin: string;
  giveKey: () => Promise<string>;
  hooks: Required<Hooks>;
  acceptExamples: boolean;
}

/** `data` of an answer's body, as far as every operation has it. */
export interface Data {
  reference: string;
  merchantsReference: string;
  amount: number;
  status: string;
}

/** What a call asks for, whatever the number of its tries. */
export interface Job {
  operation: OperationId;
  path: Path;
  /** The merchant's reference of a create, the service's of a verify. */
  reference: string | undefined;
  body?: unknown;
  /** Whether an answer is about what was asked for. */
  answers(data: Data): boolean;
  /** For waitFor: an answer with this status ends the call. */
  final?: readonly string[];
}

export interface Failure {
  error: ClientError;
  /** Another try may help, and cannot pay twice. */
  retry?: boolean;
  /** The service may have done what was asked. */
  ambiguous?: boolean;
  /** In ms, from `Retry-After`. */
  retryAfter?: number;
  /** Of a 409 (D5). */
  location?: string | null;
}

export type Outcome = Failure | { error?: undefined; data: Data };

type ErrorClass = new (message: string, details: ErrorDetails) => ClientError;

// The service has looked at the request and recorded nothing, or (409) says itself what there is.
const refusals: Record<number, ErrorClass> = {
  400: ValidationError,
  401: AuthenticationError,
  403: AuthenticationError,
  404: NotFoundError,
  409: DuplicateReferenceError,
  413: ValidationError,
  415: ValidationError,
  422: ValidationError,
};

// The connection was never made, in the words of Node and of Bun.
const notConnected = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ConnectionRefused)$/;

/** Sends one request. Never throws: whatever happens becomes an outcome. */
export async function attempt(context: Context, job: Job, settings: Settings, info: RequestInfo): Promise<Outcome> {
  const { runtime, hooks } = context;
  const { signal, timeout } = settings;
  const started = runtime.now();
  const controller = new AbortController();
  let key = "";
  let sent = false;
  let response: Response | undefined;
  let stop!: (error: ClientError) => void;
  // Ends the try even where a custom fetch, or the function that gives the key, does not look at the signal.
  const stopped = new Promise<never>((_, reject) => {
    stop = reject;
  });
  const cancel = atEnd(runtime, timeout, signal, () => {
    stop(signal?.aborted ? new AbortedError("Aborted.") : new TimeoutError(`No answer within ${timeout} ms.`));
    controller.abort();
  });
  const send = async () => {
    key = await context.giveKey();
    const headers = { ...settings.headers, "x-api-key": key };
    return context.transport(job, { headers, signal: controller.signal }, async (url, init) => {
      controller.signal.throwIfAborted();
      notify(hooks.onRequest, info);
      sent = true;
      return (response = await context.fetch(url, init));
    });
  };
  const outcome = await Promise.race([send(), stopped]).then(
    (reply) => judge(reply, job, context, key),
    (error) => explain(error, sent, context.origin),
  );
  cancel();
  notify(hooks.onResponse, {
    ...info,
    duration: runtime.now() - started,
    status: response?.status,
    requestId: requestIdOf(response),
    error: aboutError(outcome.error),
  });
  return outcome;
}

/** The outcome of a try that ended without an answer. */
function explain(thrown: unknown, sent: boolean, origin: string): Failure {
  if (thrown instanceof ClientError) return { error: thrown, ambiguous: sent, retry: thrown instanceof TimeoutError };
  if (!sent) return { error: new UsageError("apiKey failed, or the request cannot be sent.", { cause: thrown }) };
  const { code, cause } = thrown as { code?: string; cause?: { code?: string } };
  return {
    error: new ConnectionError(`No connection to ${origin}, or it broke.`, { cause: thrown }),
    ambiguous: !notConnected.test(`${code ?? cause?.code}`),
    retry: true,
  };
}

/** The outcome of a try that was answered. */
function judge({ data: text, error, response }: Reply, job: Job, context: Context, key: string): Outcome {
  const { status, headers, ok } = response;
  const body = (ok ? parse(text) : error) as { data?: Data; error?: unknown; message?: unknown } | undefined;
  const data = body?.data;
  if (ok && isData(data) && (context.acceptExamples || job.answers(data))) {
    if (!job.final || job.final.includes(data.status)) return { data };
    return { error: new TimeoutError(`Still ${data.status}.`, { last: data } as ErrorDetails), retry: true };
  }
  const said = [body?.error, body?.message].filter(Boolean).join(": ");
  // A service could repeat the key in its text.
  const details = { status, requestId: requestIdOf(response), serverMessage: said.replaceAll(key, "[key]") };
  const wait = headers.get("retry-after") ?? "";
  const retryAfter = Math.max(0, Number(wait) * 1000 || Date.parse(wait) - context.runtime.now() || 0);
  const location = headers.get("location");
  const fail = (Kind: ErrorClass, message: string, retry = true, ambiguous = retry): Failure => {
    return { error: new Kind(message, details), retry, ambiguous, retryAfter, location };
  };
  const message = `Answered ${status}. ${details.serverMessage}`.trim();
  if (status === 429) return fail(RateLimitError, message, true, false);
  if (status >= 500) return fail(ServerError, message);
  const Refusal = refusals[status];
  // Whatever stands in between may answer too, but the shape of §7 is the service's own.
  if (Refusal && (typeof body?.error === "string" || status === 401))
    return fail(Refusal, message, status === 404 && !!job.final, false);
  return fail(
    UnexpectedAnswerError,
    `Unexpected ${status}, ${headers.get("content-type")}: check baseUrl and proxies.`,
  );
}

/** What a text is as JSON; undefined when it is none. */
export function parse(text = ""): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isData(data: Data | undefined): data is Data {
  return !!data?.reference && !!data.status && Number.isSafeInteger(data.amount);
}

function requestIdOf(response: Response | undefined): string | undefined {
  return response?.headers.get("x-request-id") ?? undefined;
}

/** An error without what it knows of people. A record that is still pending is no error to those who watch. */
export function aboutError(error: ClientError | undefined): ErrorInfo | undefined {
  if (!error || "last" in error) return undefined;
  const { code, message, status, requestId, serverMessage } = error;
  return { code, message, status, requestId, serverMessage };
}

/** Calls a hook so that neither an error nor a rejection in it reaches the payment. */
export function notify<Info>(hook: (info: Info) => unknown, info: Info): void {
  (async () => hook(info))().catch(ignore);
}
