// Records everything that a run learns from outside.
import { randomBytes } from "node:crypto";
import type { Prompt } from "../target/person.ts";
import type { HttpFailure, HttpResponse } from "../target/http.ts";
import type { Incoming } from "../target/receiver.ts";
import { bodyText, createDescriber, type HttpRequest } from "./asked.ts";
import type { Outside } from "./outside.ts";
import type { SecretOptions } from "../target/redact.ts";
import { createStandIns, type StandIns } from "./stand-ins.ts";
import type { Asked, Event, Line, RecordedResponse } from "./tape.ts";

type Result = HttpResponse | HttpFailure;

/** The lines that are kept in memory until the run has ended. All secrets are known only at the end. */
type Kept =
  | { kind: "http"; op: number; request: HttpRequest; result?: Result; error?: string }
  | { kind: "prompt"; op: number; text: string; result?: unknown; error?: string }
  | { kind: "webhook"; incoming: Incoming }
  | { kind: "other"; event: Event };

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function responseOf(result: Result, standIns: StandIns): RecordedResponse {
  if ("failure" in result) return { ...result, failure: standIns.text(result.failure) };
  const { body, headers, ...others } = result;
  return { ...others, headers: standIns.headers(headers), body: standIns.text(body.toString("utf8")) };
}

/** Wraps the outside of a run, so that everything is recorded. */
export function createRecording(inner: Outside) {
  const kept: { entry: Kept; clock: number[] }[] = [];
  const unfinished = new Map<number, Kept>();
  let clock: number[] = [];
  let ops = 0;
  const waiting: (() => void)[] = [];
  let isBusy = false;

  function keep(entry: Kept) {
    kept.push({ entry, clock });
    clock = [];
  }

  /**
   * Lets the run learn something. One turn of the event loop separates two events, so that everything which follows
   * from the first event happens before the second event, also in a repetition.
   */
  function deliver(learn: () => void) {
    waiting.push(learn);
    if (isBusy) return;
    isBusy = true;
    next();
  }
  function next() {
    const learn = waiting.shift();
    isBusy = learn !== undefined;
    if (learn === undefined) return;
    learn();
    setImmediate(next);
  }

  /** Records what is asked, and its result. `entry` describes it. */
  function ask<T>(
    entry: (op: number, end: { result?: T; error?: string }) => Kept,
    work: () => Promise<T>,
  ): Promise<T> {
    const op = (ops += 1);
    unfinished.set(op, entry(op, {}));
    const end = (outcome: { result?: T; error?: string }, learn: () => void) =>
      deliver(() => {
        unfinished.delete(op);
        keep(entry(op, outcome));
        learn();
      });
    return new Promise<T>((resolve, reject) => {
      work().then(
        (result) => end({ result }, () => resolve(result)),
        (error: unknown) => end({ error: messageOf(error) }, () => reject(error as Error)),
      );
    });
  }
  const plain =
    <T>(asked: Asked, shown: (result: T) => unknown = (result) => result) =>
    (op: number, { result, error }: { result?: T; error?: string }): Kept => ({
      kind: "other",
      event: {
        ...asked,
        op,
        ...(result === undefined ? {} : { result: shown(result) }),
        ...(error === undefined ? {} : { error }),
      },
    });

  const interrupted = new AbortController();
  const interrupt = () =>
    deliver(() => {
      keep({ kind: "other", event: { interrupted: true } });
      interrupted.abort();
    });
  inner.interrupted.addEventListener("abort", interrupt, { once: true });

  const prompt: Prompt = (text, timeoutMs) =>
    ask(
      (op, end) => ({ kind: "prompt", op, text, ...end }),
      () => inner.prompt(text, timeoutMs),
    );
  const outside: Outside = {
    now() {
      const time = inner.now();
      clock.push(time.getTime());
      return time;
    },
    sleep: (ms) => ask(plain({ sleep: ms }), () => inner.sleep(ms)),
    connect(origin, tls) {
      const client = inner.connect(origin, tls);
      return {
        send(request) {
          const { beforeLastByte } = request;
          const op = ops + 1;
          const announced =
            beforeLastByte &&
            (() =>
              new Promise<void>((resolve, reject) => {
                deliver(() => {
                  keep({ kind: "other", event: { sent: op } });
                  beforeLastByte().then(resolve, reject);
                });
              }));
          return ask(
            (_, end) => ({ kind: "http", op, request, ...end }),
            () => client.send({ ...request, beforeLastByte: announced }),
          );
        },
        close: () => client.close(),
      };
    },
    lookup: (name) => ask(plain({ lookup: name }), () => inner.lookup(name)),
    listen: (address, receive) =>
      ask(
        plain({ listen: address }, ({ url }: { url: string }) => ({ url })),
        () =>
          inner.listen(address, (incoming, response) =>
            deliver(() => {
              keep({ kind: "webhook", incoming });
              receive(incoming, response);
            }),
          ),
      ),
    prompt,
    startPrism: (target) =>
      ask(
        plain({ prism: target }, ({ url }: { url: string }) => ({ url })),
        () => inner.startPrism(target),
      ),
    notice: (text) => inner.notice(text),
    interrupted: interrupted.signal,
  };

  function eventOf(entry: Kept, describe: ReturnType<typeof createDescriber>, standIns: StandIns): Event {
    if (entry.kind === "other") return entry.event;
    if (entry.kind === "webhook") return { webhook: standIns.webhook(entry.incoming) };
    const { op, error } = entry;
    const failed = error === undefined ? {} : { error: standIns.text(error) };
    if (entry.kind === "prompt")
      return {
        op,
        ...describe.prompt(entry.text),
        ...(entry.result === undefined ? {} : { result: entry.result }),
        ...failed,
      };
    const { request, result } = entry;
    const ended = result === undefined ? {} : { result: responseOf(result, standIns) };
    return { op, ...describe.http(request), ...ended, ...failed };
  }

  /**
   * Returns what was recorded, without secrets.
   * @param ranges the number ranges of the deployment, which reports show
   */
  function finish<Options extends SecretOptions>(options: Options, ranges: readonly string[]) {
    const standIns = createStandIns(options, randomBytes(32), ranges);
    const describe = createDescriber(options);
    for (const { entry } of kept) {
      if (entry.kind !== "http") continue;
      const { request, result } = entry;
      standIns.learn({
        request: request.body && bodyText(request.body),
        response: result && "body" in result ? result.body.toString("utf8") : undefined,
      });
    }
    const lines = kept.map(({ entry, clock: read }): Line => ({ ...eventOf(entry, describe, standIns), clock: read }));
    const open = [...unfinished.values()].map((entry) => eventOf(entry, describe, standIns));
    lines.push({ unfinished: open as Extract<Event, { unfinished: unknown }>["unfinished"], clock });
    return { lines, options: standIns.options };
  }

  return { outside, finish };
}
