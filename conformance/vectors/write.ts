// npm run vectors writes the test vectors.
import { writeFileSync } from "node:fs";
import { vectorsText } from "./vectors.ts";

writeFileSync(new URL("webhooks.json", import.meta.url), vectorsText());
