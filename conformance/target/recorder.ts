// Records exchanges. It redacts them before they are stored, so that no later step can leak a secret into a report.
import type { Merchant } from "../generate/merchant.ts";
import { escaped } from "../generate/serialisations.ts";
import type { HttpResponse, HttpFailure } from "./http.ts";
import { masked, redactHeaders, secretHeaders as keyHeaders, type Redact } from "./redact.ts";
import { curlLine, headerVariable, type CurlRequest, type Substitute } from "./shell.ts";
import type { Exchange } from "../results.ts";
import type { TargetRequest } from "./exchange.ts";

const longestBody = 4096;

const shorten = (text: string) =>
  text.length > longestBody ? `${text.slice(0, longestBody)}… (${text.length} characters)` : text;

/** Returns the reference in a POST's body; in a body that is not JSON, the text of its field; "" if there is none. */
function referenceIn({ method }: TargetRequest, text: string): string {
  if (method !== "POST") return "";
  try {
    return String((JSON.parse(text) as { reference?: unknown }).reference ?? "");
  } catch {
    return /"reference"\s*:\s*"(?:[^"\\]|\\.)*"/.exec(text)?.[0] ?? "";
  }
}

/** Replaces a reference by a shell expression of the same length whose value changes every second. */
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
  key: string;
  secondKey?: string;
  /** The phone numbers of real people, by the name of the shell variable that replaces them in commands. */
  people?: Readonly<Record<string, string>>;
  /** The names of request headers whose values are redacted, in addition to the default headers. */
  secretHeaders: readonly string[];
  now: () => Date;
};

export function createRecorder({ redact, merchant, now, secretHeaders, ...options }: RecorderOptions) {
  const { key, secondKey, people = {} } = options;
  const used = new Set<string>();
  let count = 0;
  const phones = Object.entries(people).map(([name, phone]) => [`\${${name}:?}`, phone] as const);
  const hidden = [["${API_KEY}", key] as const, ["${API_KEY_2}", secondKey] as const, ...phones];
  const substitutes = hidden.flatMap(([shell, value = ""]): Substitute[] =>
    [...new Set([value, encodeURIComponent(value)])].filter((text) => text !== "").map((text) => ({ text, shell })),
  );
  const headerVariables = Object.fromEntries(
    secretHeaders.map((name) => [name.toLowerCase(), `\${${headerVariable(name)}:?}`]),
  );

  /** Masks headers that contain a part of the key. The redactor keeps parts that may be ordinary numbers. */
  const withoutParts = (headers: CurlRequest["headers"]) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => {
        const isPart = value !== "" && value !== key && key.includes(String(value));
        return [name, isPart && keyHeaders.has(name.toLowerCase()) ? masked : value];
      }),
    );

  function commandOf({ request, url, headers, body, flags }: Sent, bodyText: string): string {
    if (request.together) return raceCommand;
    // A create can be repeated only with a new reference, and a duplicate only with the same reference.
    const text = referenceIn(request, bodyText);
    const own = merchant.referenceIn(text);
    const use = `${request.path.split("?")[0]} ${text}`;
    const isNew = own !== undefined && !used.has(use);
    used.add(use);
    const replaced = isNew ? [...substitutes, newReference(own, bodyText)] : substitutes;
    const shown = { method: request.method, url, headers: withoutParts(merchant.withoutUsual(headers)), body, flags };
    return redact(curlLine(shown, replaced, headerVariables));
  }

  /** Returns what the report shows of a request. */
  function shownOf(sent: Sent): Pick<Exchange, "url" | "requestHeaders" | "requestBody" | "curl"> {
    const { url, headers, body } = sent;
    const bodyText = body?.toString("utf8") ?? "";
    redact.learn(bodyText);
    return {
      url: redact(url),
      requestHeaders: redactHeaders(headers, redact, secretHeaders),
      ...(body ? { requestBody: shorten(redact(bodyText)) } : {}),
      curl: commandOf(sent, bodyText),
    };
  }

  function begin({ account, method }: TargetRequest, shown: ReturnType<typeof shownOf>): Exchange {
    const exchange = { id: (count += 1), at: now().toISOString(), method, durationMs: 0, ...shown };
    account?.exchanges.push(exchange);
    return exchange;
  }

  return {
    begin: (sent: Sent): Exchange => begin(sent.request, shownOf(sent)),
    /**
     * Records a request to another origin. A report shows none of its path, headers and body: they are not the
     * target's, and may contain somebody's secrets.
     */
    beginForeign: (request: TargetRequest, { origin }: URL): Exchange =>
      begin(request, {
        url: redact(origin),
        requestHeaders: {},
        curl: "# A page of another origin than the target's, whose path is not shown. Re-run the check.",
      }),
    end(exchange: Exchange, result: HttpResponse | HttpFailure, isForeign = false) {
      exchange.durationMs = now().getTime() - Date.parse(exchange.at);
      if ("failure" in result) {
        exchange.failure = redact(result.failure);
        return;
      }
      exchange.status = result.status;
      exchange.responseHeaders = isForeign ? {} : redactHeaders(result.headers, redact);
      exchange.responseBody = isForeign ? "(a page of another origin)" : shorten(redact(result.body.toString("utf8")));
    },
  };
}
