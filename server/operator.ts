import { hostname, userInfo } from "node:os";
import type { ActorName } from "./domain/audit.ts";

/** The operating system's user that runs this process, for the audit trail. */
export function operator(kind: "command" | "server"): ActorName {
  try {
    return `${kind} ${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run with a user id that has no name.
    return `${kind} uid-${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}
