import { brokenEvents } from "./events.ts";
import { brokenRepeats } from "./repeats.ts";
import { brokenSignatures } from "./signatures.ts";
import { soundReceivers } from "./sound.ts";
import type { Variant } from "./variant.ts";

export const brokenReceivers: readonly Variant[] = [...brokenEvents, ...brokenSignatures, ...brokenRepeats];

export const receiverVariants: readonly Variant[] = [...brokenReceivers, ...soundReceivers];
