import { StorageAway } from "./storage-error.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

interface Waiting {
  sleep(milliseconds: number): Promise<void>;
  /** Called before each pause. */
  onPause(error: StorageAway, milliseconds: number): void;
}

/** Opens a storage, and waits without limit while the storage is unavailable. Any other error ends the waiting. */
export async function whenAvailable<T>(open: () => Promise<T>, { sleep, onPause }: Waiting): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof StorageAway)) throw error;
      onPause(error, pause);
      await sleep(pause);
    }
  }
}
