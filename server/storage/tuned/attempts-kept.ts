/** The number of attempts stored for each delivery. It is limited because replays are not. */
export const ATTEMPTS_KEPT = 100;
