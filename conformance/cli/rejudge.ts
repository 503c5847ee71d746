// Judges a run again from its recorded exchanges, without a network, and compares the result with its report.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJwt, errors } from "jose";
import { sha256, suiteSha256 } from "../certificate/hashes.ts";
import type { Certificate } from "../certificate/sign.ts";
import { createReplay, Disagreement } from "../recording/replay.ts";
import { unpacked, type Tape } from "../recording/tape.ts";
import { readReport } from "../report/json.ts";
import { counted } from "../report/words.ts";
import { isFileError, type CommandResult } from "./flags.ts";
import type { CertifyOptions } from "./options.ts";
import { probe } from "./probe.ts";
import { runChecks } from "./certify-service.ts";
import { exchangesFile, renderReports } from "./reporting.ts";

const mostShown = 10;

/** Repeats a recorded run, and renders its report. */
async function judgedAgain({ start, lines }: Tape, exchangesSha256: string) {
  const given: CertifyOptions = { ...start.options, reporting: { report: "" } };
  const silent = { write: () => undefined };
  const { results, now } = await createReplay(lines, given).repeat(async (outside) =>
    runChecks(given, await probe(given, outside), silent, outside),
  );
  return renderReports({ ...results, exchangesSha256 }, start, now);
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const shown = (value: unknown) => (value === undefined ? "nothing" : (JSON.stringify(value) ?? "").slice(0, 120));

/** Returns the entries of an object or a list. An entry that has an id, such as a requirement, is named by it. */
const entriesOf = (value: Record<string, unknown>) =>
  new Map(
    Object.entries(value).map(([name, entry]) => [
      isObject(entry) && "id" in entry ? String(entry["id"]) : name,
      entry,
    ]),
  );

/** Names the places in which two JSON values differ. */
function differencesOf(reported: unknown, recomputed: unknown, place = "report.json:"): string[] {
  if (isObject(reported) && isObject(recomputed)) {
    const [a, b] = [entriesOf(reported), entriesOf(recomputed)];
    const names = new Set([...a.keys(), ...b.keys()]);
    return [...names].flatMap((name) => differencesOf(a.get(name), b.get(name), `${place} ${name}`));
  }
  return reported === recomputed ? [] : [`${place} is ${shown(reported)}, but the exchanges give ${shown(recomputed)}`];
}

/** Compares the certificate in the folder, if there is one, with the files beside it. Its signature is not verified. */
function certificateDifferences(folder: string, json: Buffer, exchanges: Buffer): string[] {
  const file = join(folder, "certificate.jws");
  if (!existsSync(file)) return [];
  try {
    const { hashes } = decodeJwt<Certificate>(readFileSync(file, "utf8").trim());
    return [
      ...(hashes.exchanges === sha256(exchanges) ? [] : [`certificate.jws was issued for another ${exchangesFile}`]),
      ...(hashes.report === sha256(json) ? [] : ["certificate.jws was issued for another report.json"]),
    ];
  } catch (error) {
    if (!(error instanceof errors.JOSEError || error instanceof TypeError)) throw error;
    return ["certificate.jws is not readable"];
  }
}

/** Names the files that differ from what the exchanges give; omits report.json if its differences are listed. */
function filesThatDiffer(folder: string, contents: Record<string, string>, isListed: boolean): string[] {
  return Object.entries(contents).flatMap(([name, content]) => {
    const file = join(folder, name);
    // A missing file is no difference.
    if ((name === "report.json" && isListed) || !existsSync(file)) return [];
    return readFileSync(file, "utf8") === content ? [] : [`${name} differs from what the exchanges give`];
  });
}

/**
 * Judges the run in a folder again. The exit code is 0 if everything agrees, 1 if anything differs, and 2 if the files
 * cannot be read.
 */
export async function rejudge(folder: string): Promise<CommandResult> {
  const report = readReport(join(folder, "report.json"));
  const json = readFileSync(join(folder, "report.json"));
  const exchanges = readFileSync(join(folder, exchangesFile));
  const found: string[] = [];
  if (report.exchangesSha256 !== sha256(exchanges)) found.push(`report.json was made from another ${exchangesFile}`);
  found.push(...certificateDifferences(folder, json, exchanges));
  let events = 0;
  try {
    const tape = unpacked(exchanges);
    events = tape.lines.length;
    if (tape.start.suite !== suiteSha256()) {
      found.push("another version of the suite recorded this run: judge it again with that version");
    }
    const again = await judgedAgain(tape, sha256(exchanges));
    const differences = differencesOf(report, JSON.parse(again.json));
    found.push(...differences, ...filesThatDiffer(folder, again.contents, differences.length > 0));
  } catch (error) {
    if (error instanceof Disagreement) found.push(error.message);
    else if (isFileError(error)) throw error;
    else found.push(`${exchangesFile}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (found.length > 0) {
    const more = found.length - mostShown;
    const lines = [...found.slice(0, mostShown), ...(more > 0 ? [`and ${more} more`] : [])];
    return { exitCode: 1, text: `DISAGREES  ${folder}\n${lines.map((line) => `  ${line}\n`).join("")}` };
  }
  const judged = counted(report.requirements.filter(({ checks }) => checks.length > 0).length, "requirement");
  return {
    exitCode: 0,
    text: `AGREES  ${folder}\n  ${judged} judged again from ${counted(events, "event")}: ${report.verdict}\n`,
  };
}
