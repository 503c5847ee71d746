import { ServiceError } from "./errors.ts";

const LONGEST_NAME = 100;

/**
 * Returns the name that people give a person or a key, without spaces around it.
 * @throws ServiceError `invalid_value` if it is empty, too long or has control characters
 */
export function checkedName(text: string): string {
  const name = text.trim();
  if (name !== "" && name.length <= LONGEST_NAME && !/\p{Cc}/u.test(name)) return name;
  throw new ServiceError("invalid_value", `A name has 1 to ${LONGEST_NAME} characters and no control characters.`);
}
