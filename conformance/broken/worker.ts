// One worker of the self-test. It does several tasks at a time, since most of the time they wait.
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { observeSound } from "./catch.ts";
import { inLanes } from "./lanes.ts";
import { carryOut, type Task } from "./tasks.ts";

const lanes = 6;
const usual = await observeSound();
const port = parentPort as MessagePort;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port between threads has no origin
await inLanes(lanes, workerData as Task[], async (task) => port.postMessage(await carryOut(task, usual)));
