/** The storage is not usable, so the process cannot start. The message says what to do. */
export class StorageError extends Error {
  override name = "StorageError";
}
