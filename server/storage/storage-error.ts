/** The storage cannot be used as it is; the text says what to do. Stops a start. */
export class StorageError extends Error {
  override name = "StorageError";
}
