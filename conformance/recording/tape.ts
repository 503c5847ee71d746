// The format of exchanges.jsonl.gz: one JSON object per line. The first line has the options, every other line is
// something that came from outside, in the order in which the run learned it.
import type { IncomingHttpHeaders } from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";
import type { CertifyOptions } from "../cli/options.ts";
import type { Baseline } from "../report/baseline.ts";
import type { Report } from "../results.ts";
import type { HttpClient } from "../target/http.ts";
import type { Incoming } from "../target/receiver.ts";
import { createRedactor, hiddenIn, redactHeaders, type SecretOptions } from "../target/redact.ts";

export type Start = {
  format: "certify exchanges 1";
  /** A hash of the suite that recorded, as in certificates. */
  suite: string;
  /** The options of the run, with stand-ins instead of secrets. */
  options: Omit<CertifyOptions, "reporting" | "tls">;
  baseline?: Baseline;
  /** The report of a watch that was reported together with the run. */
  watched?: Report;
};

/** What the run asks of the outside. Secrets in it are redacted. */
export type Asked =
  | { http: { method: string; url: string; headers: Record<string, string>; body?: string } }
  | { sleep: number }
  | { lookup: string }
  | { listen: { host: string; port: number } }
  | { prompt: string }
  | { prism: string };

export type RecordedResponse =
  | { status: number; headers: IncomingHttpHeaders; body: string; continued?: true }
  | { failure: string; unreachable: boolean };

/** Something that came from outside. */
export type Event =
  /** The end of what was asked as the `op`-th: its result, or the message of its error. */
  | ({ op: number; result?: unknown; error?: string } & Asked)
  /** All but the last byte of a request was sent. */
  | { sent: number }
  | { webhook: Incoming }
  | { interrupted: true }
  /** The requests that had not ended at the end of the run. */
  | { unfinished: ({ op: number } & Asked)[] };

/** `clock` has the times, in milliseconds since 1970, that the run read since the line before. */
export type Line = Event & { clock: number[] };

export type Tape = { start: Start; lines: Line[] };

export const packed = ({ start, lines }: Tape): Buffer =>
  gzipSync([start, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""), { level: 9 });

const largestTape = 512 * 1024 * 1024;

export function unpacked(content: Uint8Array): Tape {
  const [start, ...lines] = gunzipSync(content, { maxOutputLength: largestTape })
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
  if ((start as Start | undefined)?.format !== "certify exchanges 1") throw new Error("it is not a file of exchanges");
  return { start: start as Start, lines: lines as Line[] };
}

type HttpRequest = Parameters<HttpClient["send"]>[0];

/** Returns a body as text, or as base64 if it is not text. */
export function bodyText(body: Buffer): string {
  const text = body.toString("utf8");
  return Buffer.from(text, "utf8").equals(body) ? text : `base64:${body.toString("base64")}`;
}

/** Describes what a run asks, without secrets, so that a recording can be compared with a repetition. */
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
