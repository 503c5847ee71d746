// Names the secrets and phone numbers that no file of a run may show.
import { numbersLike } from "../allowances/search.ts";
import { isOrdinary } from "../target/key-forms.ts";
import { realRecipients, type RunOptions } from "../run-options.ts";

/** The options that hold secrets or phone numbers of people. */
export type SecretOptions = Pick<
  RunOptions,
  "key" | "secondKey" | "webhookSecret" | "headers" | "recipient" | "failingRecipient" | "assumed"
>;

/**
 * Returns the values of `--header` that are hidden wherever they occur. An ordinary text is hidden only in its header.
 */
export const headerSecrets = ({ headers }: Pick<SecretOptions, "headers">): string[] =>
  Object.values(headers).filter((value) => !isOrdinary(value));

/** Returns true if no key of a run may occur in texts by chance. */
export const areUnusual = ({ key, secondKey, webhookSecret }: SecretOptions): boolean =>
  [key, secondKey, webhookSecret].every((each) => each === undefined || !isOrdinary(each));

/** Returns what a redactor must hide: secrets, and the phone numbers of people with the numbers that reveal them. */
export function hiddenIn(options: SecretOptions): { secrets: string[]; phones: string[] } {
  const { key, secondKey, webhookSecret } = options;
  const secrets = [key, secondKey, webhookSecret, ...headerSecrets(options)];
  return {
    secrets: secrets.filter((secret) => secret !== undefined),
    phones: Object.values(realRecipients(options)).flatMap(numbersLike),
  };
}
