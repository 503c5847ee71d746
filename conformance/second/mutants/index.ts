// All mutants of the second implementation, each with the profile that must catch it.
import type { Profile } from "../../results.ts";
import type { Mutant } from "../mutant.ts";
import { amounts } from "./amounts.ts";
import { checkouts } from "./checkouts.ts";
import { extendedDelivery } from "./extended-delivery.ts";
import { extendedPayments } from "./extended-payments.ts";
import { keys } from "./keys.ts";
import { references } from "./references.ts";
import { statuses } from "./statuses.ts";
import { webhooks } from "./webhooks.ts";

const core = [...references, ...keys, ...amounts, ...statuses, ...webhooks, ...checkouts];
const extended = [...extendedPayments, ...extendedDelivery];

export const mutants: readonly (Mutant & { profile: Profile })[] = [
  ...core.map((mutant) => ({ ...mutant, profile: "core" as const })),
  ...extended.map((mutant) => ({ ...mutant, profile: "extended" as const })),
];
