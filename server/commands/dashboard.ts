import { createLink, LINK_MS, linkAddress } from "../domain/dashboard.ts";
import { UsageError, type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./context.ts";

export const dashboardCommands: Commands<CommandContext> = {
  "dashboard-link": {
    args: ["[MERCHANT]"],
    options: ["name"],
    summary: "Print a link that signs one person in to the dashboard: for all merchants, or for one only.",
    async run(context, [id], { name }) {
      const { config, actor } = context;
      if (!config.dashboard) throw new UsageError("DASHBOARD is false, so the server has no dashboard.");
      const merchant = id === undefined ? {} : { merchantId: (await merchantOf(context, id)).id };
      const person = { ...merchant, name: name ?? nameOf(actor) };
      const token = await createLink(context, person, actor);
      return {
        lines: [
          linkAddress(config.publicUrl, token),
          `It works once, within ${LINK_MS / 60_000} minutes, for ${id === undefined ? "all merchants" : "this merchant only"}.`,
        ],
      };
    },
  },
};

/** `USER@HOST` of `command USER@HOST`. */
const nameOf = (actor: string): string => actor.slice(actor.indexOf(" ") + 1);
