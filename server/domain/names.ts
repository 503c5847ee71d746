import { ServiceError } from "./errors.ts";

const LONGEST_NAME = 100;
/**
 * Control and format characters, such as U+200B and U+202E, line and paragraph separators, surrogates, unassigned and
 * other invisible characters. With them, two names look the same, or a name changes the text around it.
 */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}[\p{Default_Ignorable_Code_Point}--\p{M}]]/v;
/** Marks without a shape of their own, such as the selector of an emoji's colours, and the blank Braille pattern. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\u2800]/gu;
const EACH_INVISIBLE = new RegExp(INVISIBLE, "gv");

/** True if two names look the same to people. */
export const looksSame = (one: string, other: string): boolean => folded(one) === folded(other);
const folded = (name: string) => name.normalize("NFKC").replace(UNSEEN, "").toLowerCase().replace(/\s+/g, " ").trim();

/** Replaces the characters that `checkedName` refuses, in a name that a program gives. */
export const visible = (name: string): string => name.replace(EACH_INVISIBLE, "\uFFFD");

/**
 * Returns the name that people give a person, a key or a merchant, without spaces around it.
 * @throws ServiceError `invalid_value` if it is empty, too long or has invisible characters
 */
export function checkedName(text: string): string {
  const name = text.trim();
  if (name !== "" && name.length <= LONGEST_NAME && !INVISIBLE.test(name)) return name;
  throw new ServiceError(
    "invalid_value",
    `A name has 1 to ${LONGEST_NAME} characters, and no control or invisible characters.`,
  );
}
