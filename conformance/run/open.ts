// Creates the target and the session of a run from its options.
import { thisMachine, type Outside } from "../recording/outside.ts";
import { createBudget } from "../target/ledger.ts";
import { createLimits } from "../allowances/limits.ts";
import { createVisibility } from "../allowances/visibility.ts";
import { listens } from "./needs.ts";
import { createPerson } from "../target/person.ts";
import { realRecipients, type RunOptions } from "../run-options.ts";
import { createReceiver } from "../target/receiver.ts";
import { createRedactor, hiddenIn } from "../target/redact.ts";
import { createSession } from "./session.ts";
import { createTarget, type TargetOptions } from "../target/target.ts";

export function openTarget(
  options: Omit<RunOptions, "loopback" | "environment" | "profile" | "controls" | "settleTimeoutMs"> &
    Pick<TargetOptions, "isImpatient">,
  outside: Outside = thisMachine(),
) {
  const { secrets, phones } = hiddenIn(options);
  const http = outside.connect(new URL(options.baseUrl).origin, options.tls);
  const limits = createLimits(options.declared);
  const target = createTarget(
    { ...options, people: realRecipients(options) },
    {
      ...outside,
      http,
      budget: createBudget(options.maxPayouts, options.maxTotal),
      redact: createRedactor(secrets, phones),
      visibility: createVisibility(limits, outside.now),
    },
  );
  return { target, limits, http, close: () => http.close() };
}

/** Creates the session of a run with these options, with a webhook receiver if the options ask for it. */
export async function openSession(options: RunOptions, outside: Outside = thisMachine()) {
  const { target, limits, close } = openTarget(options, outside);
  const { webhookListen: address, webhookUrl: publicUrl } = options;
  const receiver =
    address && listens(options)
      ? await createReceiver({ ...address, publicUrl }, outside.now, outside.listen, target.merchant.mailbox)
      : undefined;
  const person = options.interactive ? createPerson(outside.prompt) : undefined;
  const session = createSession(options, { ...outside, target, limits, receiver, person });
  return {
    session,
    async close() {
      close();
      await receiver?.close();
    },
  };
}
