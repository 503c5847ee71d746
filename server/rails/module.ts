import type { Rail } from "../domain/rails.ts";

export { RailError } from "../domain/rails.ts";
export type { Rail, RailAnswer, RailCall, RailEntry, RailNotification, RailPayment } from "../domain/rails.ts";
export { failureOf } from "../domain/records.ts";
export type { Failure, FailureCode } from "../domain/records.ts";

/**
 * What the file of an operator's rail exports as default: a function that returns the rail.
 * @param settings the rail's `settings` in the file that RAILS names
 * @throws Error whose message tells the operator what to fix
 */
export type RailModule = (settings: any) => Rail | Promise<Rail>;
