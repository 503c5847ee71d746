// The bounds that a person sets for the tools, in a file that no tool can change. They are for services that have no
// restricted keys, limits and approvals of their own.
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { z } from "zod";
import { UsageError } from "../errors.ts";

const amount = z.int().positive();
const schema = z.strictObject({
  /** By currency, in its lowest denomination. A currency that is not named is refused. */
  limits: z.record(
    z.string().regex(/^[A-Z]{3}$/),
    z.strictObject({
      /** The largest amount of a payout. */
      payout: amount.optional(),
      /** The largest sum of a day (UTC). */
      day: amount.optional(),
      /** A person approves each payout above this amount. */
      approval: z.int().nonnegative().optional(),
    }),
  ),
  /** If given, only these phone numbers are paid. */
  recipients: z.array(z.string().regex(/^\d{10,15}$/)).optional(),
  /** A person approves a payout if a payout with the same recipient and amount was made within this number of hours. */
  repetitionHours: z.number().nonnegative().optional(),
});
export type Policy = z.infer<typeof schema>;

/** Reads a file that only its owner can read and write, so that no other user sets the bounds or reads the key. */
export function readOwnFile(path: string): string {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY);
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${(error as NodeJS.ErrnoException).code}.`);
  }
  try {
    // Windows has no such file modes.
    if (process.platform !== "win32" && fstatSync(file).mode & 0o077) {
      throw new UsageError(`Other users of this machine have access to ${path}. As its owner, run: chmod 600 ${path}`);
    }
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

export function readPolicy(path: string): Policy {
  let content: unknown;
  try {
    content = JSON.parse(readOwnFile(path));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} is not JSON.`);
  }
  const { data, error } = schema.safeParse(content);
  if (!data) throw new UsageError(`${path}: ${z.prettifyError(error)}`);
  return data;
}
