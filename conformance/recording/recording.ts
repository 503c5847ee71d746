// Records everything that a run learns from outside.
import { randomBytes } from "node:crypto";
import type { HttpFailure, HttpResponse } from "../target/http.ts";
import type { SecretOptions } from "../target/redact.ts";
import type { Outside } from "./outside.ts";
import { createStandIns, type StandIns } from "./stand-ins.ts";
import { bodyText, createDescriber, type Asked, type Event, type Line, type RecordedResponse } from "./tape.ts";

type Describer = ReturnType<typeof createDescriber>;
/** Writes an event without secrets. This happens at the end of the run, because only then all secrets are known. */
type Write<Written = Event> = (describe: Describer, standIns: StandIns) => Written;
/** The end of something that was asked; empty if it has not ended. */
type End<T> = { result?: T; error?: string };

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Returns the part of a listener or of Prism that can be recorded: not how to end it. */
const addressOf = ({ url }: { url: string }) => ({ url });

function responseOf(result: HttpResponse | HttpFailure, standIns: StandIns): RecordedResponse {
  if ("failure" in result) return { ...result, failure: standIns.text(result.failure) };
  const { body, headers, ...others } = result;
  return { ...others, headers: standIns.headers(headers), body: standIns.text(body.toString("utf8")) };
}

export function createRecording(inner: Outside) {
  const events: { write: Write; clock: number[] }[] = [];
  const unfinished = new Map<number, Write<{ op: number } & Asked>>();
  const bodies: Parameters<StandIns["learn"]>[0][] = [];
  let clock: number[] = [];
  let ops = 0;
  const waiting: (() => void)[] = [];
  let isBusy = false;

  function record(write: Write) {
    events.push({ write, clock });
    clock = [];
  }

  /**
   * Lets the run learn something. One turn of the event loop separates two events, so that everything which follows
   * from the first event happens before the second event, also in a replay.
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

  /** Does what the run asks of the outside, and records its end. `shown` selects what of the result is recorded. */
  function ask<T>(
    asked: Asked | ((describe: Describer) => Asked),
    work: () => Promise<T>,
    shown: (result: T, standIns: StandIns) => unknown = (result) => result,
  ): Promise<T> {
    const op = (ops += 1);
    const written =
      ({ result, error }: End<T>): Write<{ op: number } & Asked> =>
      (describe, standIns) => ({
        op,
        ...(typeof asked === "function" ? asked(describe) : asked),
        ...(result === undefined ? {} : { result: shown(result, standIns) }),
        ...(error === undefined ? {} : { error: standIns.text(error) }),
      });
    unfinished.set(op, written({}));
    const end = (outcome: End<T>, learn: () => void) =>
      deliver(() => {
        unfinished.delete(op);
        record(written(outcome));
        learn();
      });
    return new Promise<T>((resolve, reject) => {
      work().then(
        (result) => end({ result }, () => resolve(result)),
        (error: unknown) => end({ error: messageOf(error) }, () => reject(error as Error)),
      );
    });
  }

  const interrupted = new AbortController();
  const interrupt = () =>
    deliver(() => {
      record(() => ({ interrupted: true }));
      interrupted.abort();
    });
  inner.interrupted.addEventListener("abort", interrupt, { once: true });

  const outside: Outside = {
    now() {
      const time = inner.now();
      clock.push(time.getTime());
      return time;
    },
    sleep: (ms) => ask({ sleep: ms }, () => inner.sleep(ms)),
    connect(origin, tls) {
      const client = inner.connect(origin, tls);
      return {
        send(request) {
          const { beforeLastByte, body } = request;
          const op = ops + 1;
          const recordedBeforeLastByte =
            beforeLastByte &&
            (() =>
              new Promise<void>((resolve, reject) => {
                deliver(() => {
                  record(() => ({ sent: op }));
                  beforeLastByte().then(resolve, reject);
                });
              }));
          async function send() {
            const result = await client.send({ ...request, beforeLastByte: recordedBeforeLastByte });
            if ("body" in result) bodies.push({ response: result.body.toString("utf8") });
            return result;
          }
          bodies.push({ request: body && bodyText(body) });
          return ask((describe) => describe.http(request), send, responseOf);
        },
        close: () => client.close(),
      };
    },
    lookup: (name) => ask({ lookup: name }, () => inner.lookup(name)),
    listen: (address, receive) =>
      ask(
        { listen: address },
        () =>
          inner.listen(address, (incoming, response) =>
            deliver(() => {
              record((_, standIns) => ({ webhook: standIns.webhook(incoming) }));
              receive(incoming, response);
            }),
          ),
        addressOf,
      ),
    prompt: (text, timeoutMs) =>
      ask(
        (describe) => describe.prompt(text),
        () => inner.prompt(text, timeoutMs),
      ),
    startPrism: (target) => ask({ prism: target }, () => inner.startPrism(target), addressOf),
    notice: (text) => inner.notice(text),
    interrupted: interrupted.signal,
  };

  /** @param ranges the number ranges of the deployment, which reports show */
  function finish<Options extends SecretOptions>(options: Options, ranges: readonly string[]) {
    const standIns = createStandIns(options, randomBytes(32), ranges);
    const describe = createDescriber(options);
    for (const each of bodies) standIns.learn(each);
    const lines = events.map(({ write, clock: read }): Line => ({ ...write(describe, standIns), clock: read }));
    lines.push({ unfinished: [...unfinished.values()].map((write) => write(describe, standIns)), clock });
    return { lines, options: standIns.options };
  }

  return { outside, finish };
}
