// The settings of the tests of the suite: `npm run certify:self-test` tries all servers, `npm run test:all` a sample.
const { SELF_TEST, SEEDS = "1" } = process.env;

/** True in the self-test, which tries every server. */
export const triesAll = SELF_TEST !== undefined;

/** The arguments of each run against a server: in the self-test `SEEDS` runs, each with another seed. */
export const seeds: readonly (readonly string[])[] = Array.from({ length: Number(SEEDS) }, (_, index) =>
  Number(SEEDS) === 1 ? [] : ["--seed", String(index + 1)],
);
