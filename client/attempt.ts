import { AbortedError, TimeoutError } from "./errors.ts";
import type { Hooks, RequestInfo, ResponseInfo } from "./hooks.ts";
import type { Context, Job, Trace } from "./job.ts";
import { ignore } from "./options.ts";
import type { Settings } from "./options.ts";
import { outcomeOfFailure, outcomeOfReply } from "./outcome.ts";
import type { AttemptOutcome } from "./outcome.ts";
import { afterOrAbort } from "./runtime.ts";
import { redact } from "./text.ts";

/**
 * Sends one request and waits at most `timeout` ms. Returns every failure as an outcome. Adds what happened to
 * `attempts` and reports it to the hooks.
 */
export async function attempt(
  context: Context,
  job: Job,
  settings: Settings,
  timeout: number,
  { callId, attempts }: Trace,
  number: number,
): Promise<AttemptOutcome> {
  const { runtime } = context;
  const { signal } = settings;
  const { operation, reference, body } = job;
  const info: RequestInfo = { operation, reference, callId, attempt: number };
  const started = runtime.now();
  const controller = new AbortController();
  let key: string | undefined;
  let sent = false;
  let cancel!: () => void;
  // Rejects when the time is up or the caller aborts. Ends the attempt even if a custom fetch or apiKey ignores the
  // signal.
  const stopped = new Promise<never>((_, reject) => {
    cancel = afterOrAbort(runtime, timeout, signal, () => {
      reject(signal?.aborted ? abortedBy(signal) : new TimeoutError(`No response within ${timeout} ms.`));
      controller.abort();
    });
  });
  const sendRequest = async () => {
    key = await context.apiKey();
    const traceparent = `00-${callId}-${runtime.id().slice(16)}-01`;
    const headers = { traceparent, ...settings.headers, "x-api-key": key };
    return context.transport(job, { headers, signal: controller.signal }, () => {
      controller.signal.throwIfAborted();
      report(context, "onRequest", info);
      sent = true;
    });
  };
  const withoutSecrets = (text: string) => redact(text, key, body?.phoneNumber);
  const outcome = await Promise.race([sendRequest(), stopped])
    .then((reply) => outcomeOfReply(reply, job, context, withoutSecrets))
    .catch((error) => outcomeOfFailure(error, sent, context, withoutSecrets));
  cancel();
  const { response, requestId, error } = outcome;
  const responseInfo: ResponseInfo = {
    ...info,
    duration: runtime.now() - started,
    status: response?.status,
    requestId,
    // The cause and the records can contain personal data.
    error: error && { name: error.name, code: error.code, message: error.message },
  };
  attempts.push(responseInfo);
  report(context, "onResponse", responseInfo);
  return outcome;
}

export function abortedBy({ reason }: AbortSignal): AbortedError {
  return new AbortedError("Aborted.", { cause: reason });
}

/** Calls a hook, and writes its argument to the console if the log level includes it. */
export function report(
  { hooks, logLevel }: Context,
  name: keyof Hooks,
  info: RequestInfo & { error?: ResponseInfo["error"] },
) {
  if (logLevel === "debug" || (logLevel === "warn" && info.error)) console.log(`disbursement-checkout ${name}`, info);
  notify(async () => hooks[name]?.(info as never));
}

/** Calls a hook. Ignores errors and rejections, so that a failing log does not fail the payment. */
export function notify(call: () => Promise<unknown>): void {
  call().catch(ignore);
}
