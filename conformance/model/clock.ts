// A merchant's sandbox clock, and the tasks that are due on it.

/** Something to do at a time on the sandbox clock. `run` gets the time at which the task was due. */
export type Task = { at: number; run: (at: number) => void | Promise<void> };

export class Clock {
  #ahead = 0;
  #tasks: Task[] = [];
  #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  now(): number {
    return Date.now() + this.#ahead;
  }

  schedule(at: number, run: Task["run"]): Task {
    const task = { at, run };
    if (!this.#closed) this.#tasks.push(task);
    this.#arm();
    return task;
  }

  cancel(task: Task | undefined): void {
    this.#tasks = this.#tasks.filter((other) => other !== task);
  }

  /** Moves the clock forward, and resolves when everything that is due has happened. */
  async advanceTo(time: number): Promise<void> {
    this.#ahead += Math.max(0, time - this.now());
    while (this.#startDue() || this.#running.size > 0) await Promise.all(this.#running);
  }

  close(): void {
    this.#closed = true;
    this.#tasks = [];
    clearTimeout(this.#timer);
  }

  /** Starts the tasks that are due, in order. Returns true if there were any. */
  #startDue(): boolean {
    const now = this.now();
    const due = this.#tasks.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
    this.#tasks = this.#tasks.filter(({ at }) => at > now);
    for (const task of due) {
      const running: Promise<void> = Promise.resolve(task.run(task.at)).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    this.#arm();
    return due.length > 0;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#tasks.length === 0) return;
    const next = Math.min(...this.#tasks.map(({ at }) => at)) - this.now();
    this.#timer = setTimeout(() => this.#startDue(), Math.max(0, next));
  }
}
