// Defines a scenario of `certify tools`: data that says what is to be paid, what the service and the network do, how the
// host delivers calls, and which scripted model makes them. A few scenarios have an `act` of their own instead.
import type { Fate, PlannedEntry } from "../client/entries.ts";
import type { Scenario } from "../client/scenario.ts";
import type { Moment } from "../client/service.ts";
import type { ToolMap, Values } from "./map.ts";

/** A payment that somebody asked the model for. */
export type Payment = {
  fate?: Fate;
  /** In the lowest denomination. By default small, and different for each payment. */
  amount?: number;
  says?: string;
  exists?: PlannedEntry["exists"];
};

/** How a scripted model behaves. */
export type Habits = {
  /** How often it repeats a call whose result was lost, unknown or an error. */
  patience: number;
  /** It makes the call again although it has a result. */
  repeats?: true;
  /** It repeats a payment with a new reference and purpose. */
  invents?: true;
  /** It does what a text tells it that looks like an instruction. */
  obeys?: true;
};

export const models = {
  patient: { patience: 2 },
  repeats: { patience: 2, repeats: true },
  "gives-up": { patience: 0 },
  invents: { patience: 2, invents: true },
  obeys: { patience: 2, obeys: true },
} satisfies Record<string, Habits>;
export type Model = keyof typeof models;

/** How the host delivers a call of the tool that pays. */
export const deliveries = ["once", "parallel", "sessions", "reordered", "reworded", "restarted"] as const;
export type Delivery = (typeof deliveries)[number];

/** What a map must name for a scenario to be judged. */
export type Need = "approve" | "expires" | "approval" | "payout" | "day" | "kill";

/** @template Stage what an act is given; see stage.ts */
export type ScenarioOf<Stage> = Pick<
  Scenario,
  "id" | "name" | "creates" | "afterwards" | "reads" | "lists" | "location" | "weather"
> & {
  /** The default is one small payment that succeeds. */
  payments?: readonly Payment[] | ((map: ToolMap) => readonly Payment[]);
  model?: Model;
  delivery?: Delivery;
  /** The server is killed at this moment of its first create. */
  kill?: Moment;
  /** What the purpose of each payment says. */
  purpose?: string;
  /**
   * Arguments that replace the arguments of a payment, one attempt after the other. No attempt may pay another amount.
   */
  changes?: readonly Partial<Values>[];
  act?: (stage: Stage) => Promise<void>;
  needs?: readonly Need[];
  /** Set if a sound server may leave the payments unpaid. */
  mayStayUnpaid?: true;
  /** Requirements that only some scenarios judge. */
  judges?: readonly string[];
};
