// Random sequences of creates, duplicates and verifies, compared with a model of the interface.
import * as fc from "fast-check";

export type Paid = { merchantsReference: string; reference: string; amount: number };
type Model = { paid: Paid[] };

/** How the commands act on the target. Each throws `ModelMismatch` if the target does not do what the model predicts. */
export type Actions = {
  create(amount: number): Promise<Paid>;
  createRefused(amount: number): Promise<void>;
  repeat(paid: Paid, amount: number): Promise<void>;
  verify(paid: Paid): Promise<void>;
  verifyUnknown(): Promise<void>;
};

/** The target and the model disagree. */
export class ModelMismatch extends Error {}

type Command = fc.AsyncCommand<Model, Actions>;

const command = (name: string, run: (model: Model, actions: Actions) => Promise<void>, needsPaid = false): Command => ({
  check: ({ paid }) => !needsPaid || paid.length > 0,
  run,
  toString: () => name,
});

/** The payout that a random index selects. */
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
/** The most payouts of one sequence: one at its start and one per command, and a duplicate of each at its end. */
export const maxPayouts = 2 * (maxCommands + 1);

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

/** The executed commands. Removes the replay path that fast-check appends for shrinking, which is not used here. */
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
 * Runs `count` sequences. Each starts with a payout and ends with a duplicate of every payout, since chance alone may
 * produce neither. A failed sequence is not shrunk, since that would pay again.
 * @returns where the target and the model disagree, with the sequence; undefined if they agree
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
