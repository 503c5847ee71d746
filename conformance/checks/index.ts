// Collects all checks, the watches, and the list of requirements that have no check yet.
import type { Check } from "../check.ts";
import { accessChecks } from "./access.ts";
import { accessLinkChecks } from "./access-links.ts";
import { accessReadChecks } from "./access-reads.ts";
import { accessReferenceChecks } from "./access-references.ts";
import { addressChecks } from "./addresses.ts";
import { attemptChecks } from "./attempts.ts";
import { authChecks } from "./auth.ts";
import { checkoutMerchantChecks } from "./checkout-merchants.ts";
import { checkoutPageChecks } from "./checkout-pages.ts";
import { checkoutStateChecks } from "./checkout-states.ts";
import { checkoutChecks } from "./checkout.ts";
import { checkoutRecordChecks } from "./checkout-record.ts";
import { clockValueChecks } from "./clock-values.ts";
import { createChecks } from "./create.ts";
import { deliveryChecks } from "./deliveries.ts";
import { deliveryOutcomeChecks } from "./delivery-outcomes.ts";
import { dreddChecks } from "./dredd.ts";
import { duplicateChecks } from "./duplicates.ts";
import { eventChecks } from "./events.ts";
import { finishOwnChecks } from "./finish-own.ts";
import { forcedSettlementChecks } from "./forced-settlement.ts";
import { forcedChecks } from "./forced.ts";
import { generatedChecks } from "./generated.ts";
import { invalidChecks } from "./invalid.ts";
import { jsonChecks } from "./json.ts";
import { jsonValueChecks } from "./json-values.ts";
import { lifeCheckoutChecks } from "./life-checkouts.ts";
import { lifeReferenceChecks } from "./life-references.ts";
import { lifeWebhookChecks } from "./life-webhooks.ts";
import { lifeChecks } from "./life.ts";
import { listenerChecks } from "./listener.ts";
import { limitChecks } from "./limits.ts";
import { listStatusChecks } from "./list-statuses.ts";
import { addedLimitChecks } from "./limits-added.ts";
import { listValueChecks } from "./list-values.ts";
import { listChecks } from "./lists.ts";
import { metWebhookChecks } from "./met-webhooks.ts";
import { modelChecks } from "./model.ts";
import { oddPathChecks } from "./odd-paths.ts";
import { numberNotationChecks } from "./number-notations.ts";
import { numberChecks } from "./numbers.ts";
import { oddChecks } from "./odd-requests.ts";
import { pathChecks } from "./paths.ts";
import { realTimeChecks } from "./real-time.ts";
import { recordChecks } from "./records.ts";
import { redirectChecks } from "./redirect.ts";
import { referenceChecks } from "./references.ts";
import { refusedAddressChecks, refusedCheckoutChecks } from "./refused-checkouts.ts";
import { refusedDisbursementChecks } from "./refused-disbursements.ts";
import { refusedExistingChecks } from "./refused-existing.ts";
import { refusalChecks } from "./refusals.ts";
import { repeatChecks } from "./repeats.ts";
import { replayChecks } from "./replays.ts";
import { requestIdChecks } from "./request-ids.ts";
import { retryChecks } from "./retries.ts";
import { sandboxMerchantChecks } from "./sandbox-merchants.ts";
import { sandboxReadChecks } from "./sandbox-reads.ts";
import { sandboxChecks } from "./sandbox.ts";
import { signatureChecks } from "./signatures.ts";
import { stateChecks } from "./states.ts";
import { verifyChecks } from "./verify.ts";
import { webhookChecks } from "./webhooks.ts";

export { pending } from "./pending.ts";
export { watches } from "./watches.ts";

export const checks: readonly Check[] = [
  ...authChecks,
  ...jsonChecks,
  ...createChecks,
  ...invalidChecks,
  ...duplicateChecks,
  ...recordChecks,
  ...repeatChecks,
  ...numberChecks,
  ...verifyChecks,
  ...checkoutChecks,
  ...checkoutPageChecks,
  ...webhookChecks,
  ...generatedChecks,
  ...modelChecks,
  ...oddChecks,
  ...oddPathChecks,
  ...requestIdChecks,
  ...pathChecks,
  ...refusalChecks,
  ...stateChecks,
  ...checkoutRecordChecks,
  ...checkoutMerchantChecks,
  ...checkoutStateChecks,
  ...redirectChecks,
  ...addressChecks,
  ...limitChecks,
  ...addedLimitChecks,
  ...jsonValueChecks,
  ...numberNotationChecks,
  ...forcedChecks,
  ...forcedSettlementChecks,
  ...referenceChecks,
  ...sandboxChecks,
  ...clockValueChecks,
  ...finishOwnChecks,
  ...sandboxReadChecks,
  ...sandboxMerchantChecks,
  ...eventChecks,
  ...signatureChecks,
  ...retryChecks,
  ...deliveryChecks,
  ...replayChecks,
  ...listenerChecks,
  ...attemptChecks,
  ...deliveryOutcomeChecks,
  ...realTimeChecks,
  ...listChecks,
  ...listStatusChecks,
  ...listValueChecks,
  ...refusedDisbursementChecks,
  ...refusedExistingChecks,
  ...refusedCheckoutChecks,
  ...accessChecks,
  ...accessReferenceChecks,
  ...accessReadChecks,
  ...accessLinkChecks,
  ...dreddChecks,
  ...refusedAddressChecks,
  ...lifeReferenceChecks,
  ...lifeChecks,
  ...lifeCheckoutChecks,
  ...lifeWebhookChecks,
  // The closing checks run in this order, after all others. This one must be last, because the others cause webhooks.
  ...metWebhookChecks,
];
