// Records exchanges. It redacts them before they are stored, so that no later step can leak a secret into a report.
import { curlLine } from "./curl.ts";
import type { HttpResponse, HttpFailure } from "./http.ts";
import { redactHeaders, type Redact } from "./redact.ts";
import type { Exchange } from "../results.ts";
import type { TargetRequest } from "./exchange.ts";

const longestBody = 4096;

const shorten = (text: string) =>
  text.length > longestBody ? `${text.slice(0, longestBody)}… (${text.length} characters)` : text;

/** Returns the name of the shell variable from which the curl command reads the key; "" for a request without a key. */
function keyVariableOf({ key = "own" }: TargetRequest): string {
  return typeof key === "object" ? "WRONG_KEY" : { own: "API_KEY", second: "API_KEY_2", none: "" }[key];
}

export type Sent = { request: TargetRequest; url: string; headers: Record<string, string | string[]>; body?: Buffer };

/**
 * Creates a recorder of requests and their responses.
 * @param secretHeaders the names of request headers whose values are redacted, in addition to the default ones
 */
export function createRecorder(redact: Redact, secretHeaders: readonly string[], now: () => Date) {
  let exchanges: Exchange[] = [];
  let count = 0;
  return {
    /** Records a request that is about to be sent. */
    begin({ request, url, headers, body }: Sent): Exchange {
      const { method } = request;
      const requestHeaders = redactHeaders(headers, redact, secretHeaders);
      const curl = curlLine({ method, url, headers: requestHeaders, keyVariable: keyVariableOf(request), body });
      const exchange: Exchange = {
        id: (count += 1),
        at: now().toISOString(),
        method,
        url: redact(url),
        requestHeaders,
        ...(body ? { requestBody: shorten(redact(body.toString("utf8"))) } : {}),
        durationMs: 0,
        curl: redact(curl),
      };
      exchanges.push(exchange);
      return exchange;
    },
    /** Records the response to a request, or why there was none. */
    end(exchange: Exchange, result: HttpResponse | HttpFailure) {
      exchange.durationMs = now().getTime() - Date.parse(exchange.at);
      if ("failure" in result) {
        exchange.failure = redact(result.failure);
        return;
      }
      exchange.status = result.status;
      exchange.responseHeaders = redactHeaders(result.headers, redact);
      exchange.responseBody = shorten(redact(result.body.toString("utf8")));
    },
    /** Returns the exchanges since the last call. */
    take(): Exchange[] {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
  };
}
