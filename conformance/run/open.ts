// Creates targets and sessions with the real clock, network and webhook receiver.
import { setTimeout as sleep } from "node:timers/promises";
import { complain } from "../report/print.ts";
import { createBudget } from "../target/budget.ts";
import { createLimits } from "../allowances/limits.ts";
import { createVisibility } from "../allowances/visibility.ts";
import { createHttpClient } from "../target/http.ts";
import { listens } from "./needs.ts";
import { createPerson, promptOnTerminal } from "../target/person.ts";
import { realRecipients, type RunOptions } from "../run-options.ts";
import { createReceiver } from "../target/receiver.ts";
import { createRedactor } from "../target/redact.ts";
import { createSession } from "./session.ts";
import { createTarget, type TargetOptions } from "../target/target.ts";

const now = () => new Date();
const known = (texts: (string | undefined)[]) => texts.filter((text) => text !== undefined);

/** Creates the target of a run with these options. */
export function openTarget(
  options: Omit<RunOptions, "loopback" | "environment" | "runId" | "profile" | "controls" | "settleTimeoutMs"> &
    Pick<TargetOptions, "patienceMs">,
) {
  const secrets = [options.key, options.secondKey, options.webhookSecret, ...Object.values(options.headers)];
  const people = realRecipients(options);
  const http = createHttpClient(options.tls, new URL(options.baseUrl).origin);
  const limits = createLimits(options.declared);
  const target = createTarget(
    { ...options, people },
    {
      http,
      budget: createBudget(options.maxPayouts, options.maxTotal),
      redact: createRedactor(known(secrets), Object.values(people)),
      now,
      sleep: (ms) => sleep(ms),
      visibility: createVisibility(limits, now),
      notice: (text) => complain(`\n${text[0]!.toUpperCase()}${text.slice(1)}`),
    },
  );
  return { target, limits, http, close: () => http.close() };
}

/** Creates the session of a run with these options, with a webhook receiver if the options ask for one. */
export async function openSession(options: RunOptions) {
  const { target, limits, close } = openTarget(options);
  const { webhookListen: listen, webhookUrl: publicUrl } = options;
  const receiver = listen && listens(options) ? await createReceiver({ ...listen, publicUrl }, now) : undefined;
  const person = options.interactive ? createPerson(promptOnTerminal) : undefined;
  const session = createSession(options, { target, limits, receiver, person, now, sleep: (ms) => sleep(ms) });
  return {
    session,
    async close() {
      close();
      await receiver?.close();
    },
  };
}
