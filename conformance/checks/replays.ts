// Checks which deliveries can be replayed, and by whom (D18, D31).
import { describeResponse, type Check, type Context } from "../check.ts";
import { delivered, respondWith } from "./deliveries.ts";
import { expectData, expectStatus, same } from "./expect.ts";
import { arrived, idOf } from "./notifications.ts";
import { pays } from "./requests.ts";
import { advance } from "./sandbox-controls.ts";

const one = pays(1);

const replay = (context: Context, id: string, key: "own" | "second" = "own") =>
  context.target.send({ method: "POST", path: `/sandbox/deliveries/${id}/replay`, effect: "moves-money", key });

/** Returns an id of the same form, which no delivery has. */
const unknownLike = (id: string) => id.slice(0, -1) + (id.endsWith("0") ? "1" : "0");

export const checks: Check[] = [
  {
    name: "Delivery can be replayed",
    ids: ["sandbox.replay"],
    ...one,
    needs: ["receiver", "forced-outcomes", "replay", "clock"],
    async run(context) {
      const { box, id } = await delivered(context, respondWith(204));
      await advance(context, 1);
      const response = await replay(context, id);
      const received = await arrived(context, box, 2);
      const isAgain = received.length === 2 && received.every((notification) => idOf(notification) === id);
      context.judge(
        "sandbox.replay",
        response.status === 200 && isAgain,
        "200, and a second delivery with the same webhook-id",
        `${describeResponse(response)}; ${received.length} received`,
        context.responses,
      );
    },
  },
  {
    name: "Delivery that waits for its next attempt can be replayed",
    ids: ["sandbox.replay"],
    ...one,
    needs: ["receiver", "forced-outcomes", "replay", "clock"],
    async run(context) {
      const { box, id } = await delivered(context, (response, attempt) => {
        // Without this wait the next attempt could be made before the replay.
        if (attempt < 2) response.writeHead(503, { "retry-after": "3600" }).end();
        else response.writeHead(204).end();
      });
      await advance(context, 1);
      const response = await replay(context, id);
      expectData(context, "sandbox.replay", response, { status: "delivered" }, "for a replay between two attempts");
      same(context, "sandbox.replay", { what: "attempts received:", actual: box.received.length, expected: 2 });
    },
  },
  {
    name: "Replay of a delivery that the merchant does not have sends nothing",
    ids: ["uniqueness.merchants-apart", "sandbox.replay"],
    ...one,
    needs: ["receiver", "forced-outcomes", "replay", "clock", "second-key"],
    async run(context) {
      const { box, id } = await delivered(context, respondWith(204));
      await advance(context, 1);
      const foreign = await replay(context, id, "second");
      expectStatus(context, "uniqueness.merchants-apart", foreign, 404, "for a replay of another merchant's delivery");
      const unknown = await replay(context, unknownLike(id));
      expectStatus(context, "sandbox.replay", unknown, 404, "for a replay of an unknown delivery");
      // The target responds to this request only after it has sent everything that is due.
      await advance(context, 1);
      const what = "attempts received by the owner:";
      same(context, "uniqueness.merchants-apart", { what, actual: box.received.length, expected: 1 });
    },
  },
  {
    name: "Replay during an attempt is refused",
    ids: ["sandbox.replay-in-progress"],
    ...one,
    needs: ["receiver", "forced-outcomes", "replay"],
    async run(context) {
      const held = Promise.withResolvers<void>();
      const { box, id } = await delivered(
        context,
        (response) => void held.promise.then(() => response.writeHead(204).end()),
      );
      const response = await replay(context, id);
      held.resolve();
      expectStatus(
        context,
        "sandbox.replay-in-progress",
        response,
        409,
        "for a replay while an attempt is in progress",
      );
      const count = box.received.length;
      same(context, "sandbox.replay-in-progress", { what: "attempts received:", actual: count, expected: 1 });
    },
  },
];
