import { randomBytes } from "node:crypto";
import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { printable, UsageError } from "./command.ts";
import { connectToSandbox, type Remote } from "./remote.ts";
import { commands } from "./run.ts";

type Schemas = components["schemas"];

/** What forces an event: the last digits of a payout's phone number, or the outcome with which a checkout is finished. */
const CAUSES: Readonly<Record<EventType, string>> = {
  "disbursement.completed": "001",
  "disbursement.failed": "002",
  "checkout.completed": "success",
  "checkout.failed": "failed",
  "checkout.cancelled": "cancelled",
};

export const triggerCommand = commands({
  "trigger [EVENT] [--override] [--list] [--base-url] [--api-key-file]": {
    summary: "Make an event happen in the sandbox, by creating the payment that it reports.",
    async runAtSandbox({ env }, { event: name, override = [], list, json, ...target }) {
      if (list && name === undefined)
        return Object.fromEntries(EVENT_TYPES.map((each) => [each, fieldsOf(each).join(", ")]));
      if (name === undefined || list) throw new UsageError("Give an EVENT, or --list to see all.");
      const event = EVENT_TYPES.find((each) => each === name);
      if (!event) throw new UsageError(`There is no event ${name}. There are ${EVENT_TYPES.join(", ")}.`);
      const body = { ...requestFor(event), ...overridesOf(event, override) };
      const remote = await connectToSandbox(target, env);
      const reference = await createPayment(remote, event, body);
      // The payment and its event are written together.
      const path = `/sandbox/events?reference=${reference}`;
      const [written] = (await remote.send<Schemas["SandboxEventList"]>("GET", path)).items;
      if (!written)
        throw new UsageError(`The payment ${reference} was created. It is not final: it may wait for approval.`);
      if (json) return written;
      const { items } = await remote.send<Schemas["DeliveryList"]>("GET", `/sandbox/deliveries?reference=${reference}`);
      const to = items[0]?.url ?? "nobody: there is no webhookURL or default address";
      return [`${written.body.event}  ${reference}  ${written.id}`, `Goes to ${to}`].map(printable).join("\n");
    },
  },
});

const isOfCheckout = (event: EventType) => event.startsWith("checkout.");

/** A valid request that leads to the event. Amounts are in the lowest denomination. */
function requestFor(event: EventType): Record<string, unknown> {
  const reference = `trigger-${randomBytes(5).toString("hex")}`;
  const payment = { reference, amount: 10_000, country: "CI", currency: "XOF" };
  return isOfCheckout(event) ? payment : { ...payment, phoneNumber: `2250000000${CAUSES[event]}` };
}

/** The fields of the request that leads to an event. */
const fieldsOf = (event: EventType): string[] => {
  const { CheckoutRequest, DisbursementRequest } = document.components.schemas;
  return Object.keys((isOfCheckout(event) ? CheckoutRequest : DisbursementRequest).properties);
};

/** @throws UsageError if a field does not exist, or would prevent the event */
function overridesOf(event: EventType, overrides: readonly string[]): Record<string, unknown> {
  const fields = fieldsOf(event);
  return Object.fromEntries(
    overrides.map((text) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`--override ${text} must have the form FIELD=VALUE.`);
      if (!fields.includes(name))
        throw new UsageError(`The request for ${event} has no field ${name}. It has ${fields.join(", ")}.`);
      if (name === "phoneNumber" && !value!.endsWith(CAUSES[event]))
        throw new UsageError(`phoneNumber must end in ${CAUSES[event]}, which forces ${event}.`);
      return [name, name === "amount" ? Number(value) : value];
    }),
  );
}

/** Creates the payment and, if needed, finishes it. Returns the service's reference, percent-encoded. */
async function createPayment({ send }: Remote, event: EventType, body: object): Promise<string> {
  const path = isOfCheckout(event) ? "/v1/checkouts" : "/v1/disbursements";
  const created = await send<Schemas["DisbursementCreated"]>("POST", path, body);
  const reference = encodeURIComponent(created.reference);
  if (isOfCheckout(event)) await send("POST", `/sandbox/checkouts/${reference}/finish`, { outcome: CAUSES[event] });
  return reference;
}
