import type { Storage } from "../domain/storage.ts";

/**
 * Returns the storage with something done after each operation.
 * @param failed throws the error that the caller gets instead of the given one
 * @param worked called after an operation that succeeded
 */
export function wrapped(
  storage: Storage,
  failed: (error: unknown) => never,
  worked: () => void = () => undefined,
): Storage {
  const methods = Object.entries(storage).map(([name, method]) => [
    name,
    (...args: never[]) =>
      (method as (...given: never[]) => Promise<unknown>)(...args).then((result) => {
        worked();
        return result;
      }, failed),
  ]);
  return Object.fromEntries(methods) as Storage;
}
