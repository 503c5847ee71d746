import type { Action, ResultOf } from "./action.ts";
import { merchantActions } from "./merchants.ts";
import { paymentActions } from "./payments.ts";
import { sandboxActions } from "./sandbox.ts";
import { settingsActions } from "./settings.ts";
import { teamActions } from "./team.ts";
import { webhookActions } from "./webhooks.ts";

/** Everything that a person can do. What is not listed here is refused to everybody. */
export const ACTIONS = {
  ...merchantActions,
  ...paymentActions,
  ...webhookActions,
  ...sandboxActions,
  ...settingsActions,
  ...teamActions,
};

export type ActionName = keyof typeof ACTIONS;
/** What an action returns. */
export type ActionResult<Name extends ActionName> = ResultOf<(typeof ACTIONS)[Name]>;

/** The action of this name, without the types of its input and result. */
export const actionOf = (name: ActionName): Action => ACTIONS[name] as unknown as Action;
