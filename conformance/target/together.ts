// Lets requests race. Each request is sent up to its last byte, and the last bytes follow together. The target
// therefore processes the requests at the same time, even on a slow network or a busy machine.

export type Together = ReturnType<typeof createTogether>;

/** Creates a place where requests wait for each other. It opens when all of them wait there or have ended. */
function createBarrier(size: number, ended: ReadonlySet<object>) {
  const waiting = new Set<object>();
  const opened = Promise.withResolvers<void>();
  return {
    waiting,
    isOpen: false,
    check() {
      if (new Set([...waiting, ...ended]).size < size) return;
      this.isOpen = true;
      opened.resolve();
    },
    wait(request: object): Promise<void> {
      waiting.add(request);
      this.check();
      return opened.promise;
    },
  };
}

/** @param gapMs the time between the last bytes of two requests */
export function createTogether(size: number, gapMs: number, sleep: (ms: number) => Promise<void>) {
  const ended = new Set<object>();
  const start = createBarrier(size, ended);
  const finish = createBarrier(size, ended);
  return {
    /** Resolves when all requests may be sent up to their last byte. A request may have waited because of the rate. */
    start: (request: object) => start.wait(request),
    /** Resolves when the last byte of a request may be sent. */
    async finish(request: object) {
      const place = finish.waiting.size;
      await finish.wait(request);
      if (gapMs > 0) await sleep(place * gapMs);
    },
    /** Records that a request ended. It did not race if its last byte was not sent, or if it must be repeated. */
    end(request: object, isRepeated = false) {
      if (!finish.isOpen || isRepeated) finish.waiting.delete(request);
      ended.add(request);
      start.check();
      finish.check();
    },
    /** The number of requests whose last bytes were sent together, before any of them had a response. */
    get raced(): number {
      return finish.waiting.size;
    },
  };
}
