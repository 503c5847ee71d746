// Describes what a run asks of the outside, without secrets, so that a recording can be compared with a repetition.
import { createRedactor, hiddenIn, redactHeaders, type SecretOptions } from "../target/redact.ts";
import type { Asked } from "./tape.ts";
import type { HttpClient } from "../target/http.ts";

export type HttpRequest = Parameters<HttpClient["send"]>[0];

/** Returns a body as text, or as base64 if it is not text. */
export function bodyText(body: Buffer): string {
  const text = body.toString("utf8");
  return Buffer.from(text, "utf8").equals(body) ? text : `base64:${body.toString("base64")}`;
}

/** Creates a function that describes requests of a run with these options. */
export function createDescriber(options: SecretOptions) {
  const { secrets, phones } = hiddenIn(options);
  const redact = createRedactor(secrets, phones);
  const secretHeaders = Object.keys(options.headers);
  return {
    http({ origin, path, method, headers, body }: HttpRequest): Asked {
      const compared = Object.fromEntries(
        Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length"),
      );
      const text = body && bodyText(body);
      if (text !== undefined) redact.learn(text);
      return {
        http: {
          method,
          url: redact(origin.origin + path),
          headers: redactHeaders(compared, redact, secretHeaders),
          ...(text === undefined ? {} : { body: redact(text) }),
        },
      };
    },
    prompt: (text: string): Asked => ({ prompt: redact(text) }),
  };
}
