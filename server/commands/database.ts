import { backupStorage } from "../storage/open.ts";
import type { Commands } from "./command.ts";

export const databaseCommands: Commands = {
  backup: {
    args: ["FILE"],
    options: [],
    summary: "Write a copy of the database into a new file, also while a server is running.",
    async run({ config }, [file]) {
      await backupStorage(config.database, file!);
      return { lines: [`Backup written to ${file}. It contains the webhook secrets; keep it private.`] };
    },
  },
};
