// Collects all broken servers. Each has one fault and names the requirements whose checks must catch it.
import type { Fault } from "./fault.ts";
import { acceptedFaults } from "./faults/accepted.ts";
import { addedLimitFaults } from "./faults/added-limits.ts";
import { requestFaults } from "./faults/requests.ts";
import { responseFaults } from "./faults/responses.ts";
import { accessFaults } from "./faults/access.ts";
import { accessReferenceFaults } from "./faults/access-references.ts";
import { attemptFaults } from "./faults/attempts.ts";
import { authFaults } from "./faults/auth.ts";
import { checkoutMerchantFaults } from "./faults/checkout-merchants.ts";
import { checkoutPageFaults } from "./faults/checkout-pages.ts";
import { checkoutFaults } from "./faults/checkout.ts";
import { createFaults } from "./faults/create.ts";
import { deliveryOutcomeFaults } from "./faults/delivery-outcomes.ts";
import { duplicateFaults } from "./faults/duplicates.ts";
import { fieldFaults } from "./faults/fields.ts";
import { forcedFaults } from "./faults/forced.ts";
import { jsonFaults } from "./faults/json.ts";
import { lifeFaults } from "./faults/life.ts";
import { lifeReferenceFaults } from "./faults/life-references.ts";
import { lifeWebhookFaults } from "./faults/life-webhooks.ts";
import { limitFaults } from "./faults/limits.ts";
import { listenerFaults } from "./faults/listener.ts";
import { listStatusFaults } from "./faults/list-statuses.ts";
import { listValueFaults } from "./faults/list-values.ts";
import { listFaults } from "./faults/lists.ts";
import { numberFaults } from "./faults/numbers.ts";
import { realTimeFaults } from "./faults/real-time.ts";
import { recordFaults } from "./faults/records.ts";
import { redirectFaults } from "./faults/redirect.ts";
import { referenceFaults } from "./faults/references.ts";
import { readFaults } from "./faults/reads.ts";
import { refusedFaults } from "./faults/refused.ts";
import { refusedRecordFaults } from "./faults/refused-records.ts";
import { refusalFaults } from "./faults/refusals.ts";
import { repeatFaults } from "./faults/repeats.ts";
import { replayFaults } from "./faults/replays.ts";
import { retryFaults } from "./faults/retries.ts";
import { sandboxFaults } from "./faults/sandbox.ts";
import { signatureFaults } from "./faults/signatures.ts";
import { stateFaults } from "./faults/states.ts";
import { verifyFaults } from "./faults/verify.ts";
import { webhookFaults } from "./faults/webhooks.ts";

export const faults: readonly Fault[] = [
  ...authFaults,
  ...jsonFaults,
  ...createFaults,
  ...duplicateFaults,
  ...recordFaults,
  ...repeatFaults,
  ...numberFaults,
  ...acceptedFaults,
  ...addedLimitFaults,
  ...fieldFaults,
  ...verifyFaults,
  ...checkoutFaults,
  ...checkoutPageFaults,
  ...checkoutMerchantFaults,
  ...redirectFaults,
  ...webhookFaults,
  ...signatureFaults,
  ...retryFaults,
  ...replayFaults,
  ...listenerFaults,
  ...attemptFaults,
  ...deliveryOutcomeFaults,
  ...realTimeFaults,
  ...refusalFaults,
  ...requestFaults,
  ...responseFaults,
  ...stateFaults,
  ...referenceFaults,
  ...forcedFaults,
  ...limitFaults,
  ...sandboxFaults,
  ...listFaults,
  ...listStatusFaults,
  ...listValueFaults,
  ...refusedFaults,
  ...refusedRecordFaults,
  ...readFaults,
  ...accessFaults,
  ...accessReferenceFaults,
  ...lifeFaults,
  ...lifeReferenceFaults,
  ...lifeWebhookFaults,
];
