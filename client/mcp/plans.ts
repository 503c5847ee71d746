// Plans: what will be paid, fixed before anything is paid. A plan's id is a hash of all that matters and is also the
// payout's reference, so every payment of a plan, in any session, is the same payout.
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { UsageError } from "../errors.ts";

/** The fields that plans of payouts and of checkouts share. The id of a plan depends on all of them. */
export const paymentFields = {
  amount: z
    .int()
    .min(1)
    .describe("In the currency's lowest denomination; 100 is one unit in every currency: 1500000 is 15 000 FCFA"),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .describe("Two capital letters, such as CI"),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .describe("Three capital letters, such as XOF"),
  purpose: z
    .string()
    .regex(/\S/)
    .max(120)
    .describe(
      "What is paid, such as 'invoice 1042' or 'salary of November 2026'. The same payment always has the same purpose",
    ),
};
export const planSchema = z.object({
  phoneNumber: z
    .string()
    .regex(/^[0-9]{10,15}$/)
    .describe("The recipient's mobile number with the calling code: 10 to 15 digits, no plus sign, no spaces"),
  ...paymentFields,
});
const storedSchema = planSchema.extend({ service: z.string() });

export type Plan = z.infer<typeof storedSchema>;
export type CheckoutPlan = Omit<Plan, "phoneNumber"> & { redirectURL?: string | undefined };

const hashOf = (...values: unknown[]) => createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 40);

/** Without case, punctuation and repeated spaces, which a program that repeats a call may change. */
const normal = (purpose: string) =>
  purpose
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

export const planId = ({ service, phoneNumber, amount, country, currency, purpose }: Plan) =>
  `plan_${hashOf(service, phoneNumber, amount, country, currency, normal(purpose))}`;

export const checkoutId = ({ service, amount, country, currency, purpose, redirectURL }: CheckoutPlan) =>
  `checkout_${hashOf(service, amount, country, currency, normal(purpose), redirectURL ?? "")}`;

/** Equal for two plans that may be the same payment, described in other words. */
export const paymentOf = ({ phoneNumber, amount, currency }: Plan) => hashOf(phoneNumber, amount, currency);

/** A folder for its owner only, with a file for each plan and its journal. */
export class Plans {
  private readonly folder: string;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (process.platform !== "win32" && statSync(folder).mode & 0o077) {
      throw new UsageError(
        `Other users of this machine have access to ${folder}. As its owner, run: chmod 700 ${folder}`,
      );
    }
    this.folder = folder;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  journalOf(id: string): string {
    return this.path(`${id}.journal`);
  }

  write(plan: Plan): string {
    const id = planId(plan);
    const path = this.path(`${id}.json`);
    if (existsSync(path) && this.read(id)) return id;
    const temporary = `${path}.${randomUUID()}`;
    writeFileSync(temporary, JSON.stringify(plan), { mode: 0o600 });
    renameSync(temporary, path);
    return id;
  }

  /** Returns undefined if there is no such plan, or if its file was changed. */
  read(id: string): Plan | undefined {
    if (!/^plan_[0-9a-f]{40}$/.test(id)) return undefined;
    try {
      const plan = storedSchema.parse(JSON.parse(readFileSync(this.path(`${id}.json`), "utf8")));
      return planId(plan) === id ? plan : undefined;
    } catch {
      return undefined;
    }
  }
}
