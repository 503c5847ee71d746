import type { SeededRandom } from "../../server/testing/random.ts";
import type { Caller } from "./caller.ts";
import type { Payments } from "./payments.ts";
import type { Receiver } from "./receiver.ts";
import type { ServerUnderTest } from "./server.ts";

/** What a fault may use. */
export interface World {
  key: string;
  server: ServerUnderTest;
  caller: Caller;
  payments: Payments;
  /** A receiver that works except while a fault makes it hostile. */
  receiver: Receiver;
  /** All receivers. */
  receivers: readonly Receiver[];
  violate(what: string): void;
}

export interface Fault {
  name: string;
  /** True if creates must succeed while the fault lasts. */
  harmless?: boolean;
  /**
   * Applies the fault and ends it. A process that it starts again need not listen yet.
   * @returns the fault's numbers, for people
   */
  run(world: World, random: SeededRandom): Promise<string>;
}
