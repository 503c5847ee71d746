// The recorded examples of requirements, which the documentation shows.
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
/** Returns the examples by requirement. None is recorded of merchants' programs. */
export const readExamples = () => JSON.parse(readFileSync(examplesFile, "utf8")) as Partial<Record<string, Example>>;

/** The page of a requirement in the documentation of a reference server that runs on this machine. */
export const pageOf = (id: string) => `http://127.0.0.1:3000/docs/requirements/${id}`;
