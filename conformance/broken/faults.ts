// Collects all broken servers. Each has one fault and names the requirements whose checks must catch it.
import { readdirSync } from "node:fs";
import { contractFaults } from "./contract-faults.ts";
import { listed, type Fault, type Faults } from "./fault.ts";

const folder = new URL("../topics/", import.meta.url);
const topics = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith("faults.ts"));
const modules = await Promise.all(
  topics.toSorted().map((file) => import(new URL(file, folder).href) as Promise<{ faults: Faults }>),
);

export const faults: readonly Fault[] = [...modules.map(({ faults: own }) => own), ...contractFaults].flatMap(listed);
