import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { thisMachine } from "./outside.ts";

test("closes what would keep the process alive, and nothing comes any more", async () => {
  const mute = createServer().listen(0, "127.0.0.1");
  await once(mute, "listening");
  const origin = new URL(`http://127.0.0.1:${(mute.address() as AddressInfo).port}`);
  const machine = thisMachine();
  const client = machine.connect(origin.origin);
  const request = { origin, path: "/", method: "GET", headers: {}, timeoutMs: 3_600_000 };
  const waiting = client.send(request);
  const { url } = await machine.listen({ host: "127.0.0.1", port: 0 }, () => undefined);
  const came: string[] = [];
  void machine.sleep(3_600_000).then(() => came.push("an hour"));
  const [socket] = (await once(mute, "connection")) as [Socket];
  await Promise.all([once(socket.resume(), "close"), machine.close()]);
  expect(await waiting).toMatchObject({ unreachable: false });
  await expect(fetch(url)).rejects.toThrow("fetch failed");

  void machine.sleep(0).then(() => came.push("a moment"));
  void client.send(request).then(() => came.push("a response"));
  const late = machine.listen({ host: "127.0.0.1", port: 0 }, () => undefined);
  await expect(fetch((await late).url)).rejects.toThrow("fetch failed");
  for (let turns = 0; turns < 10; turns += 1) await turn();
  expect(came).toEqual([]);
  mute.close();
});
