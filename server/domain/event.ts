import type { EventType, FinalStatus } from "./storage.ts";

export type RecordKind = "disbursement" | "checkout";

const verbs = { success: "completed", failed: "failed", cancelled: "cancelled" } as const;

/** The event that tells of a record's final status (D11). */
export function eventType(kind: RecordKind, status: FinalStatus): EventType {
  return `${kind}.${verbs[status]}` as EventType;
}

/** A record ends once, so its event takes its id from it: no retry, crash or race can make a second one (D12). */
export function eventId(recordId: string): string {
  return `msg_${recordId.replaceAll("-", "")}`;
}
