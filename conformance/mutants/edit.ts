/** Replaces the text from `start` to `end`. */
export type Edit = { operator: string; start: number; end: number; text: string };
