import type { Context, Data, Job } from "./job.ts";
import {
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
import type { ErrorClass } from "./errors.ts";
import { isText, redactData } from "./text.ts";
import type { Redact } from "./text.ts";
import type { Reply } from "./transport.ts";
import type { ErrorCode, FieldError } from "./types.ts";

/** How an attempt ended: with the data of the requested record, or with an error. */
export type AttemptOutcome = ({ data: Data; error?: undefined } | { data?: undefined; error: ClientError }) & {
  /** True if a retry may help. A retry cannot pay twice. */
  retry?: boolean;
  /** True if the service may have recorded the request. */
  ambiguous?: boolean;
  /** The response, if it was read completely. */
  response?: Response;
  requestId?: string | undefined;
};

// The error class for each status with which the service refuses a request. The service recorded nothing; in the case
// of 409 it already has a record with the reference.
const refusalErrors: Record<number, ErrorClass<ClientError>> = {
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

// A gateway in front of the service refuses creates with these statuses too. Its error body may have the fields of the
// interface's §7, as in Fastify and Hapi, but no lower-case code. So only that proves a refusal by the service.
const ofGateways = /^4(0[1345]|1[35])$/;
const codeOfService = /^[a-z]+(_[a-z]+)*$/;

// The error codes of Node and Bun for a connection that was never established, or not trusted because of its certificate.
// The service received nothing. Codes of SSL alerts do not count: an alert can arrive after the request was sent.
const notConnected = /REFUSED$|^ENOTFOUND$|^EAI_AGAIN$|^UND_ERR_CONNECT_TIMEOUT$|^(?!ERR_SSL).*(CERT|LEAF)/i;
// A certificate will not become valid within the time of a call.
const notTrusted = /CERT|LEAF/;

/** An error of fetch. The reason is in its cause or in the error itself. */
interface Failure {
  message?: string;
  code?: string;
  /** The system call that failed. */
  syscall?: string;
  /** The failure for each address of the host. */
  errors?: Failure[];
  cause?: Failure;
}

/** True if no connection could be made, so that no request was sent. */
const isConnectFailure = ({ syscall, errors }: Failure): boolean =>
  syscall === "connect" || !!errors?.every(isConnectFailure);

/** The outcome of an attempt that failed before a response was read completely. */
export function outcomeOfFailure(
  thrown: unknown,
  sent: boolean,
  { baseUrl }: Context,
  withoutSecrets: Redact,
): AttemptOutcome {
  if (thrown instanceof ClientError) {
    const retry = thrown instanceof TimeoutError || thrown instanceof UnexpectedAnswerError;
    return { error: thrown, ambiguous: sent, retry };
  }
  // The new error does not get `thrown` as its cause, because `thrown` can contain the request, and with it the key.
  const { message, code, cause } = Object(thrown) as Failure;
  const reasonCode = code ?? cause?.code ?? "";
  const reason = withoutSecrets([message, cause?.message, reasonCode].filter(isText).join(", "));
  if (!sent) return { error: new UsageError(`The request cannot be sent: ${reason}.`) };
  return {
    error: new ConnectionError(`Connection to ${baseUrl} failed: ${reason}.`),
    ambiguous: !notConnected.test(reasonCode) && !isConnectFailure(cause ?? {}),
    retry: !notTrusted.test(reasonCode),
  };
}

interface Body {
  data?: Data;
  statusCode?: unknown;
  error?: unknown;
  message?: unknown;
  code?: ErrorCode;
  fields?: FieldError[];
}

/** The outcome of an attempt whose response was read completely. */
export function outcomeOfReply(
  { body: received, response }: Reply,
  job: Job,
  context: Context,
  withoutSecrets: Redact,
): AttemptOutcome {
  const { status, headers, ok } = response;
  const requestId = withoutSecrets(headers.get("x-request-id") ?? "") || undefined;
  const data = (received as Body | undefined)?.data;
  if (ok && job.matches(data)) {
    context.isReached = true;
    return { response, requestId, data: data!, retry: !!job.until && !job.until(data!) };
  }
  const body = redactData(received, withoutSecrets) as Body | null;
  // The error body of the interface's §7 is from the service, except perhaps with a status of `ofGateways`. A 429
  // without it is also a refusal, because a rate limiter does not forward the requests it refuses.
  const hasBody = isText(body?.error) && body.statusCode === status;
  const code = body?.code;
  const isFromService =
    hasBody && (code ? isText(code) && codeOfService.test(code) : !job.body || !ofGateways.test(`${status}`));
  context.isReached ||= isFromService;
  const hasNoList = isFromService && !!job.query && (status === 404 || status === 405);
  const RefusalError = hasNoList ? NotFoundError : isFromService || status === 429 ? refusalErrors[status] : undefined;
  const OtherError = status === 401 ? AuthenticationError : status < 500 ? UnexpectedAnswerError : ServerError;
  const serverMessage = [body?.error, body?.message].filter(isText).join(": ");
  // Without the header, the text is "null", which is neither a number nor a date.
  const wait = String(headers.get("retry-after"));
  const now = context.runtime.date();
  const retryAfter = Math.max(0, Number(wait) * 1000 || Date.parse(wait) - now || 0) || undefined;
  // Without a delay, or with one that ends later than Date can hold, `retryAt` is null.
  const retryAt = new Date(now + retryAfter!).toJSON();
  const why = hasNoList
    ? ": the service has no list"
    : isFromService
      ? ""
      : ` without the service's JSON. Check baseUrl (${context.baseUrl}), gateways and firewalls`;
  return {
    response,
    requestId,
    error: new (RefusalError ?? OtherError)(
      [`Received ${status}${why}.`, serverMessage, retryAt && `Retry after ${retryAt}.`].filter(isText).join(" "),
      {
        status,
        requestId,
        serverMessage,
        ...(isFromService && { code, fields: body.fields }),
        retryAfter,
      },
    ),
    retry: RefusalError
      ? status === 429 || (status === 404 && !!job.until && !hasNoList)
      : // If the service was never reached, baseUrl or a gateway is wrong, and a retry would fail in the same way.
        status >= 500 || context.isReached,
    ambiguous: !RefusalError,
  };
}

/** True if a response's `data` has the fields of a record. */
export function isRecord(data: Partial<Data> | undefined): data is Data {
  return isText(data?.reference) && isText(data.status) && Number.isSafeInteger(data.amount);
}
