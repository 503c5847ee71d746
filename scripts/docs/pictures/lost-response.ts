import { arrow, line, text, type Drawing } from "./drawing.ts";

const PROGRAM = 90;
const SERVICE = 400;
const WALLET = 640;
const END = 372;

const actor = (x: number, name: string) => [text(x, 24, name, "middle strong"), line(x, 34, x, END)];
const call = (from: number, to: number, y: number, words: string, classes = "") => [
  text((from + to) / 2, y - 8, words, `middle ${classes}`),
  arrow(from, y, to, y),
];

/** A payout whose response is lost, and the same request once more. */
export const lostResponse: Drawing = {
  name: "lost-response",
  width: 720,
  height: 390,
  description:
    "Your program sends POST /v1/disbursements with the reference payroll-1. The service records the payout and pays the " +
    "wallet once. Its response is lost. Your program sends the same request again, with the same reference. The service " +
    "pays nothing and responds with 409, whose Location leads to the payout. Your program reads the payout: success. The " +
    "wallet was paid once.",
  body: [
    ...actor(PROGRAM, "Your program"),
    ...actor(SERVICE, "The service"),
    ...actor(WALLET, "The wallet"),
    ...call(PROGRAM, SERVICE, 76, "POST payroll-1", "mono"),
    text(SERVICE + 12, 100, "records the payout", "soft"),
    ...call(SERVICE, WALLET, 132, "pays, once", "strong good"),
    text(SERVICE - 12, 150, "200, lost on the way", "end bad"),
    line(SERVICE, 162, 250, 162, "lost"),
    '<path class="lost" d="M244 154l12 16m0 -16l-12 16"/>',
    text(PROGRAM + 12, 192, "no response: paid or not?", "soft"),
    ...call(PROGRAM, SERVICE, 232, "POST payroll-1, the same request", "mono"),
    text(SERVICE + 12, 256, "knows payroll-1, pays nothing", "soft"),
    ...call(SERVICE, PROGRAM, 284, "409, Location: /v1/disbursements/DSB…", "mono"),
    ...call(PROGRAM, SERVICE, 324, "GET /v1/disbursements/DSB…", "mono"),
    ...call(SERVICE, PROGRAM, 362, "200, success: one payout", "strong good"),
  ],
};
