// The code of a worker thread of the self-test. It runs several tasks concurrently because tasks mostly wait for I/O.
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { observeSound } from "./catch.ts";
import { inLanes } from "./lanes.ts";
import { carryOut, type Task } from "./tasks.ts";

const share = workerData as Task[];
// Tasks of a class run all checks, so they need the processor more.
const lanes = share.some(({ kind }) => kind === "class") ? 4 : 6;
const baseline = await observeSound();
const port = parentPort as MessagePort;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a MessagePort takes no targetOrigin
await inLanes(lanes, share, async (task) => port.postMessage(await carryOut(task, baseline)));
