import { setTimeout as sleep } from "node:timers/promises";
import type { Rail } from "../../server/domain/rails.ts";
import { railsOf } from "../../server/testing/rail.ts";
import type { Hooks } from "./fault.ts";

/** A live server over a rail that pays in this way. Nobody pays the checkouts of the rail. */
const live = (pay: Rail["pay"]): Hooks => ({
  env: { SANDBOX: "false" },
  rails: railsOf({
    pay,
    collect: async (_, { returnUrl: url }) => ({ status: "pending", url }),
    find: async () => ({ status: "pending" }),
  }),
});

/** A live server over a rail that takes so long to pay. */
export const liveAfter = (ms: number): Hooks =>
  live(async (_, { signal }) => {
    await sleep(ms, undefined, { signal });
    return { status: "success" };
  });

/** A live server over a rail that accepts every payout and ends no payout. */
export const liveForever: Hooks = live(async () => ({ status: "pending" }));
