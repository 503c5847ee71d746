import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import {
  meaningsOf,
  parseOptions,
  PROGRAM,
  UsageError,
  printableJson,
  printableStart,
  type Printer,
} from "./command.ts";
import { createRemote, eventNamed, nearest, REMOTE_OPTIONS, requireSandbox, type Remote } from "./remote.ts";

type Schemas = components["schemas"];

/** How to cause an event: a request, and a phone number that forces the outcome, or an outcome to finish with. */
interface Trigger {
  summary: string;
  path: "/v1/disbursements" | "/v1/checkouts";
  request: "DisbursementRequest" | "CheckoutRequest";
  /** The last digits of the phone number that force the outcome. */
  digits?: string;
  /** The outcome with which the checkout is finished. */
  outcome?: "success" | "failed" | "cancelled";
}

const PAYOUT = { path: "/v1/disbursements", request: "DisbursementRequest" } as const;
const CHECKOUT = { path: "/v1/checkouts", request: "CheckoutRequest" } as const;
const TRIGGERS: Readonly<Record<EventType, Trigger>> = {
  "disbursement.completed": { ...PAYOUT, digits: "001", summary: "Creates a payout that succeeds at once." },
  "disbursement.failed": { ...PAYOUT, digits: "002", summary: "Creates a payout that fails at once." },
  "checkout.completed": { ...CHECKOUT, outcome: "success", summary: "Creates a checkout and pays it." },
  "checkout.failed": { ...CHECKOUT, outcome: "failed", summary: "Creates a checkout whose payment fails." },
  "checkout.cancelled": { ...CHECKOUT, outcome: "cancelled", summary: "Creates a checkout and cancels it." },
};

const OPTIONS = {
  override: {
    value: "FIELD=VALUE",
    multiple: true,
    meaning: "sets a field of the request, such as amount=5000; may be repeated",
  },
  list: { meaning: "list the events, with the fields that can be set" },
  json: { meaning: "print the event as JSON" },
  ...REMOTE_OPTIONS,
} as const;

export const USAGE = `Usage: ${PROGRAM} trigger EVENT [--override FIELD=VALUE]…

Makes an event happen in the sandbox, by creating the payment that it reports.

${meaningsOf(OPTIONS)}`;

/** How long to wait for the event, and the pause between two polls, in milliseconds. */
const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 50;

/** `disbursement-checkout trigger`. Resolves with the exit code. */
export async function trigger(args: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<0> {
  const lines = await linesOf(args, env);
  printer.log(lines.join("\n"));
  return 0;
}

async function linesOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const { positionals, values } = parseOptions(OPTIONS, args, USAGE);
  const [name, ...others] = positionals;
  if (values.list && name === undefined) return EVENT_TYPES.flatMap(describe);
  if (name === undefined || values.list || others.length > 0) throw new UsageError(USAGE);
  const event = eventNamed(name, " To see all: --list");
  const body = { ...requestFor(event), ...overridesOf(event, values.override ?? []) };
  const remote = createRemote(values, env);
  await requireSandbox(remote);
  const reference = await happen(remote, TRIGGERS[event], body);
  const written = await eventWritten(remote, reference);
  if (values.json) return [printableJson(written, 2)];
  const { items } = await remote.send<Schemas["DeliveryList"]>("GET", `/sandbox/deliveries?reference=${reference}`);
  const to = items[0]?.url ?? "nobody: there is no webhookURL or default address";
  return [`${written.body.event}  ${reference}  ${written.id}`, `Goes to ${to}`].map(printableStart);
}

function describe(event: EventType): string[] {
  const { summary, request } = TRIGGERS[event];
  return [`${event.padEnd(22)}  ${summary}`, `${"".padEnd(24)}Fields: ${Object.keys(fieldsOf(request)).join(", ")}`];
}

/** A valid request that leads to the event. Amounts are in the lowest denomination. */
function requestFor(event: EventType): Record<string, unknown> {
  const { digits } = TRIGGERS[event];
  const reference = `trigger-${randomBytes(5).toString("hex")}`;
  const payment = { reference, amount: 10_000, country: "CI", currency: "XOF" };
  return digits === undefined ? payment : { ...payment, phoneNumber: `2250000000${digits}` };
}

/** The fields of a request, with their JSON types. */
function fieldsOf(request: Trigger["request"]): Record<string, string> {
  // Reading the file costs less than importing it as a module.
  const { schemas } = JSON.parse(
    readFileSync(new URL("../../generated/openapi.json", import.meta.url), "utf8"),
  ).components;
  const types = Object.entries<any>(schemas[request].properties).map(([name, { $ref, type }]) => [
    name,
    type ?? schemas[$ref.split("/").at(-1)].type,
  ]);
  return Object.fromEntries(types);
}

/** @throws UsageError if a field does not exist, has another type, or would prevent the event */
function overridesOf(event: EventType, overrides: readonly string[]): Record<string, unknown> {
  const { request, digits } = TRIGGERS[event];
  const fields = fieldsOf(request);
  return Object.fromEntries(
    overrides.map((text) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`--override ${text} must have the form FIELD=VALUE.`);
      if (!Object.hasOwn(fields, name)) {
        const known = Object.keys(fields);
        throw new UsageError(`A ${request} has no field ${name}. Did you mean ${nearest(name, known)}?`);
      }
      if (name === "phoneNumber" && digits !== undefined && !value!.endsWith(digits)) {
        throw new UsageError(`phoneNumber must end in ${digits}, which forces ${event}.`);
      }
      return [name, fields[name] === "integer" ? wholeNumber(name, value!) : value];
    }),
  );
}

function wholeNumber(name: string, text: string): number {
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new UsageError(`${name} must be a whole number.`);
}

/** Creates the payment and, if needed, finishes it. Returns the service's reference, as a URL may contain it. */
async function happen({ send }: Remote, { path, outcome }: Trigger, body: object): Promise<string> {
  const created = await send<Schemas["DisbursementCreated"]>("POST", path, body);
  const reference = encodeURIComponent(created.reference);
  if (outcome !== undefined) await send("POST", `/sandbox/checkouts/${reference}/finish`, { outcome });
  return reference;
}

/** Resolves with the event of a record when the event has been written. */
async function eventWritten({ send }: Remote, reference: string): Promise<Schemas["SandboxEvent"]> {
  for (const begun = performance.now(); performance.now() - begun < PATIENCE_MS; await pause(LOOK_EVERY_MS)) {
    const { items } = await send<Schemas["SandboxEventList"]>("GET", `/sandbox/events?reference=${reference}`);
    if (items[0]) return items[0];
  }
  throw new UsageError(`The payment ${reference} was created, but its event was not written within 10 s.`);
}
