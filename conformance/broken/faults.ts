// Every broken server there is. Each has one fault, and names the requirements whose checks have to catch it.
import type { Fault } from "./fault.ts";
import { acceptedFaults } from "./faults/accepted.ts";
import { authFaults } from "./faults/auth.ts";
import { checkoutFaults } from "./faults/checkout.ts";
import { createFaults } from "./faults/create.ts";
import { fieldFaults } from "./faults/fields.ts";
import { jsonFaults } from "./faults/json.ts";
import { refusalFaults } from "./faults/refusals.ts";
import { sandboxFaults } from "./faults/sandbox.ts";
import { stateFaults } from "./faults/states.ts";
import { verifyFaults } from "./faults/verify.ts";
import { webhookFaults } from "./faults/webhooks.ts";

export const faults: readonly Fault[] = [
  ...authFaults,
  ...jsonFaults,
  ...createFaults,
  ...acceptedFaults,
  ...fieldFaults,
  ...verifyFaults,
  ...checkoutFaults,
  ...webhookFaults,
  ...refusalFaults,
  ...stateFaults,
  ...sandboxFaults,
];
