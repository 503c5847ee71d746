// Records exchanges. It redacts them before they are stored, so that no later step can leak a secret into a report.
import { curlLine, type CurlRequest } from "./curl.ts";
import type { Merchant } from "../generate/merchant.ts";
import { escaped } from "../generate/serialisations.ts";
import type { HttpResponse, HttpFailure } from "./http.ts";
import { redactHeaders, type Redact } from "./redact.ts";
import type { Substitute } from "./shell.ts";
import type { Exchange } from "../results.ts";
import type { TargetRequest } from "./exchange.ts";

const longestBody = 4096;

const shorten = (text: string) =>
  text.length > longestBody ? `${text.slice(0, longestBody)}… (${text.length} characters)` : text;

/**
 * Returns the merchant's reference in the body of a POST, or the text of the field if it is not JSON; "" without a
 * reference.
 */
function referenceIn({ method }: TargetRequest, text: string): string {
  if (method !== "POST") return "";
  try {
    return String((JSON.parse(text) as { reference?: unknown }).reference ?? "");
  } catch {
    return /"reference"\s*:\s*"(?:[^"\\]|\\.)*"/.exec(text)?.[0] ?? "";
  }
}

/**
 * Returns a replacement for a reference of this run, as the body writes it. It has the same length, and differs from
 * second to second.
 */
function newReference({ reference, number }: { reference: string; number: number }, body: string): Substitute {
  const spellings = [reference, reference.toUpperCase()].flatMap((text) => [text, escaped(text)]);
  return {
    text: spellings.find((text) => body.includes(text)) ?? reference,
    shell: `c$(date +%s)${String(number).padStart(reference.length - 11, "0")}`,
  };
}

/** Shown instead of a command for a request that raced: no single command repeats a race. */
export const raceCommand = "# One of several requests that raced. Re-run the check.";

export type Sent = { request: TargetRequest } & Omit<CurlRequest, "method">;

export type RecorderOptions = {
  redact: Redact;
  merchant: Merchant;
  /** Texts that commands must not contain, such as keys and phone numbers of real people. */
  substitutes: readonly Substitute[];
  /** The names of request headers whose values are redacted, in addition to the default headers. */
  secretHeaders: readonly string[];
  now: () => Date;
};

/** Creates a recorder of requests and their responses. */
export function createRecorder({ redact, merchant, substitutes, secretHeaders, now }: RecorderOptions) {
  const used = new Set<string>();
  let exchanges: Exchange[] = [];
  let count = 0;
  return {
    /** Records a request that is about to be sent. */
    begin({ request, url, headers, body, flags }: Sent): Exchange {
      const { method } = request;
      const requestHeaders = redactHeaders(headers, redact, secretHeaders);
      const bodyText = body?.toString("utf8") ?? "";
      redact.learn(bodyText);
      // A create can be repeated only with a new reference, and a duplicate only with the same reference.
      const text = referenceIn(request, bodyText);
      const own = merchant.referenceIn(text);
      const use = `${request.path.split("?")[0]} ${text}`;
      const isNew = own !== undefined && !used.has(use);
      used.add(use);
      const replaced = isNew ? [...substitutes, newReference(own, bodyText)] : substitutes;
      const shown = { method, url, headers: merchant.withoutUsual(headers), body, flags };
      const curl = curlLine(shown, replaced, secretHeaders);
      const exchange: Exchange = {
        id: (count += 1),
        at: now().toISOString(),
        method,
        url: redact(url),
        requestHeaders,
        ...(body ? { requestBody: shorten(redact(body.toString("utf8"))) } : {}),
        durationMs: 0,
        curl: request.together ? raceCommand : redact(curl),
      };
      (request.account?.exchanges ?? exchanges).push(exchange);
      return exchange;
    },
    /**
     * Records a request to another origin. A report shows no path, header or body of it: they are not the target's, and
     * may be somebody's secrets.
     */
    beginForeign({ method, account }: TargetRequest, { origin }: URL): Exchange {
      const exchange: Exchange = {
        id: (count += 1),
        at: now().toISOString(),
        method,
        url: redact(origin),
        requestHeaders: {},
        durationMs: 0,
        curl: "# A page of another origin than the target's, whose path is not shown. Re-run the check.",
      };
      (account?.exchanges ?? exchanges).push(exchange);
      return exchange;
    },
    endForeign(exchange: Exchange, result: HttpResponse | HttpFailure) {
      exchange.durationMs = now().getTime() - Date.parse(exchange.at);
      if ("failure" in result) {
        exchange.failure = redact(result.failure);
        return;
      }
      exchange.status = result.status;
      exchange.responseHeaders = {};
      exchange.responseBody = "(a page of another origin)";
    },
    /** Records the response to a request, or why there was no response. */
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
    /** Returns the exchanges since the last call, without the exchanges of requests that have an account. */
    take(): Exchange[] {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
  };
}
