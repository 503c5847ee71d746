// Reads the recorded examples of requirements, which `certify explain`, the report and the documentation show.
import { readFileSync } from "node:fs";
import { parse, stringify } from "lossless-json";

/** How a broken server violates a requirement. Only what a single response shows has messages. */
export type Example = {
  /** A sentence that describes the fault. */
  fault: string;
  /** What a run reports about the fault. */
  expected?: string;
  actual?: string;
  /** Messages as text: the first line, the headers that matter, and the body as it was sent. */
  request?: string;
  /** The response of the broken server, and that of a sound one to the same request. */
  wrong?: string;
  right?: string;
};

export const examplesFile = new URL("../../generated/requirement-examples.json", import.meta.url);
let examples: Record<string, Example> | undefined;

/** Returns the example of a requirement; undefined for a merchant's program, of which none is recorded. */
export function exampleOf(id: string): Example | undefined {
  examples ??= JSON.parse(readFileSync(examplesFile, "utf8")) as Record<string, Example>;
  const example = examples[id];
  return example && { ...example, wrong: indented(example.wrong), right: indented(example.right) };
}

/** Indents the body of a message if it is JSON. Numbers keep their digits. */
function indented(message: string | undefined): string | undefined {
  const [, head, body] = /^([^]*?\n\n)([{[][^]*)$/.exec(message ?? "") ?? [];
  if (head === undefined || body === undefined) return message;
  try {
    return head + stringify(parse(body), undefined, 2);
  } catch {
    return message;
  }
}

/** The page of a requirement in the documentation of a reference server that runs on this machine. */
export const pageOf = (id: string) => `http://127.0.0.1:3000/docs/requirements/${id}`;
