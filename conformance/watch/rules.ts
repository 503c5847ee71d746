import type { RequirementId } from "../../generated/requirement-ids.ts";
import { ofExchanges } from "./exchanges.ts";
import { ofResponses } from "./responses.ts";
import { ofStatements } from "./statements.ts";
import { ofWebhookRules } from "./webhooks.ts";

/** The requirements that traffic can show, of every profile. */
export const judgeable: ReadonlySet<string> = new Set<RequirementId>([
  ...ofResponses,
  ...ofExchanges,
  ...ofStatements,
  ...ofWebhookRules,
]);
