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
import { atEnd } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { Path, Reply, Transport } from "./transport.ts";
import type { OperationId } from "./types.ts";

/** What all calls of a client share. */
export interface Context {
  runtime: Runtime;
  transport: Transport;
  fetch: Fetch;
  /** Of the service, without a slash at its end. */
  baseUrl: string;
  giveKey: () => Promise<string>;
  hooks: Required<Hooks>;
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
  /** For waitFor: only an answer with one of these statuses ends the call. */
  final?: readonly string[];
}

/** How a try ended: with the data of an answer that is about what was asked for, or with an error. */
export type Outcome = ({ data: Data; error?: undefined } | { data?: undefined; error: ClientError }) & {
  /** Another try may help, and cannot pay twice. */
  retry?: boolean;
  /** The service may have done what was asked. */
  ambiguous?: boolean;
  /** In ms, from `Retry-After`. */
  retryAfter?: number;
  /** There when it came to its end. */
  response?: Response;
};

type ErrorClass = new (message: string, details: ErrorDetails) => ClientError;

// The service has recorded nothing, or (409) says itself what there is.
const refusals: Record<number, ErrorClass> = {
  400: ValidationError,
  401: AuthenticationError,
  403: AuthenticationError,
  404: NotFoundError,
  409: DuplicateReferenceError,
  413: ValidationError,
  415: ValidationError,
  422: ValidationError,
  429: RateLimitError,
};

// The connection was never made, in the words of Node and of Bun.
const notConnected = /REFUSED$|^ENOTFOUND$|^EAI_AGAIN$/i;

/**
 * Sends one request, for so many ms at most. Whatever happens to it becomes an outcome; it throws only before it is sent,
 * when the signal is none.
 */
export async function attempt(
  context: Context,
  job: Job,
  settings: Settings,
  timeout: number,
  info: RequestInfo,
): Promise<Outcome> {
  const { runtime, hooks } = context;
  const { signal } = settings;
  const started = runtime.now();
  const controller = new AbortController();
  let key = "";
  let sent = false;
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
    return context.transport(job, { headers, signal: controller.signal }, (url, init) => {
      controller.signal.throwIfAborted();
      notify(hooks.onRequest, info);
      sent = true;
      const { fetch } = context;
      return fetch(url, init);
    });
  };
  const outcome = await Promise.race([send(), stopped])
    .then((reply) => judge(reply, job, context, key))
    .catch((error) => explain(error, sent, context.baseUrl));
  cancel();
  notify(hooks.onResponse, {
    ...info,
    duration: runtime.now() - started,
    status: outcome.response?.status,
    requestId: requestIdOf(outcome.response),
    error: aboutError(outcome.error),
  });
  return outcome;
}

/** The outcome of a try that ended without an answer. */
function explain(thrown: unknown, sent: boolean, baseUrl: string): Outcome {
  if (thrown instanceof ClientError) return { error: thrown, ambiguous: sent, retry: thrown instanceof TimeoutError };
  if (!sent) return { error: new UsageError("apiKey failed, or the request cannot be sent.", { cause: thrown }) };
  const { code, cause } = thrown as { code?: string; cause?: { code?: string } };
  return {
    error: new ConnectionError(`No connection to ${baseUrl}, or it broke.`, { cause: thrown }),
    ambiguous: !notConnected.test(`${code ?? cause?.code}`),
    retry: true,
  };
}

/** The outcome of a try that was answered. */
function judge({ data: text, error, response }: Reply, job: Job, context: Context, key: string): Outcome {
  const { status, headers, ok } = response;
  const body = (ok ? parse(text) : error) as { data?: Data; error?: unknown; message?: unknown } | undefined;
  const data = body?.data;
  const isWhole = isText(data?.reference) && isText(data.status) && Number.isSafeInteger(data.amount);
  if (ok && isWhole && job.answers(data)) {
    return { data, response, retry: !!job.final && !job.final.includes(data.status) };
  }
  // A service could repeat the key in its text.
  const serverMessage = [body?.error, body?.message].filter(isText).join(": ").replaceAll(key, "[key]");
  // Whatever stands in between may answer too, but the shape of §7 is the service's own.
  const Refusal = isText(body?.error) || status === 401 || status === 429 ? refusals[status] : undefined;
  const Kind = Refusal ?? (status < 500 ? UnexpectedAnswerError : ServerError);
  const message = `Answered ${status}. ${serverMessage || "Check baseUrl and proxies."}`;
  const wait = headers.get("retry-after") ?? "";
  return {
    error: new Kind(message, { status, requestId: requestIdOf(response), serverMessage }),
    retry: !Refusal || status === 429 || (status === 404 && !!job.final),
    ambiguous: !Refusal,
    retryAfter: Math.max(0, Number(wait) * 1000 || Date.parse(wait) - context.runtime.now() || 0),
    response,
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function requestIdOf(response: Response | undefined): string | undefined {
  return response?.headers.get("x-request-id") ?? undefined;
}

/** An error without what it knows of people. */
export function aboutError(error: ClientError | undefined): ErrorInfo | undefined {
  return error && { code: error.code, message: error.message };
}

/** Calls a hook so that neither an error nor a rejection in it reaches the payment. */
export function notify<Info>(hook: (info: Info) => unknown, info: Info): void {
  (async () => hook(info))().catch(ignore);
}
