import type { Storage } from "../domain/storage.ts";

interface Hooks {
  /** Runs before each operation except `close`. If it throws, the operation rejects. */
  before?(): void;
  /** Throws the error that the caller gets instead of the given one. */
  failed(error: unknown): never;
  /** Runs after an operation that succeeded. */
  worked?(): void;
}

type Method = (...args: never[]) => Promise<unknown>;

/** Returns the storage with something done before and after each operation. */
export function wrapped(storage: Storage, { before, failed, worked }: Hooks): Storage {
  const wrap = (name: string, method: Method): Method => {
    const call: Method = async (...args) => {
      if (name !== "close") before?.();
      return method(...args);
    };
    return (...args) =>
      (before ? call : method)(...args).then((result) => {
        worked?.();
        return result;
      }, failed);
  };
  return Object.fromEntries(
    Object.entries(storage).map(([name, method]) => [name, wrap(name, method as Method)]),
  ) as unknown as Storage;
}
