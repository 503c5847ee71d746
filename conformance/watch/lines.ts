// Reads traffic as JSON Lines. docs/watch.md describes the shape.
import { parsedJson } from "../target/values.ts";
import { createRecorder } from "./recorded.ts";
import type { Listener } from "./traffic.ts";

const longest = 32 * 1024 * 1024;

/** Yields the lines that each chunk ends. Of a line that is too long, only its end is left, which is not JSON. */
async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of input) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = text.lastIndexOf(10) + 1;
    if (end > 0) yield text.toString("utf8", 0, end - 1).split("\n");
    rest = text.subarray(text.length - end > longest ? text.length : end);
  }
  yield [rest.toString()];
}

/**
 * Tells `listener` the exchanges and webhooks of JSON Lines, as they come, until the input ends.
 * @param target the base URL of the service, see createRecorder
 */
export async function readLines(input: AsyncIterable<Buffer>, listener: Listener, target?: string): Promise<void> {
  const record = createRecorder(listener, target);
  let number = 0;
  for await (const lines of linesOf(input)) {
    for (const line of lines) {
      number += 1;
      if (line.trim() !== "") record(`line ${number}`, parsedJson(line));
    }
  }
}
