// Builds the exchange of a report from a request and its outcome, without secrets.
import type { IncomingHttpHeaders } from "node:http";
import { shortened } from "../report/visible.ts";
import type { Exchange } from "../results.ts";
import { redactHeaders, type Redact } from "../target/redact.ts";

/** The longest body that a report shows, in characters. */
const longestBody = 2048;

type Request = Pick<Exchange, "id" | "method" | "url" | "durationMs" | "curl"> & {
  at: Date;
  headers: Parameters<typeof redactHeaders>[0];
  text: string;
};
/** What is known of the response to a request, or the reason why there is no status. */
export type Outcome = { status?: number; headers?: IncomingHttpHeaders; body?: string; failure?: string };

export function exchangeOf(request: Request, outcome: Outcome, redact: Redact): Exchange {
  const { id, at, method, url, headers, text, durationMs, curl } = request;
  const { status, failure } = outcome;
  return {
    id,
    at: at.toISOString(),
    method,
    url: redact(url),
    requestHeaders: redactHeaders(headers, redact),
    ...(text === "" ? {} : { requestBody: shortened(redact(text), longestBody) }),
    durationMs,
    curl,
    ...(status === undefined
      ? { failure: redact(failure ?? "") }
      : {
          status,
          responseHeaders: redactHeaders(outcome.headers ?? {}, redact),
          responseBody: shortened(redact(outcome.body ?? ""), longestBody),
        }),
  };
}
