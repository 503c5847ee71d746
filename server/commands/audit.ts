import type { AuditEntry } from "../domain/audit.ts";
import { timestamp } from "../domain/representation.ts";
import { type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { pageIn } from "./options.ts";
import { listing } from "./listing.ts";

export const auditCommands: Commands<CommandContext> = {
  audit: {
    args: ["[MERCHANT]"],
    options: ["limit", "cursor", "json"],
    summary: "List who did what and when, newest first, for all merchants or one.",
    async run(context, [id], options) {
      const merchant = id === undefined ? {} : { merchantId: (await merchantOf(context, id)).id };
      const page = await context.storage.listAudit({ ...pageIn(options), ...merchant });
      return listing(page, entryView, ({ at, actor, action, merchantId, details }) => [
        [
          at,
          actor,
          action,
          merchantId === "" ? "all merchants" : `merchant ${merchantId}`,
          ...Object.entries(details).map((pair) => pair.join(" ")),
        ].join("  "),
      ]);
    },
  },
};

const entryView = ({ at, ...entry }: AuditEntry) => ({ at: timestamp(at), ...entry });
