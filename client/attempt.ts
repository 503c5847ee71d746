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
import { parse } from "./json.ts";
import { ignore } from "./options.ts";
import type { ErrorInfo, Fetch, Hooks, RequestInfo, Settings } from "./options.ts";
import type { Limiter } from "./limiter.ts";
import { afterOrAbort } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { Path, Reply, Transport } from "./transport.ts";
import type { ListId, OperationId } from "./types.ts";

/** State shared by all calls of a client. */
export interface Context {
  runtime: Runtime;
  limiter: Limiter;
  transport: Transport;
  fetch: Fetch;
  /** URL of the service, without a trailing slash. */
  baseUrl: string;
  apiKey: () => Promise<string>;
  hooks: Required<Hooks>;
}

/** The fields that the `data` of every response has. */
export interface Data {
  reference: string;
  merchantsReference: string;
  amount: number;
  status: string;
}

/** The request of a call; every attempt sends the same. */
export interface Job {
  operation: OperationId | ListId;
  path: Path;
  /** The merchant's reference for a create, the service's reference for a verify. */
  reference: string | undefined;
  body?: unknown;
  /** Set by list: the filters and the cursor. */
  query?: object;
  /** True if the response has the requested data. */
  matches(data: Data | undefined): boolean;
  /** Set by waitFor: poll until the record has one of these statuses. */
  final?: readonly string[];
}

/** How an attempt ended: with the data of the requested record, or with an error. */
export type AttemptOutcome = ({ data: Data; error?: undefined } | { data?: undefined; error: ClientError }) & {
  /** True if a retry may help. A retry cannot pay twice. */
  retry?: boolean;
  /** True if the service may have recorded the request. */
  ambiguous?: boolean;
  /** The delay that `Retry-After` asks for, in ms. */
  retryAfter?: number;
  /** The response, if it was read completely. */
  response?: Response;
};

type ErrorClass = new (message: string, details: ErrorDetails) => ClientError;

// The error class for each status with which the service refuses a request. The service recorded nothing; in the case
// of 409 it already has a record with the reference.
const refusalErrors: Record<number, ErrorClass> = {
  400: ValidationError,
  401: AuthenticationError,
  403: AuthenticationError,
  404: NotFoundError,
  405: UnexpectedAnswerError,
  409: DuplicateReferenceError,
  413: ValidationError,
  415: ValidationError,
  422: ValidationError,
  429: RateLimitError,
};

// Node's and Bun's error codes for a connection that was never established. The service received nothing.
const notConnected = /REFUSED$|^ENOTFOUND$|^EAI_AGAIN$/i;

/**
 * Sends one request and waits at most `timeout` ms. Returns every failure as an outcome. Throws only if `signal` is not an
 * AbortSignal; in that case nothing is sent.
 */
export async function attempt(
  context: Context,
  job: Job,
  settings: Settings,
  timeout: number,
  info: RequestInfo,
): Promise<AttemptOutcome> {
  const { runtime, hooks } = context;
  const { signal } = settings;
  const started = runtime.now();
  const controller = new AbortController();
  let key = "";
  let sent = false;
  let stop!: (error: ClientError) => void;
  // Rejects when the time is up or the caller aborts. Ends the attempt even if a custom fetch or apiKey ignores the
  // signal.
  const stopped = new Promise<never>((_, reject) => {
    stop = reject;
  });
  const cancel = afterOrAbort(runtime, timeout, signal, () => {
    stop(signal?.aborted ? new AbortedError("Aborted.") : new TimeoutError(`No response within ${timeout} ms.`));
    controller.abort();
  });
  const sendRequest = async () => {
    key = await context.apiKey();
    const headers = { ...settings.headers, "x-api-key": key };
    return context.transport(job, { headers, signal: controller.signal }, (url, init) => {
      controller.signal.throwIfAborted();
      notify(hooks.onRequest, info);
      sent = true;
      const { fetch } = context;
      return fetch(url, init);
    });
  };
  const outcome = await Promise.race([sendRequest(), stopped])
    .then((reply) => outcomeOfReply(reply, job, context, key))
    .catch((error) => outcomeOfError(error, sent, context.baseUrl));
  cancel();
  notify(hooks.onResponse, {
    ...info,
    duration: runtime.now() - started,
    status: outcome.response?.status,
    requestId: requestIdOf(outcome.response),
    error: errorInfo(outcome.error),
  });
  return outcome;
}

/** The outcome of an attempt that failed before a response was read completely. */
function outcomeOfError(thrown: unknown, sent: boolean, baseUrl: string): AttemptOutcome {
  if (thrown instanceof ClientError) return { error: thrown, ambiguous: sent, retry: thrown instanceof TimeoutError };
  if (!sent) return { error: new UsageError("apiKey failed, or the request cannot be sent.", { cause: thrown }) };
  const { code, cause } = thrown as { code?: string; cause?: { code?: string } };
  return {
    error: new ConnectionError(`No connection to ${baseUrl}, or it broke.`, { cause: thrown }),
    ambiguous: !notConnected.test(`${code ?? cause?.code}`),
    retry: true,
  };
}

/** The outcome of an attempt whose response was read completely. */
function outcomeOfReply(
  { data: text, error, response }: Reply,
  job: Job,
  context: Context,
  key: string,
): AttemptOutcome {
  const { status, headers, ok } = response;
  const body = (ok ? parse(text) : error) as { data?: Data; error?: unknown; message?: unknown } | undefined;
  const data = body?.data;
  if (ok && job.matches(data)) {
    return { data: data!, response, retry: !!job.final && !job.final.includes(data!.status) };
  }
  // The service may echo the key in its message, so remove it.
  const serverMessage = [body?.error, body?.message].filter(isText).join(": ").replaceAll(key, "[key]");
  // A proxy can send these statuses too, but only the service sends the error body of §7. A 401 or 429 without that
  // body also counts as a refusal, because nothing was recorded, whichever of the two sent it.
  const RefusalError = isText(body?.error) || status === 401 || status === 429 ? refusalErrors[status] : undefined;
  const ErrorType = RefusalError ?? (status < 500 ? UnexpectedAnswerError : ServerError);
  const message = `Received ${status}. ${serverMessage || "Check baseUrl and proxies."}`;
  const wait = headers.get("retry-after") ?? "";
  return {
    error: new ErrorType(message, { status, requestId: requestIdOf(response), serverMessage }),
    retry: !RefusalError || status === 429 || (status === 404 && !!job.final),
    ambiguous: !RefusalError,
    retryAfter: Math.max(0, Number(wait) * 1000 || Date.parse(wait) - context.runtime.date() || 0),
    response,
  };
}

/** True if a response's `data` has the fields of a record. */
export function isRecord(data: Data | undefined): data is Data {
  return isText(data?.reference) && isText(data.status) && Number.isSafeInteger(data.amount);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function requestIdOf(response: Response | undefined): string | undefined {
  return response?.headers.get("x-request-id") ?? undefined;
}

/**
 * Returns the parts of an error that are safe to log: its code and message. The cause and the records are left out,
 * because they can contain personal data.
 */
export function errorInfo(error: ClientError | undefined): ErrorInfo | undefined {
  return error && { code: error.code, message: error.message };
}

/** Calls a hook. Ignores errors and rejections, so that a failing log does not fail the payment. */
export function notify<Info>(hook: (info: Info) => unknown, info: Info): void {
  (async () => hook(info))().catch(ignore);
}
