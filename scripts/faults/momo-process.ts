// MTN MoMo's simulator as a process of its own, whose payments outlive the process.
import { startMomoSimulator } from "../../server/rails/examples/momo-simulator.ts";

/** How long a payment is pending, in milliseconds. */
const ENDS_AFTER_MS = 500;

const { PORT, LEDGER, CALLBACK_HOST } = process.env;
const simulator = await startMomoSimulator({
  port: Number(PORT),
  file: LEDGER!,
  endsAfterMs: ENDS_AFTER_MS,
  callbackHost: CALLBACK_HOST!,
});
// A callback may hang.
process.once("SIGTERM", async () => {
  await simulator.close();
  process.exit(0);
});
