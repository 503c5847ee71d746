// The protocol between the suite and a client under test: entries in, outcomes out, as lines of JSON.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { asInput, type PlannedEntry } from "./entries.ts";

/** What a client reports about an entry. `protocol.schema.json` explains each outcome. */
export type Outcome = "paid" | "failed" | "refused" | "pending" | "unknown";
export type Claim = { reference: string; outcome: Outcome };

/** The environment variables that a client under test gets. */
export type Environment = {
  BASE_URL: string;
  API_KEY: string;
  /** The suggested time limit for one request, in ms. */
  TIMEOUT_MS: string;
  /** A directory that is empty at the first start. Later starts get the same directory. */
  STATE_DIR: string;
};

const schema = JSON.parse(readFileSync(new URL("protocol.schema.json", import.meta.url), "utf8")) as object;
const fits = new Ajv2020({ validateSchema: false }).compile<Claim>(schema);

/** Renders the input of a client: one entry per line. */
export const inputOf = (planned: readonly PlannedEntry[]) =>
  planned.map((each) => `${JSON.stringify(asInput(each))}\n`).join("");

function claimIn(line: string): Claim | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return fits(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads what a client wrote to stdout.
 * @param wasKilled true if the program was killed, so that its last line may be incomplete
 */
export function readClaims(stdout: string, wasKilled: boolean): { claims: Claim[]; strayLines: string[] } {
  const lines = stdout.split("\n").slice(0, wasKilled ? -1 : undefined);
  const written = lines.map((line) => line.trim()).filter((line) => line !== "");
  const read = written.map((line) => ({ line, claim: claimIn(line) }));
  return {
    claims: read.flatMap(({ claim }) => claim ?? []),
    strayLines: read.filter(({ claim }) => !claim).map(({ line }) => line),
  };
}
