import type { Action } from "./action.ts";
import { merchantActions } from "./merchants.ts";
import { paymentActions } from "./payments.ts";
import { sandboxActions } from "./sandbox.ts";
import { settingsActions } from "./settings.ts";
import { webhookActions } from "./webhooks.ts";

/** Everything that a person can do. What is not listed here is refused to everybody. */
export const ACTIONS = {
  ...merchantActions,
  ...paymentActions,
  ...webhookActions,
  ...sandboxActions,
  ...settingsActions,
};

export type ActionName = keyof typeof ACTIONS;
export const ACTION_NAMES = Object.keys(ACTIONS) as ActionName[];

/** The action of this name, without the types of its path, input and result. */
export const actionOf = (name: ActionName) => ACTIONS[name] as unknown as Action<`{scope}${string}`>;

/** Reads what an action needs to know. @param isComplete false for a query that leads to the page that asks for the rest */
export const readInput = <Name extends ActionName>(name: Name, sent: unknown, isComplete = true) =>
  Object.fromEntries(
    Object.entries(actionOf(name).input)
      .filter(([, { onConfirm }]) => isComplete || !onConfirm)
      .map(([key, each]) => [key, each.read(sent as Record<string, unknown>)]),
  ) as Parameters<(typeof ACTIONS)[Name]["run"]>[1];
