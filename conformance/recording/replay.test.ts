// Tests that a repetition learns everything at the moment at which the recorded run learned it.
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { thisMachine, type Outside } from "./outside.ts";
import { createRecording } from "./recording.ts";
import { createReplay } from "./replay.ts";

const options = { key: "a-key-for-tests-of-replays", headers: {}, recipient: "2257038102473", assumed: [] };

/** A run that computes for some turns before it reads the clock, and reads the clock when something comes from outside. */
async function run({ now, sleep }: Outside) {
  const read = async (who: string) => `${who} ${now().getTime()}`;
  const computes = async () => {
    await sleep(1);
    for (let turns = 0; turns < 9; turns += 1) await turn();
    return read("after computing");
  };
  return Promise.all([computes(), sleep(2).then(() => read("after waiting"))]);
}

test("gives the run its times in the order in which the parts of the recorded run read them", async () => {
  let time = 0;
  // The second sleep ends when the first part has read the clock.
  const hasRead = Promise.withResolvers<void>();
  const inner: Outside = {
    ...thisMachine(),
    now() {
      hasRead.resolve();
      return new Date((time += 1));
    },
    sleep: (ms) => (ms === 1 ? Promise.resolve() : hasRead.promise),
  };
  const recording = createRecording(inner);
  const recorded = await run(recording.outside);
  expect(recorded).toEqual(["after computing 1", "after waiting 2"]);
  const { lines } = recording.finish(options, []);
  expect(await createReplay(lines, options).repeat(run)).toEqual(recorded);
});
