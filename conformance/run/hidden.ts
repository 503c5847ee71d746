// Names the secrets and phone numbers that no file of a run may show.
import { numbersLike } from "../allowances/search.ts";
import { realRecipients, type RunOptions } from "../run-options.ts";

/** The options that hold secrets or phone numbers of people. */
export type SecretOptions = Pick<
  RunOptions,
  "key" | "secondKey" | "webhookSecret" | "headers" | "recipient" | "failingRecipient" | "assumed"
>;

/** A shorter text may occur in other texts by chance. */
const shortestSecret = 8;

/**
 * Returns the values of `--header` that are hidden wherever they occur. A shorter value is hidden only in its header.
 */
export const headerSecrets = ({ headers }: Pick<SecretOptions, "headers">): string[] =>
  Object.values(headers).filter((value) => value.length >= shortestSecret);

/** Returns true if no key of a run is so short that it occurs in texts by chance. */
export const areLong = ({ key, secondKey, webhookSecret }: SecretOptions): boolean =>
  [key, secondKey, webhookSecret].every((each) => each === undefined || each.length >= shortestSecret);

/** Returns what a redactor must hide: secrets, and the phone numbers of people with the numbers that reveal them. */
export function hiddenIn(options: SecretOptions): { secrets: string[]; phones: string[] } {
  const { key, secondKey, webhookSecret } = options;
  const secrets = [key, secondKey, webhookSecret, ...headerSecrets(options)];
  return {
    secrets: secrets.filter((secret) => secret !== undefined),
    phones: Object.values(realRecipients(options)).flatMap(numbersLike),
  };
}
