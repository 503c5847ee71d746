// What a run and its repetition from a recording have in common.
import { suiteSha256 } from "../certificate/hashes.ts";
import type { Outside } from "../recording/outside.ts";
import type { createRecording } from "../recording/recording.ts";
import { packed } from "../recording/tape.ts";
import type { Report } from "../results.ts";
import type { RunOptions } from "../run-options.ts";
import { areUnusual } from "../target/redact.ts";
import type { Output } from "../run/progress.ts";
import { run } from "../run/run.ts";
import type { CertifyOptions } from "./options.ts";

/** Runs the checks, through Prism if the caller asked for it. Returns the results and the time at which they are reported. */
export async function runChecks(given: CertifyOptions, options: RunOptions, output: Output, outside: Outside) {
  const prism = given.throughPrism ? await outside.startPrism(options.baseUrl) : undefined;
  const results = await run({ ...options, prismUrl: prism?.url }, output, outside);
  prism?.stop();
  return { results, now: outside.now() };
}

/** Returns the file of the recorded exchanges; undefined if a key is too ordinary to be hidden in it. */
export function exchangesOf(recording: ReturnType<typeof createRecording>, given: CertifyOptions, results: Report) {
  if (!areUnusual(given)) return undefined;
  const { reporting, tls: _, ...kept } = given;
  const ranges = [given.declared, results.foundLimits].flatMap((limits) => limits?.numberRanges ?? []);
  const { lines, options } = recording.finish(kept, ranges);
  const { baseline } = reporting;
  return packed({ start: { format: "certify exchanges 1", suite: suiteSha256(), options, baseline }, lines });
}
