// The client against a real server: ECPHORA_URL, and in ECPHORA_TOKEN a token with every right in every scope.
// tests/client/test_typescript.py starts the server and runs this.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { test } from "node:test";

import { connect, EcphoraError } from "../index.js";

const url = process.env.ECPHORA_URL;
const token = process.env.ECPHORA_TOKEN;
const skip = url ? false : "ECPHORA_URL names no server";

const ANA = { text: "I moved to Porto.", id: "porto", speaker: "Ana", happened_at: "2026-05-03", metadata: { year: 2026 } };
const GHENT = { text: "I have a flat in Ghent now.", id: "ghent", speaker: "Ana", happened_at: "2026-09-14" };

function open(options = {}) {
  return connect(url, { token, scope: `typescript ${randomUUID()}`, ...options });
}

async function filled() {
  const memory = open();
  await memory.remember([ANA, "Bo likes rain in Lisbon.", GHENT]);
  return memory;
}

async function failure(promise) {
  return promise.then(
    () => assert.fail("it did not fail"),
    (error) => error,
  );
}

test("memories are remembered, found and forgotten", { skip }, async () => {
  const memory = await filled();
  assert.equal(await memory.count(), 3);
  assert.equal(await memory.count({ where: { speakers: "Ana", metadata: { year: { $gte: 2026 } } } }), 1);
  const node = await memory.get("porto");
  assert.equal(node.text, ANA.text);
  assert.equal(node.happened_at, "2026-05-03T00:00:00+00:00");
  assert.equal(await memory.get("nothing"), null);
  const page = await memory.find({ order: "happened_at", limit: 1 });
  assert.deepEqual(page.memories.map((one) => one.id), ["porto"]);
  const next = await memory.find({ order: "happened_at", limit: 5, after: page.cursor });
  assert.equal(next.memories.length, 2);
  const updated = await memory.update("porto", "I moved to Braga.", "supersede", { happened_at: "2026-06-01" });
  assert.equal((await memory.history("porto")).successors[0].id, updated.ids[0]);
  assert.deepEqual((await memory.forget({ ids: ["ghent", "nothing"] })).episode_ids, ["ghent"]);
  assert.ok((await memory.scopes()).some((one) => one.name === memory.scope));
});

test("a recall has hits, reasons and evidence", { skip }, async () => {
  const memory = await filled();
  const found = await memory.recall("Where does Ana live?", { limit: 2, where: { speakers: ["Ana"] }, as_of: "2026-12-01" });
  assert.deepEqual(new Set(found.hits.map((hit) => hit.id)), new Set(["porto", "ghent"]));
  assert.deepEqual(found.hits.map((hit) => hit.rank), [1, 2]);
  assert.ok(["strong", "weak", "none"].includes(found.evidence));
  const sum = found.hits[0].why.reduce((total, part) => total + part.value, 0);
  assert.ok(Math.abs(sum - found.hits[0].score) < 1e-3);
  const conversation = [{ role: "user", content: "Where does Ana live?" }];
  assert.equal((await memory.recall(conversation, { limit: 1 })).hits.length, 1);
  assert.equal((await memory.whyNot("Where?", "nothing")).miss_reason, "not_found");
  assert.match(await memory.feedback(found, [found.hits[0].id]), /^question:/);
  assert.equal((await memory.answer("Where does Ana live?")).prompt, null);
});

test("consolidation waits for its end and can be undone", { skip }, async () => {
  const memory = open();
  await memory.remember({ text: "My standup is at nine.", speaker: "Jo", happened_at: "2026-02-02" });
  await memory.remember({ text: "My standup is at ten now.", speaker: "Jo", happened_at: "2026-04-07" });
  const steps = [];
  const result = await memory.consolidate({ onProgress: (...step) => steps.push(step) });
  assert.equal(result.counts.memories, 2);
  assert.deepEqual((await memory.maintenance.batches()).map((one) => one.id), [result.undo_batch.id]);
  assert.ok(Array.isArray(await memory.facts.updates({ limit: 5 })));
  assert.equal((await memory.maintenance.undo()).id, result.undo_batch.id);
  assert.equal(await memory.maintenance.pin((await memory.find()).memories[0].id), null);
  assert.equal((await failure(memory.consolidate({ seconds: -1 }))).type, "InvalidInput");
});

test("an export is imported, and a backup is the file", { skip }, async () => {
  const memory = await filled();
  const text = "A line separator\u2028and 👩‍🔬 in one text.";
  await memory.remember({ text, id: "separator" });
  const lines = [];
  for await (const line of memory.export({ vectors: true })) lines.push(line);
  assert.equal(JSON.parse(lines[0]).scope, memory.scope);
  for await (const line of memory.export()) {
    assert.equal(JSON.parse(line).scope, memory.scope);
    break; // gives the rest up
  }
  const copy = open();
  assert.ok((await copy.import(lines)).nodes >= 4);
  assert.equal(await copy.count(), 4);
  assert.equal((await copy.get("separator")).text, text);
  assert.ok((await copy.import(`${lines.join("\n")}\n`)).existing >= 4);
  await copy.forget({ everything: true });
  assert.ok((await copy.import(lines, { restore: true })).nodes >= 4);
  assert.equal((await failure(copy.import(["{}"]))).type, "InvalidRecord");
  const backup = await memory.backup();
  const digest = createHash("sha256");
  for await (const part of backup.body) digest.update(part);
  assert.equal(digest.digest("hex"), backup.sha256);
  assert.ok(backup.episodes >= 3);
});

test("errors have the type and message of the memory", { skip }, async () => {
  const memory = await filled();
  const error = await failure(memory.recall("x", { limit: 0 }));
  assert.ok(error instanceof EcphoraError);
  assert.ok(error instanceof Error);
  assert.deepEqual([error.type, error.status, error.name], ["InvalidInput", 400, "EcphoraError"]);
  assert.match(error.message, /^limit is 0; give a whole number/);
  assert.equal((await failure(memory.remember({ text: "other", id: "porto" }))).type, "IdCollision");
  assert.equal((await failure(memory.remember("lone \ud800"))).type, "InvalidText");
  assert.match((await failure(memory.recall("x", { wher: 1 }))).message, /no argument 'wher'/);
  const stranger = await failure(connect(url, { token: "ecp_wrong" }).count());
  assert.deepEqual([stranger.type, stranger.status], ["AccessDenied", 401]);
  assert.doesNotMatch(stranger.message, /ecp_wrong/);
});

test("a call ends with its signal", { skip }, async () => {
  const memory = await filled();
  const reason = new Error("changed my mind");
  assert.equal(await failure(memory.recall("x", {}, { signal: AbortSignal.abort(reason) })), reason);
  assert.equal(await failure(memory.export({}, { signal: AbortSignal.abort(reason) }).next()), reason);
  assert.equal(await memory.count({}, { signal: new AbortController().signal }), 3);
});
