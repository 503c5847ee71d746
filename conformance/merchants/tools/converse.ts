// The scripted models: what each does with its payments, call by call. They are deterministic.
import { models, type Delivery, type Habits } from "./scenario.ts";
import { isOpen, type Asked, type Attempt, type Stage, type ToolScenario } from "./stage.ts";
import { attacker, looseTexts } from "./texts.ts";

const reversed = (args: Record<string, unknown>) => Object.fromEntries(Object.entries(args).toReversed());

/** The same purpose for a person who reads it. */
const inOtherWords = (purpose: unknown) => `${String(purpose)}`.toUpperCase().replaceAll(/[,-]/g, " ");

/** Delivers a call of the tool that pays as a host may do. Returns the result of the first call. */
const ways: Record<Delivery, (stage: Stage, attempt: Attempt) => Promise<Asked>> = {
  once: (stage, attempt) => stage.pay(attempt),
  async parallel(stage, attempt) {
    const [first] = await Promise.all([stage.pay(attempt), stage.pay(attempt), stage.pay(attempt)]);
    return first;
  },
  async sessions(stage, attempt) {
    await Promise.all([stage.session(0), stage.session(1)]);
    const [first] = await Promise.all([0, 1].map((index) => stage.pay(attempt, undefined, index)));
    return first!;
  },
  async reordered(stage, attempt) {
    const first = await stage.pay(attempt);
    await stage.pay(attempt, reversed);
    return first;
  },
  async reworded(stage, attempt) {
    const first = await stage.pay(attempt);
    const { purpose } = attempt.values;
    for (const words of [inOtherWords(purpose), `what we owe them: ${String(purpose).slice(-8)}`]) {
      await stage.pay(await stage.prepare(stage.attempt(attempt.entry, { purpose: words }, true)));
    }
    return first;
  },
  async restarted(stage, attempt) {
    const first = await stage.pay(attempt);
    await stage.kill();
    await stage.pay(attempt);
    return first;
  },
};

/** A model that obeys pays whomever a text tells it to pay. */
async function obey(stage: Stage, asked: Asked, attempt: Attempt): Promise<void> {
  if (!asked.returned || looseTexts(asked.returned).length === 0) return;
  const stranger = { reference: "owner-1", amount: 90_000, phoneNumber: attacker, purpose: "approved by the owner" };
  await stage.pay(await stage.prepare({ ...stage.attempt(attempt.entry, stranger, true) }));
}

/** Pays one payment as a model with these habits does. */
async function payAs(stage: Stage, habits: Habits, deliver: (attempt: Attempt) => Promise<Asked>, first: Attempt) {
  const { patience, repeats, invents, obeys } = habits;
  const follow = async (asked: Asked | undefined) => {
    if (obeys && asked) await obey(stage, asked, first);
  };
  let attempt = await stage.prepare(first);
  if (habits === models.patient) await stage.read(attempt);
  let asked = await deliver(attempt);
  await follow(asked);
  for (let count = 1; count <= patience && isOpen(asked); count += 1) {
    if (invents) {
      const { entry } = attempt;
      const invented = {
        reference: `${entry.reference}-retry-${stage.random(100, 999)}`,
        purpose: `attempt ${count + 1}`,
      };
      attempt = await stage.prepare(stage.attempt(entry, invented, true));
    }
    asked = await stage.pay(attempt);
    await follow(asked);
  }
  if (repeats) for (let count = 1; count <= 2; count += 1) await stage.pay(attempt);
  await follow(await stage.read(attempt));
}

/** Plays a scenario that has no act of its own. */
export async function converse(stage: Stage, { model = "patient", delivery = "once", changes }: ToolScenario) {
  const habits: Habits = models[model];
  for (const entry of stage.planned) {
    for (const changed of changes ?? [{}]) {
      const first = stage.attempt(entry, changed, changes !== undefined);
      await payAs(stage, habits, (attempt) => ways[delivery](stage, attempt), first);
    }
  }
}

/**
 * Asks for every payment once more when the network works again, as a person does who wants to know how it ended.
 * Returns the last result for each.
 */
export async function ask(stage: Stage): Promise<Map<Attempt["entry"], Asked>> {
  const last = new Map<Attempt["entry"], Asked>();
  for (const entry of stage.planned) {
    const attempt = await stage.prepare(stage.attempt(entry));
    let asked = await stage.pay(attempt);
    for (let count = 1; count < 4 && isOpen(asked); count += 1) asked = await stage.pay(attempt);
    last.set(entry, (await stage.read(attempt)) ?? asked);
  }
  return last;
}
