// Random sequences of creates, repeats and verifies, kept in step with a model of the interface.
import * as fc from "fast-check";

export type Paid = { merchantsReference: string; reference: string; amount: number };
type Model = { paid: Paid[] };

/** What a command does to the target. Each throws `OutOfStep` when the target does not do what the model says. */
export type Actions = {
  create(amount: number): Promise<Paid>;
  createRefused(amount: number): Promise<void>;
  repeat(paid: Paid, amount: number): Promise<void>;
  verify(paid: Paid): Promise<void>;
  verifyUnknown(): Promise<void>;
};

/** The target and the model went apart. */
export class OutOfStep extends Error {}

type Command = fc.AsyncCommand<Model, Actions>;

const command = (name: string, run: (model: Model, actions: Actions) => Promise<void>, needsPaid = false): Command => ({
  check: ({ paid }) => !needsPaid || paid.length > 0,
  run,
  toString: () => name,
});

/** One of what was paid, wherever the index points. */
const pick = ({ paid }: Model, index: number) => paid[index % paid.length] as Paid;

const create = (amount: number) =>
  command(`create ${amount}`, async (model, actions) => {
    model.paid.push(await actions.create(amount));
  });
const createRefused = (amount: number) =>
  command(`create ${amount}, to be refused`, (_, actions) => actions.createRefused(amount));
const repeat = ([index, amount]: [number, number]) =>
  command(`repeat with ${amount}`, (model, actions) => actions.repeat(pick(model, index), amount), true);
const verify = (index: number) => command("verify", (model, actions) => actions.verify(pick(model, index)), true);
const verifyUnknown = () => command("verify what is unknown", (_, actions) => actions.verifyUnknown());

const mostCommands = 12;
/** Payouts that one sequence makes at most: each command one, and what is paid at its start; all of it repeated at its end. */
export const mostPayouts = 2 * (mostCommands + 1);

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
  { maxCommands: mostCommands, size: "max" },
);

/** The commands that were carried out; fast-check adds a path for shrinking, of which there is none. */
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
 * Runs so many sequences. Each starts with a payout and ends with a repeat of everything that was paid, since chance
 * alone may leave both out. What a failed one was made of is not shrunk: that would pay again.
 * @returns why the target went out of step, with the sequence; nothing when it did not
 */
export async function runSequences(actions: Actions, count: number, seed: number): Promise<string | undefined> {
  for (const commands of fc.sample(sequences, { numRuns: count, seed })) {
    try {
      await runSequence(commands, actions);
    } catch (error) {
      if (error instanceof OutOfStep) return `${error.message}, after ${sequenceOf(commands)}`;
      throw error;
    }
  }
  return undefined;
}
