// The naive way: fetch, and a new reference when something goes wrong.
import { text } from "node:stream/consumers";

const { BASE_URL, API_KEY } = process.env;
const outcomes = { success: "paid", failed: "failed", pending: "pending" };

async function pay(entry) {
  const response = await fetch(`${BASE_URL}/v1/disbursements`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": API_KEY },
    body: JSON.stringify(entry),
  });
  if (!response.ok) throw new Error(`${response.status}`);
  const { data } = await response.json();
  return outcomes[data.status];
}

for (const line of (await text(process.stdin)).split("\n").filter(Boolean)) {
  const entry = JSON.parse(line);
  let outcome;
  for (let attempt = 1; attempt <= 3 && !outcome; attempt += 1) {
    const reference = attempt === 1 ? entry.reference : `${entry.reference}-retry-${attempt}`;
    outcome = await pay({ ...entry, reference }).catch((error) => console.error(error.message));
  }
  console.log(JSON.stringify({ reference: entry.reference, outcome: outcome ?? "refused" }));
}
