// Code as a user writes it: `npm run types` checks its types. Nothing here runs.

import { connect, EcphoraError, type Recollection, type RemoteMemory } from "ecphora";

async function use(memory: RemoteMemory): Promise<string[]> {
  const { ids } = await memory.remember(["Ana moved to Porto.", { text: "Bo likes rain.", speaker: "Bo" }], { session: "s1" });
  await memory.remember({ role: "user", content: "Hello." }, { message_options: { speakers: { user: "Ana" } } });
  const where = { speakers: ["Ana"], after: "2026-01-01", metadata: { year: { $gte: 2026 } } };
  const found: Recollection = await memory.recall("Where does Ana live?", { limit: 5, where, as_of: null });
  for (const hit of found.hits) console.log(hit.rank, hit.text, hit.score, hit.validity?.is_valid, hit.why[0].feature);
  const node = await memory.get(ids[0]);
  await memory.update(ids[0], "Ana lives in Porto.", "replace", {}, { signal: AbortSignal.timeout(1000) });
  await memory.forget({ ids, dry_run: true });
  await memory.maintenance.pin(ids);
  const updates = await memory.facts.updates();
  const result = await memory.consolidate({ seconds: 2, onProgress: (done, total) => console.log(done / total) });
  for await (const line of memory.export()) await memory.import([line]);
  // @ts-expect-error a limit is a number
  await memory.recall("x", { limit: "5" });
  // @ts-expect-error an unknown option
  await memory.recall("x", { limits: 5 });
  // @ts-expect-error a mode is one of two
  await memory.update("a", "b", "mend");
  // @ts-expect-error a memory may not be there
  console.log(node.text);
  return updates.map((update) => update.new.text).concat(result.undo_batch?.id ?? []);
}

use(connect(new URL("http://127.0.0.1:8765"), { token: "ecp_x", scope: "ana" })).catch((error: unknown) => {
  if (error instanceof EcphoraError && error.type === "ServerUnavailable") console.log(error.message, error.status);
});
