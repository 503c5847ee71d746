// Runs random sequences of creates, duplicates and verifies, and compares the target with a model of the interface.
import * as fc from "fast-check";

export type Paid = { merchantsReference: string; reference: string; amount: number };
type Model = { paid: Paid[] };

/**
 * The requests that the commands send. Each throws `ModelMismatch` if the target does not do what the model predicts.
 */
export type Actions = {
  create(amount: number): Promise<Paid>;
  createRefused(amount: number): Promise<void>;
  repeat(paid: Paid, amount: number): Promise<void>;
  verify(paid: Paid): Promise<void>;
  verifyUnknown(): Promise<void>;
};

/** Thrown if the target and the model disagree. */
export class ModelMismatch extends Error {}

type Command = fc.AsyncCommand<Model, Actions>;

const command = (name: string, run: (model: Model, actions: Actions) => Promise<void>, needsPaid = false): Command => ({
  check: ({ paid }) => !needsPaid || paid.length > 0,
  run,
  toString: () => name,
});

/** Returns the payout that a random index selects. */
const pick = ({ paid }: Model, index: number) => paid[index % paid.length] as Paid;

const create = (amount: number) =>
  command(`create ${amount}`, async (model, actions) => {
    model.paid.push(await actions.create(amount));
  });
const createRefused = (amount: number) =>
  command(`create invalid ${amount}`, (_, actions) => actions.createRefused(amount));
const repeat = ([index, amount]: [number, number]) =>
  command(`create duplicate with ${amount}`, (model, actions) => actions.repeat(pick(model, index), amount), true);
const verify = (index: number) => command("verify", (model, actions) => actions.verify(pick(model, index)), true);
const verifyUnknown = () => command("verify unknown", (_, actions) => actions.verifyUnknown());

const maxCommands = 12;
/**
 * Returns the largest number of payouts that this many sequences can cause. The create at the start and every command
 * of a sequence may each cause one. The first payout for a request that must be refused ends all sequences.
 */
export const maxPayouts = (count: number) => count * (maxCommands + 1) + 1;

const amounts = fc.integer({ min: 1, max: 500 });
const indices = fc.nat({ max: 100 });
const sequences = fc.commands(
  [
    amounts.map(create),
    fc.integer({ min: -100, max: 0 }).map(createRefused),
    fc.tuple(indices, amounts).map(repeat),
    indices.map(verify),
    fc.constant(0).map(verifyUnknown),
  ],
  { maxCommands, size: "max" },
);

/**
 * Lists the executed commands. It removes the replay path that fast-check appends for shrinking, which is not used
 * here.
 */
const sequenceOf = (commands: Iterable<Command>) =>
  `create 1,${String(commands).replace(/\/\*.*\*\//, "")}`.trim().replace(/,$/, "");

async function runSequence(commands: Iterable<Command>, actions: Actions) {
  const model: Model = { paid: [await actions.create(1)] };
  await fc.asyncModelRun(() => ({ model, real: actions }), commands);
  for (const paid of model.paid) {
    await actions.repeat(paid, paid.amount + 1);
    await actions.verify(paid);
  }
}

/**
 * Runs `count` sequences. Each starts with a payout and ends with a duplicate of every payout, because a random
 * sequence may contain neither. A failed sequence is not shrunk, because that would pay again.
 * @returns the first disagreement between target and model, with the sequence; undefined if there is none
 */
export async function runSequences(actions: Actions, count: number, seed: number): Promise<string | undefined> {
  for (const commands of fc.sample(sequences, { numRuns: count, seed })) {
    try {
      await runSequence(commands, actions);
    } catch (error) {
      if (error instanceof ModelMismatch) return `${error.message}, after ${sequenceOf(commands)}`;
      throw error;
    }
  }
  return undefined;
}
