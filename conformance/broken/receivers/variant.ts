// Defines a broken or a sound variant of the reference receiver.
import type { Pieces } from "./reference.ts";
import type { Limits } from "../../programs/receiver/scenario.ts";

export type Variant = {
  id: string;
  /** One sentence that says what the receiver does. */
  does: string;
  /** The ids of the requirements that it violates; an empty array for a sound receiver. */
  violates: readonly string[];
  pieces: Partial<Pieces>;
  limits?: Partial<Limits>;
};

/**
 * Declares a broken receiver.
 * @param violates requirement ids without `receiver.`, separated by spaces
 */
export const broken = (
  id: string,
  does: string,
  violates: string,
  pieces: Partial<Pieces>,
  limits?: Partial<Limits>,
): Variant => ({
  id: `receiver-${id}`,
  does,
  violates: violates.split(" ").map((each) => `receiver.${each}`),
  pieces,
  ...(limits ? { limits } : {}),
});

/** Declares a sound receiver that differs from the reference. */
export const sound = (id: string, does: string, pieces: Partial<Pieces>): Variant => ({
  id: `receiver-sound-${id}`,
  does,
  violates: [],
  pieces,
});
