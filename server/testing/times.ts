// Times of the tests, in milliseconds.
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The time at which a fake clock starts. */
export const START = Date.UTC(2026, 10, 20, 9, 30);
/** Later than any time in the tests. */
export const LATEST = Date.UTC(9999, 11, 31);
