interface Hooks {
  /** Throws the error that the caller gets instead of the given one. */
  failed(error: unknown): never;
  /** Runs after an operation that succeeded. */
  worked?(): void;
}

type Method = (...args: never[]) => Promise<unknown>;

/** Returns the storage with something done after each operation. */
export function wrapped<T extends object>(storage: T, { failed, worked }: Hooks): T {
  const wrap =
    (method: Method): Method =>
    (...args) =>
      method(...args).then((result) => {
        worked?.();
        return result;
      }, failed);
  return Object.fromEntries(Object.entries(storage).map(([name, method]) => [name, wrap(method as Method)])) as T;
}
