// Checks which deliveries can be replayed, and by whom (D18, D13).
import type { Check, Context } from "../../check.ts";
import { delivered, holding, respondWith } from "./deliveries.ts";
import { expectData, expectStatus, same } from "../../steps/expect.ts";
import { arrived, expectAttempts, idOf } from "../../steps/notifications.ts";
import { pays } from "../../steps/requests.ts";
import { advance } from "../../steps/sandbox-controls.ts";

export const replay = (context: Context, id: string, key: "own" | "second" = "own") =>
  context.target.send({ method: "POST", path: `/sandbox/deliveries/${id}/replay`, effect: "moves-money", key });

/** Returns an id of the same form, which no delivery has. */
const unknownLike = (id: string) => id.slice(0, -1) + (id.endsWith("0") ? "1" : "0");

export const checks: Check[] = [
  {
    name: "Delivery can be replayed",
    ids: ["sandbox.replay"],
    ...pays(1),
    needs: ["receiver", "forced-outcomes", "replay", "clock"],
    async run(context) {
      const { box, id } = await delivered(context, respondWith(204));
      await advance(context, 1);
      const response = await replay(context, id);
      const received = await arrived(context, box, 2);
      expectStatus(context, "sandbox.replay", response, 200, "for a replay");
      same(context, "sandbox.replay", { what: "webhook-ids", actual: received.map(idOf), expected: [id, id] });
    },
  },
  {
    name: "Delivery that waits for its next attempt can be replayed",
    ids: ["sandbox.replay"],
    ...pays(1),
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
      expectAttempts(context, "sandbox.replay", box, 2, "received");
    },
  },
  {
    name: "Replay of a delivery that the merchant does not have sends nothing",
    ids: ["uniqueness.merchants-apart", "sandbox.replay"],
    ...pays(1),
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
      expectAttempts(context, "uniqueness.merchants-apart", box, 1, "received by the owner");
    },
  },
  {
    name: "Replay during an attempt is refused",
    ids: ["sandbox.replay-in-progress"],
    ...pays(1),
    needs: ["receiver", "forced-outcomes", "replay"],
    async run(context) {
      const { reply, release } = holding();
      const { box, id } = await delivered(context, reply);
      const response = await replay(context, id);
      release();
      const when = "for a replay while an attempt is in progress";
      expectStatus(context, "sandbox.replay-in-progress", response, 409, when);
      expectAttempts(context, "sandbox.replay-in-progress", box, 1, "received");
    },
  },
];
