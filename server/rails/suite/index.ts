export { railSuite, type OpenedRail, type RailSuite, type Runner } from "./suite.ts";
export { startFaultyGateway, type Fault, type FaultResponse, type FaultyGateway } from "./faults.ts";
