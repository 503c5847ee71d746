// Repeats a recorded run without a network, a clock or a person: gives the run what it learned from outside, in the same
// order. The run must ask for the same things as the recorded run.
import type { HttpFailure, HttpResponse } from "../target/http.ts";
import type { Incoming, Reply } from "../target/receiver.ts";
import type { Outside } from "./outside.ts";
import type { SecretOptions } from "../target/redact.ts";
import { createDescriber, type Asked, type Line, type RecordedResponse } from "./tape.ts";

export class Disagreement extends Error {}

/**
 * How many turns of the event loop the repetition may take before it makes the next request of the recording. Loading a
 * library takes some turns. This many turns take a second or two.
 */
const mostTurns = 200_000;

const lessTime = "the run reads the clock less often than was recorded";

type Recorded = { op: number; result?: unknown; error?: string } & Asked;

const text = (asked: Asked) => JSON.stringify(asked).slice(0, 300);
const turn = () => new Promise((resolve) => setImmediate(resolve));

const noReply: Reply = { writeHead: () => noReply, end: () => undefined, destroy: () => undefined };

/** The parts of a line that do not describe what was asked. */
const outcome = new Set(["op", "result", "error", "clock"]);
const askedIn = (line: Recorded): Asked =>
  Object.fromEntries(Object.entries(line).filter(([name]) => !outcome.has(name))) as Asked;

function resultOf(response: RecordedResponse): HttpResponse | HttpFailure {
  return "failure" in response ? response : { ...response, body: Buffer.from(response.body) };
}

export function createReplay(lines: readonly Line[], options: SecretOptions) {
  const times = lines.flatMap(({ clock }) => clock);
  const recorded = new Map<number, Asked>();
  for (const line of lines) {
    if ("op" in line) recorded.set(line.op, askedIn(line));
    if ("unfinished" in line) for (const each of line.unfinished) recorded.set(each.op, askedIn(each));
  }
  const describe = createDescriber(options);
  const open = new Map<number, { end: (line: Recorded) => void; beforeLastByte?: (() => Promise<void>) | undefined }>();
  const interrupted = new AbortController();
  const failed = Promise.withResolvers<never>();
  let hasEnded = false;
  let hasDisagreed = false;
  let receive: ((incoming: Incoming, response: Reply) => void) | undefined;
  let ops = 0;
  let read = 0;

  /** Ends the repetition. Results that the run asks for from now on never come. */
  function disagree(what: string) {
    hasDisagreed = true;
    failed.reject(new Disagreement(what));
  }

  /** Resolves with the recorded result, or rejects with the recorded error, when the replay reaches it. */
  function ask<T>(asked: Asked, resultFrom: (result: unknown) => T, beforeLastByte?: () => Promise<void>): Promise<T> {
    const op = (ops += 1);
    const before = recorded.get(op);
    if (before === undefined) disagree(`the run asks for more than was recorded: ${text(asked)}`);
    else if (JSON.stringify(before) !== JSON.stringify(asked)) {
      disagree(`the run asks for ${text(asked)}, but recorded was ${text(before)}`);
    }
    return new Promise<T>((resolve, reject) => {
      const end = ({ result, error }: Recorded) =>
        error === undefined ? resolve(resultFrom(result)) : reject(new Error(error));
      open.set(op, { end, beforeLastByte });
    });
  }

  /** Waits until the condition holds. The run may compute, or load a library, for some turns first. */
  async function until(isMet: () => boolean) {
    for (let turns = 0; turns < mostTurns && !isMet() && !hasEnded && !hasDisagreed; turns += 1) await turn();
  }

  /** Waits until the run has asked for something. Returns undefined if it never does. */
  async function waitFor(op: number) {
    await until(() => open.has(op));
    const found = open.get(op);
    if (!found) disagree(`the run never asks for ${text(recorded.get(op)!)}`);
    return found;
  }

  /** Waits until the run has read the clock as often as the recorded run had before its next event. */
  async function waitForReads(count: number) {
    await until(() => read >= count);
    if (read < count) disagree(lessTime);
  }

  async function play() {
    let reads = 0;
    for (const line of lines) {
      await turn();
      reads += line.clock.length;
      await waitForReads(reads);
      if (hasDisagreed) return;
      if ("op" in line) {
        (await waitFor(line.op))?.end(line);
        open.delete(line.op);
      } else if ("sent" in line) void (await waitFor(line.sent))?.beforeLastByte?.();
      else if ("webhook" in line) receive?.(line.webhook, noReply);
      else if ("interrupted" in line) interrupted.abort();
    }
  }

  const outside: Outside = {
    now() {
      const time = times[read];
      if (time === undefined) disagree("the run reads the clock more often than was recorded");
      read += 1;
      return new Date(time ?? times.at(-1) ?? 0);
    },
    sleep: (ms) => ask({ sleep: ms }, () => undefined),
    connect: () => ({
      send: (request) =>
        ask(describe.http(request), (result) => resultOf(result as RecordedResponse), request.beforeLastByte),
      close() {},
    }),
    lookup: (name) => ask({ lookup: name }, (result) => result as string[]),
    listen(address, receiver) {
      receive = receiver;
      return ask({ listen: address }, (result) => ({ ...(result as { url: string }), close: async () => undefined }));
    },
    prompt: (question) => ask(describe.prompt(question), (result) => result as string | undefined),
    startPrism: (target) => ask({ prism: target }, (result) => ({ ...(result as { url: string }), stop() {} })),
    notice() {},
    interrupted: interrupted.signal,
  };

  /** @throws Disagreement */
  async function repeat<T>(work: (outside: Outside) => Promise<T>): Promise<T> {
    const working = work(outside).finally(() => (hasEnded = true));
    const result = await Promise.race([Promise.all([working, play()]).then(([value]) => value), failed.promise]);
    const rest = recorded.size - ops;
    if (rest > 0) throw new Disagreement(`the run asks for less than was recorded: ${rest} requests or waits are left`);
    if (read < times.length) throw new Disagreement(lessTime);
    return result;
  }
  return { repeat };
}
