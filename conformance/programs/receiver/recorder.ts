// Records requests and responses. Secrets and signatures are removed before anything is stored.
import { createRedactor, redactHeaders, type Redact } from "../../target/redact.ts";
import type { Exchange } from "../../results.ts";
import { keyOf, macOf } from "./signature.ts";
import type { Outcome, WebhookRequest } from "./send.ts";

const longestBody = 2048;
const shortened = (text: string) =>
  text.length > longestBody ? `${text.slice(0, longestBody)}… (${text.length} characters)` : text;

/** Joins the values of doubled headers, as HTTP does. */
const joined = (headers: WebhookRequest["headers"]): Record<string, string> => {
  const names = Map.groupBy(headers, ([name]) => name);
  return Object.fromEntries([...names].map(([name, values]) => [name, values.map(([, value]) => value).join(", ")]));
};

const headerOf = ({ headers }: WebhookRequest, wanted: string) =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";

function responseOf({ status, headers, body, failure }: Outcome, redact: Redact): Partial<Exchange> {
  if (status === undefined) return failure === undefined ? {} : { failure: redact(failure) };
  return { status, responseHeaders: redactHeaders(headers, redact), responseBody: shortened(redact(body)) };
}

/**
 * Creates a function that records a request and its outcome.
 * @param nextId returns numbers that are unique in the run
 * @returns a function of the request, its outcome, when it was sent, and how long it took
 */
export function createRecorder(url: string, secrets: readonly string[], nextId: () => number) {
  const keys = secrets.map(keyOf);
  const hidden = [...secrets, ...secrets.map((secret) => secret.replace(/^whsec_/, ""))];
  return (request: WebhookRequest, outcome: Outcome, at: Date, durationMs: number): Exchange => {
    const { method, body } = request;
    // A faulty receiver may state the signature that it expected.
    const [id, timestamp] = [headerOf(request, "webhook-id"), headerOf(request, "webhook-timestamp")];
    const redact = createRedactor([...hidden, ...keys.map((key) => macOf(key, id, timestamp, body))], []);
    const text = body.toString("utf8");
    redact.learn(text);
    return {
      id: nextId(),
      at: at.toISOString(),
      method,
      url,
      requestHeaders: redactHeaders(joined(request.headers), redact),
      requestBody: shortened(redact(text)),
      durationMs,
      curl: "# The signature of an event expires after minutes. Re-run the scenario.",
      ...responseOf(outcome, redact),
    };
  };
}
