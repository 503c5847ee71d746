// Determines whether requests met a fault: whether a broken server said or sent something else than the sound server
// underneath would have. What only takes longer, is only stored, or shows after minutes does not count.
import type { Changeable } from "../model/merchant.ts";
import { hooksOf, type Call, type How, type Message, type Reply } from "./fault.ts";

const textOfCall = ({ method, path, headers, body }: Call) => JSON.stringify([method, path, headers, String(body)]);
const textOfReply = (reply: Reply | undefined) => JSON.stringify(reply) ?? "";
const textOfMessage = ({ url, headers, body }: Message) => JSON.stringify([url, headers, body]);

type Methods = Record<string, (...args: unknown[]) => unknown>;
const textOfResult = (args: unknown, result: unknown) => JSON.stringify([args, result instanceof Promise || result]);

/** Tells `differs` whether each replaced method of a merchant returns what the method that it replaces did. */
function noted(account: Methods, replace: (account: Methods) => Methods, differs: (is: boolean) => void): Methods {
  const sound = new Map<string, string>();
  const mapped = (methods: Methods, around: (name: string, call: () => unknown, args: unknown[]) => unknown): Methods =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        (...args: unknown[]) => around(name, () => method(...args), args),
      ]),
    );
  const watched = mapped(account, (name, call, args) => {
    const result = call();
    sound.set(name, textOfResult(args, result));
    return result;
  });
  return mapped(replace(watched), (name, call, args) => {
    sound.delete(name);
    const result = call();
    differs(textOfResult(args, result) !== sound.get(name));
    return result;
  });
}

/** Returns the same fault, and a function that returns true if requests to its server have met the fault. */
export function noting(how: How): { how: How; isMet: () => boolean } {
  let isMet = false;
  const differs = (is: boolean) => void (isMet ||= is);
  const same: How = (world) => {
    const { handle, webhook, merchant, settings } = hooksOf(how, world);
    return {
      ...(settings ? { settings } : {}),
      ...(handle && {
        async handle(call, ask) {
          const said: string[] = [];
          const asked = textOfCall(call);
          const reply = await handle(call, async (each) => {
            const sound = await ask(each);
            if (textOfCall(each) === asked) said.push(textOfReply(sound));
            return sound;
          });
          differs(!said.includes(textOfReply(reply)));
          return reply;
        },
      }),
      ...(webhook && {
        async webhook(message, deliver) {
          let sent = 0;
          let received = "";
          const reply = await webhook(message, async (each) => {
            sent += 1;
            differs(sent > 1 || textOfMessage(each) !== textOfMessage(message));
            const sound = await deliver(each);
            received = textOfReply(sound);
            return sound;
          });
          differs(textOfReply(reply) !== received);
          return reply;
        },
      }),
      ...(merchant && {
        merchant: (account) =>
          noted(account as unknown as Methods, (each) => merchant(each as unknown as Changeable) as Methods, differs),
      }),
    };
  };
  return { how: same, isMet: () => isMet };
}
