// Enumerates the mutants of the reference server: copies with one small edit each that weakens it.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import type { Edit } from "./edit.ts";
import { schemaEdits } from "./sql.ts";
import { typescriptEdits } from "./typescript.ts";

export type Mutant = {
  /** Hash of function, source line and edit. It changes with this line only, not with other lines or with a move of the file. */
  id: string;
  /** Path below `server/`. */
  file: string;
  /** The functions around the edit, outermost first. */
  where: string;
  operator: string;
  /** The text that the edit removes, and the text that it inserts. */
  before: string;
  after: string;
  start: number;
  end: number;
  line: number;
};

export const serverFolder = new URL("../../server/", import.meta.url);

/** The code with rules, contract, storage and webhooks. */
const included = [
  "domain/*.ts",
  "http/*.ts",
  "http/pages/*.ts",
  "storage/*.ts",
  "storage/portable/*.ts",
  "storage/sqlite/*.ts",
  "storage/sqlite/migrations/*.sql",
  "webhooks/*.ts",
  "workers/*.ts",
];

/** Files whose effects no client of a running server can observe, each with the reason. */
export const leftOut: Record<string, string> = {
  "domain/clock.ts": "Handles a wall clock that is set back, which no client can do.",
  "domain/redaction.ts": "Hides what the log of requests must not show.",
  "domain/request-log.ts": "Describes the log of requests, which only the dashboard shows.",
  "domain/sign-in.ts": "Signs people in to the dashboard.",
  "domain/telemetry.ts": "Passes on what log and metrics are told.",
  "http/pages/texts.ts": "Contains texts for people.",
  "http/probes.ts": "Answers load balancers, and shows metrics to operators.",
  "http/templates.ts": "Compiles the templates of pages for people at start-up.",
  "storage/copy.ts": "Copies the database to another kind, on the command line.",
  "storage/schema.ts": "Reads the migrations at start-up.",
  "storage/open.ts": "Chooses the storage at start-up.",
  "storage/socket.ts": "Lets commands use the storage of a running server.",
  "storage/storage-error.ts": "Reports a start that failed.",
  "storage/portable/audit.ts": "Writes the audit trail, which only the command line shows.",
  "storage/portable/backlog.ts": "Reads what the metrics show.",
  "storage/portable/housekeeping.ts": "Deletes rows that are too old, and erases phone numbers.",
  "storage/portable/replays.ts": "Replays many webhooks, which only the dashboard and the command line do.",
  "storage/portable/request-log.ts": "Stores the log of requests, which only the dashboard shows.",
  "storage/portable/sign-in-rows.ts": "Reads the sessions of people.",
  "storage/portable/sign-in.ts": "Stores the sessions of people.",
  "storage/sqlite/backup.ts": "Copies the database, on the command line.",
  "storage/sqlite/database.ts": "Opens and locks the database file; matters after a crash and for a second process.",
  "storage/sqlite/health.ts": "Notices that the disk or the database file fails, which no client can cause.",
  "storage/sqlite/tools.ts": "Reads what commands show and check.",
  "workers/request-log.ts": "Keeps the log of requests, which only the dashboard shows.",
  "webhooks/lookup.ts": "Resolves names through DNS; the suite uses addresses.",
  "webhooks/reasons.ts": "Contains texts for people.",
};

/** Returns the files to mutate, as paths below `server/`. */
export function sources(): string[] {
  const cwd = fileURLToPath(serverFolder);
  return globSync(included, { cwd })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !path.endsWith(".test.ts") && !Object.hasOwn(leftOut, path))
    .toSorted();
}

export const readSource = (file: string) => readFileSync(new URL(file, serverFolder), "utf8");

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

/** Returns the SHA-256 of the files to mutate. */
export const sourcesHash = () => hash(JSON.stringify(sources().map((file) => [file, readSource(file)])));

/** Returns all mutants, in the order of the code. */
export function allMutants(): Mutant[] {
  const seen = new Map<string, number>();
  return sources().flatMap((file) => {
    const text = readSource(file);
    const edits = file.endsWith(".sql")
      ? schemaEdits(text).map((edit) => ({ edit, where: tableAt(text, edit.start) }))
      : typescriptEdits(file, text);
    return edits.map(({ edit, where }) => toMutant(file, text, edit, where, seen));
  });
}

const tableAt = (sql: string, at: number) => /CREATE TABLE (\w+)(?![^]*CREATE TABLE)/.exec(sql.slice(0, at))?.[1] ?? "";

function toMutant(file: string, text: string, edit: Edit, where: string, seen: Map<string, number>): Mutant {
  const { operator, start, end } = edit;
  const before = text.slice(start, end);
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const source = text.slice(lineStart).split("\n", 1)[0]!;
  const column = start - lineStart - (source.length - source.trimStart().length);
  const key = JSON.stringify([basename(file), where, source.trim(), column, operator, edit.text]);
  // Equal edits of equal lines in one function differ only in their order.
  const ordinal = seen.get(key) ?? 0;
  seen.set(key, ordinal + 1);
  const id = hash(`${key} ${ordinal}`).slice(0, 8);
  const line = text.slice(0, start).split("\n").length;
  return { id, file, where, operator, before, after: edit.text, start, end, line };
}

/** Returns the source text of a file with the edits of these mutants, which must not overlap. */
export function mutated(file: string, mutants: readonly Mutant[]): string {
  return mutants
    .filter((mutant) => mutant.file === file)
    .toSorted((a, b) => b.start - a.start)
    .reduce((text, { start, end, after }) => text.slice(0, start) + after + text.slice(end), readSource(file));
}
