// Servers that misread a receiver's response, or whose sandbox mixes up merchants or the pages of lists.
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  createCheckout,
  data,
  dataOf,
  isOf,
  keyOf,
  refusal,
  withFields,
  withKey,
  without,
  type Fields,
} from "../ways.ts";

/** Changes the status that the server sees in a receiver's response. */
const readsStatus = (read: (status: number) => number): Hooks => ({
  webhook: async (message, deliver) => {
    const reply = await deliver(message);
    return { ...reply, status: read(reply.status) };
  },
});

/** The delay, in milliseconds, before a faulty action. */
const aMoment = 25;

const sandboxLists = ["listEvents", "listDeliveries"];

export const faults: readonly Fault[] = [
  fault("status-300-delivers", "A response with status 300 ends a delivery.", "retries.any-2xx", () =>
    readsStatus((status) => (status === 300 ? 200 : status)),
  ),
  fault("status-299-fails", "Only 200 to 204 count as success.", "retries.any-2xx", () =>
    readsStatus((status) => (status > 204 && status < 300 ? 500 : status)),
  ),
  quickFault(
    "only-204-delivers",
    "A response with status 200, 201 or 202 leads to another attempt.",
    "retries.any-2xx",
    () => readsStatus((status) => (status >= 200 && status <= 202 ? 500 : status)),
  ),
  fault(
    "no-retry-without-retry-after",
    "After a 429 or 503 without Retry-After, there is no further attempt.",
    "retries.any-2xx",
    () => ({
      webhook: async (message, deliver) => {
        const reply = await deliver(message);
        const isEnd = [429, 503].includes(reply.status) && reply.headers["retry-after"] === undefined;
        return isEnd ? { ...reply, status: 410 } : reply;
      },
    }),
  ),
  fault("retry-after-on-500", "Retry-After is honoured on every status.", "retries.retry-after-statuses", () => ({
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return reply.headers["retry-after"] === undefined ? reply : { ...reply, status: 503 };
    },
  })),
  fault("replay-continues-schedule", "A failed replay continues the schedule.", "retries.replay-restarts", () => {
    const attempted = new Set<string>();
    return {
      storage: (inner) => ({
        recordAttempt(claim, attempt, next) {
          const { id } = claim;
          const isReplay = attempted.has(id) && next.step === 1 && next.status === "pending";
          attempted.add(id);
          const later = { ...next, step: 3, nextAttemptAt: attempt.at + 1_800_000 };
          return inner.recordAttempt(claim, attempt, isReplay ? later : next);
        },
      }),
    };
  }),
  fault("replay-of-ended-404", "A delivery that has ended cannot be replayed.", "retries.replay-restarts", () => ({
    storage: (inner) => ({
      async requestReplay(merchantId, id, actor) {
        const delivery = await inner.findDelivery(merchantId, id);
        return inner.requestReplay(merchantId, delivery?.status === "ended" ? "unknown" : id, actor);
      },
    }),
  })),
  fault(
    "clock-shared-by-merchants",
    "Advancing one merchant's clock advances every clock.",
    "sandbox.clock-own-records",
    (world) => ({
      async handle(call, ask) {
        const isOther = keyOf(call) !== world.secondKey;
        if (isOf(call, "advanceClock") && isOther) await ask(withKey(call, world.secondKey));
        return ask(call);
      },
    }),
  ),
  fault(
    "clock-cancels-others-later",
    "A moment after an advance of one merchant's clock, the checkouts of another are cancelled.",
    "sandbox.clock-own-records",
    (world) => {
      const others: string[] = [];
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          const isOther = keyOf(call) === world.secondKey;
          if (reply && isOther && isOf(call, createCheckout)) others.push(String(dataOf(reply)["reference"]));
          const cancel = (reference: string) => {
            const path = `/sandbox/checkouts/${reference}/finish`;
            return ask(withFields(withKey({ ...call, path }, world.secondKey), { outcome: "cancelled" }));
          };
          if (!isOther && isOf(call, "advanceClock"))
            void world.sleep(aMoment).then(() => Promise.all(others.map(cancel)));
          return reply;
        },
      };
    },
  ),
  fault(
    "clock-sends-others-later",
    "A moment after an advance of one merchant's clock, the pending webhooks of another are sent.",
    "sandbox.clock-own-records",
    (world) => ({
      async handle(call, ask) {
        const reply = await ask(call);
        if (!isOf(call, "advanceClock") || keyOf(call) === world.secondKey) return reply;
        const theirs = withKey({ ...call, body: Buffer.alloc(0) }, world.secondKey);
        const send = ({ id }: Fields) => ask({ ...theirs, path: `/sandbox/deliveries/${String(id)}/replay` });
        const sendAll = async () => {
          const list = await ask({ ...theirs, method: "GET", path: "/sandbox/deliveries?status=pending" });
          await Promise.all(list ? (dataOf(list)["items"] as Fields[]).map(send) : []);
        };
        void world.sleep(aMoment).then(sendAll);
        return reply;
      },
    }),
  ),
  fault("sandbox-pages-without-end", "The last page of events and deliveries has a cursor.", "sandbox.pages", () =>
    data(sandboxLists, (page) => ({ nextCursor: "1-0000000000000000", ...page })),
  ),
  fault("sandbox-pages-cut-off", "The list of deliveries ends after the first page.", "sandbox.pages", () =>
    data("listDeliveries", (page) => without(page, "nextCursor")),
  ),
  fault(
    "sandbox-cursors-of-anyone",
    "A cursor of another list or merchant starts at the top.",
    "sandbox.cursors",
    () => ({
      async handle(call, ask) {
        const reply = await ask(call);
        const isRefused = isOf(call, sandboxLists) && reply?.status === 422;
        return isRefused ? ask({ ...call, path: call.path.replace(/&cursor=[^&]*/, "") }) : reply;
      },
    }),
  ),
  fault("sandbox-cursors-refused", "The list of events refuses its own cursors.", "sandbox.cursors", () => ({
    handle: async (call, ask) => (isOf(call, "listEvents") && call.path.includes("cursor=") ? refusal(422) : ask(call)),
  })),
  fault("success-ends-other-attempts", "A success also ends the attempts in progress.", "retries.apart", () => {
    let lastSuccess = 0;
    return {
      storage: (inner) => ({
        recordAttempt(claim, attempt, next) {
          if (next.status === "delivered") lastSuccess = attempt.sentAt;
          const isEnded = next.status === "pending" && attempt.sentAt < lastSuccess;
          return inner.recordAttempt(claim, attempt, isEnded ? { status: "delivered", step: next.step } : next);
        },
      }),
    };
  }),
  fault("secrets-shared", "Merchants share one webhook secret.", "signature.rotation-own", (world) => ({
    handle: async (call, ask) => ask(isOf(call, "readWebhookSecret") ? withKey(call, world.secondKey) : call),
  })),
];
