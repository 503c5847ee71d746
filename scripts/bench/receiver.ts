// A webhook receiver that accepts everything immediately and records arrival times. GET returns them and clears the
// list. After `PUT /down` it responds with 503, until `PUT /up`.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const arrivals: { settledAt: number; arrivedAt: number }[] = [];

let isUp = true;

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    if (req.method === "GET") return void res.end(JSON.stringify(arrivals.splice(0)));
    if (req.method === "PUT") {
      isUp = req.url === "/up";
      return void res.end();
    }
    if (!isUp) return void res.writeHead(503).end();
    const { data } = JSON.parse(Buffer.concat(chunks).toString());
    arrivals.push({ settledAt: Date.parse(data.updatedAt), arrivedAt: Date.now() });
    res.writeHead(204).end();
  });
});

server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
