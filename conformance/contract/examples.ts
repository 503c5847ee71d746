// Reads the recorded examples of requirements, which `certify explain`, the report and the documentation show.
import { readFileSync } from "node:fs";

/** How a broken server violates a requirement. Only what a single response shows has messages. */
export type Example = {
  /** A sentence that describes the fault. */
  fault: string;
  /** What a run reports about the fault. */
  expected?: string;
  actual?: string;
  /** Messages as text: the first line, the headers that matter, and the body. */
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
  return examples[id];
}

/** The page of a requirement in the documentation of a reference server that runs on this machine. */
export const pageOf = (id: string) => `http://127.0.0.1:3000/docs/requirements/${id}`;
