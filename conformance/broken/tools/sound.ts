// Sound servers of tools whose design differs from the design of the good server. No sound tools may raise an alarm.
import { goodParts, type Parts } from "./good.ts";
import { good } from "../clients/good.ts";

export type SoundTools = { id: string; parts: Parts };

const sound = (id: string, change: Partial<Parts>): SoundTools => ({ id, parts: { ...goodParts, ...change } });

/** Reads an amount in units, as a number or a text, without rounding. */
const inUnits: Parts["paymentOf"] = (args) => {
  const [, whole, cents] = /^(\d{1,12})\.?(\d{0,2})$/.exec(String(args["amount"])) ?? [];
  return whole === undefined
    ? undefined
    : goodParts.paymentOf({ ...args, amount: Number(whole) * 100 + Number(cents!.padEnd(2, "0")) });
};

export const soundTools: readonly SoundTools[] = [
  sound("good", {}),
  sound("one-tool", { shape: "one" }),
  sound("mandatory-reference", { shape: "reference" }),
  sound("approval-that-expires", {
    expires: 3,
    isApproved: (running, id, payment, args) =>
      payment.amount <= running.parts.limits.approval ||
      (goodParts.isApproved(running, id, payment, args) &&
        Date.now() - Number(running.host.files.get(`approved ${id}`)) < 3000),
  }),
  sound("words-of-its-own", {
    words: { paid: "COMPLETED", failed: "REVERSED", pending: "IN_PROGRESS", refused: "DECLINED", unknown: "UNCLEAR" },
    render: (result) =>
      goodParts.render({
        ...result,
        result: { refused: "DECLINED", pending: "IN_PROGRESS" }[result.result] ?? result.result,
      }),
  }),
  sound("text-only", {
    render: (result) => {
      const { structured } = goodParts.render(result);
      return { isError: false, texts: [JSON.stringify(structured)] };
    },
  }),
  sound("refusals-are-errors", {
    render: (result) => ({ ...goodParts.render(result), isError: result.result === "refused" }),
  }),
  sound("amount-in-units", { amount: "{units}", paymentOf: inUnits }),
  sound("one-tool-with-units-as-text", { shape: "one", amount: "{unitsText}", paymentOf: inUnits }),
  sound("few-attempts", { client: { attempts: 3 } }),
  sound("looks-before-it-pays", {
    client: {
      async payOne(job) {
        const found = await job.client.look(job);
        return found && found !== "none" && job.client.isSame(job, found) && found.status === "success"
          ? "paid"
          : good.payOne(job);
      },
    },
  }),
  sound("refuses-every-repetition", {
    isSame: (one, other) => one.phoneNumber === other.phoneNumber,
    mayFollow: () => false,
  }),
];
