// Lets the first Ctrl-C end a run early, but with its report. The second one ends the process at once.
const signals = ["SIGINT", "SIGTERM"] as const;

/** Returns a signal that is aborted at the first interruption between `listen` and `unlisten`. */
export function createInterruption() {
  const controller = new AbortController();
  const abort = () => controller.abort();
  return {
    interrupted: controller.signal,
    listen: () => signals.forEach((signal) => process.once(signal, abort)),
    unlisten: () => signals.forEach((signal) => process.off(signal, abort)),
  };
}
