// Servers that misread the filters of lists or amounts in other notations, or that refuse without naming the field.
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import { createDisbursement, fieldsOf, isOf, refusal, withBody, withFields, without } from "../ways.ts";

const lists = ["listDisbursements", "listCheckouts"];

/** Replaces an invalid filter before the server judges it. */
const reads = (invalid: RegExp, as: string): Hooks => ({
  handle: (call, ask) => ask(isOf(call, lists) ? { ...call, path: call.path.replace(invalid, as) } : call),
});

export const faults: readonly Fault[] = [
  fault("list-february-30", "createdAfter reads 30 February as 2 March.", "lists.invalid-filters", () =>
    reads(/(createdAfter=2026)-02-30/, "$1-03-02"),
  ),
  fault("list-any-status", "An unknown status lists the records of every status.", "lists.invalid-filters", () =>
    reads(/status=(?!pending|success|failed|cancelled)\w+/, ""),
  ),
  fault("list-limit-clamped", "A limit of 101 counts as 100.", "lists.invalid-filters", () =>
    reads(/limit=101/, "limit=100"),
  ),
  fault("list-limit-zero", "A limit of 0 counts as the default.", "lists.invalid-filters", () => reads(/limit=0/, "")),
  fault("list-empty-reference", "An empty merchantsReference lists all records.", "lists.invalid-filters", () =>
    reads(/merchantsReference=(?=&|$)/, ""),
  ),
  quickFault(
    "negative-exponent-rounded",
    "A fraction behind a negative exponent is rounded away.",
    "json-values.inexact-fraction",
    () => ({
      handle: (call, ask) =>
        ask(
          isOf(call, createDisbursement) && /"amount":\d+e-/.test(call.body.toString())
            ? withFields(call, fieldsOf(call.body))
            : call,
        ),
    }),
  ),
  fault("negative-exponent-refused", "An amount of 12500e-2 is refused.", "json-values.exact-integer", () => ({
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && /"amount":\d+e-\d\b/.test(call.body.toString()) ? refusal(400) : ask(call),
  })),
  fault("clock-february-30", "Advancing the clock to 30 February moves it to 2 March.", "sandbox.clock-bounds", () => ({
    handle: (call, ask) =>
      ask(
        isOf(call, "advanceClock") && /02-30T/.test(call.body.toString())
          ? withFields(call, { to: "2026-03-02T00:00:00.000Z" })
          : call,
      ),
  })),
  fault("clock-field-unnamed", "The refusal of a clock advance names no field.", "error-code.fields", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply && isOf(call, "advanceClock") && reply.status >= 400
        ? withBody(reply, without(fieldsOf(reply.text) ?? {}, "fields"))
        : reply;
    },
  })),
  fault(
    "clock-alternatives-unnamed",
    "The message for an advance of the clock with both fields, or with neither, names no field.",
    "error-body.names-fields",
    () => ({
      async handle(call, ask) {
        const reply = await ask(call);
        const body = fieldsOf(reply?.text ?? "") ?? {};
        return reply && isOf(call, "advanceClock") && (body["fields"] as unknown[] | undefined)?.length === 2
          ? withBody(reply, { ...body, message: "The body must be a JSON object." })
          : reply;
      },
    }),
  ),
  fault("list-field-misnamed", "The refusal of an unknown cursor names another field.", "error-code.fields", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply && isOf(call, lists) && reply.status === 422
        ? { ...reply, text: reply.text.replace('"path":"cursor"', '"path":"page"') }
        : reply;
    },
  })),
  fault("infinity-400", "An amount of 1e400 is refused as a wrong type.", "limits.amount-maximum", () => ({
    handle: async (call, ask) => (/"amount":1e400/.test(call.body.toString()) ? refusal(400) : ask(call)),
  })),
];
