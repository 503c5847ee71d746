// Reads traffic as JSON Lines. docs/watch.md describes the shape.
import type { Readable } from "node:stream";
import { parsedJson } from "../target/values.ts";
import { createRecorder } from "./recorded.ts";
import type { Listener } from "./traffic.ts";

/** The number of characters beyond which only the end of a line is left, which is not JSON. */
const longest = 16 * 1024 * 1024;

/**
 * Tells `listener` the exchanges and webhooks of JSON Lines, as they come, until the input ends.
 * @param target the base URL of the service, see createRecorder
 */
export async function readLines(input: Readable, listener: Listener, target?: string): Promise<void> {
  const record = createRecorder(listener, target);
  let number = 0;
  function read(line: string): void {
    number += 1;
    if (line.trim() !== "") record(`line ${number}`, parsedJson(line));
  }
  let rest = "";
  for await (const text of input.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    if (rest.length > longest) rest = "";
    lines.forEach(read);
  }
  read(rest);
}
