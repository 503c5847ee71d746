// Ends checkouts: with the sandbox control, or by a person if the target has no such control (`--interactive`).
import type { Context } from "../check.ts";
import { hasControl } from "../run-options.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { verifyCheckout } from "../topics/checkout-request/checkout-record.ts";
import { linkOf, referencesOf } from "../topics/checkout/checkout.ts";
import { dataOf } from "./requests.ts";
import { finishAny } from "./sandbox-controls.ts";

const tasks: Record<string, string> = {
  success: "Open this checkout in a browser, pay it, and wait for the result:",
  failed: "Open this checkout in a browser, let its payment fail, and wait for the result:",
  cancelled: "Open this checkout in a browser, cancel it, and wait for the result:",
};

/** Ends a checkout with this outcome. Returns false if that is not possible, or if the person skipped it. */
export async function ended(context: Context, created: TargetResponse, outcome: string): Promise<boolean> {
  if (hasControl(context.options, "finish")) return (await finishAny(context, created, outcome)) !== undefined;
  // A response may repeat the addresses of the request, which are not the address of the page.
  const sent = Object.values((created.request.json ?? {}) as object).map(String);
  const link = linkOf(created, sent);
  if (!context.person || link === undefined) return false;
  return (await context.person({ link, what: tasks[outcome] ?? "" })) === "yes";
}

/** Returns the status in a checkout's record; undefined if the target has no record under any known reference. */
export async function checkoutStatus(context: Context, created: TargetResponse): Promise<unknown> {
  for (const reference of referencesOf(created)) {
    const response = await verifyCheckout(context, reference);
    if (response.status === 200) return dataOf(response)["status"];
  }
  return undefined;
}

/** Records the reason why no checkout could be ended. */
export function noneEnded(context: Context, ids: readonly string[]) {
  for (const id of ids) {
    if (context.person) context.notApplicable(id, "the person finished no checkout", "caller", "--interactive");
    else context.notApplicable(id, "the suite cannot finish the target's checkouts");
  }
}
