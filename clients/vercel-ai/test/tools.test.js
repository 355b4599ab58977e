// The tools with the real AI SDK and a scripted model: no key, no network but the server at ECPHORA_URL.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

const url = process.env.ECPHORA_URL;
const ai = await import("ai").catch(() => null);
const skip = !ai ? "the package ai is not installed: npm install" : false;
const skipWithoutServer = skip || (!url ? "ECPHORA_URL names no server" : false);
const { connect, EcphoraError, tools } = ai ? await import("../index.js") : {};

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function memoryOf(scope = `vercel ai ${randomUUID()}`) {
  return connect(url, { token: process.env.ECPHORA_TOKEN, scope });
}

function calls(toolName, input) {
  const content = [{ type: "tool-call", toolCallId: randomUUID(), toolName, input: JSON.stringify(input) }];
  return { content, finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE, warnings: [] };
}

function says(text) {
  return { content: [{ type: "text", text }], finishReason: { unified: "stop", raw: undefined }, usage: USAGE, warnings: [] };
}

// Runs a model that makes these steps; a step may be a function of the outputs before it.
async function run(made, ...steps) {
  const { MockLanguageModelV4 } = await import("ai/test");
  const outputs = [];
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      const step = steps.shift();
      return typeof step === "function" ? step(outputs) : step;
    },
  });
  const result = await ai.generateText({
    model,
    tools: made,
    stopWhen: ai.isStepCount(8),
    prompt: "Go.",
    onStepEnd: (step) => outputs.push(...step.toolResults.map((one) => one.output)),
  });
  return { model, result, outputs: result.steps.flatMap((step) => step.toolResults.map((one) => one.output)) };
}

test("a model remembers, recalls and forgets", { skip: skipWithoutServer }, async () => {
  const memory = memoryOf();
  const { model, result, outputs } = await run(
    tools(memory, { session: "chat-7", source: "web" }),
    calls("remember", { texts: ["Ana moved to Porto.", "Bo likes rain."], speaker: "Ana", happened_at: "2026-05-03" }),
    calls("recall", { question: "Where does Ana live?", speaker: "Ana" }),
    (before) => calls("forget", { ids: [before.at(-1).memories[0].id] }),
    calls("recall", { question: "Where does Ana live?", speaker: "Ana" }),
    says("In Porto, but I forgot it."),
  );
  const [remembered, recalled, forgotten, again] = outputs;
  assert.equal(result.text, "In Porto, but I forgot it.");
  assert.equal(remembered.created, 2);
  assert.equal(recalled.memories[0].text, "Ana moved to Porto.");
  assert.equal(recalled.memories[0].speaker, "Ana");
  assert.ok(recalled.memories[0].happened_at.startsWith("2026-05-03"));
  assert.ok(["strong", "weak"].includes(recalled.evidence));
  assert.deepEqual(forgotten.forgotten, [remembered.ids[0]]);
  assert.ok(!again.memories.some((one) => one.text.includes("Porto")));
  assert.deepEqual(model.doGenerateCalls[0].tools.map((one) => one.name), ["remember", "recall", "forget"]);
  const node = await memory.get(remembered.ids[1]);
  assert.deepEqual([node.session, node.source], ["chat-7", "web"]);
});

test("recall says since when a memory is not true any more, and goes back in time", { skip: skipWithoutServer }, async () => {
  const memory = memoryOf();
  const { id } = await memory.remember("Ana lives in Lisbon.", { happened_at: "2026-01-10" }).then(({ ids }) => ({ id: ids[0] }));
  await memory.remember("Ana lives in Porto.", { happened_at: "2026-05-03", supersedes: id });
  const { outputs } = await run(
    tools(memory),
    calls("recall", { question: "Where does Ana live?" }),
    calls("recall", { question: "Where does Ana live?", as_of: "2026-03-01" }),
    says("Done."),
  );
  const old = outputs[0].memories.find((one) => one.id === id);
  assert.ok(old.until.startsWith("2026-05-03"));
  assert.ok(!("until" in outputs[0].memories.find((one) => one.id !== id)));
  assert.deepEqual(outputs[1].memories.map((one) => one.text), ["Ana lives in Lisbon."]);
});

test("the options bound what is recalled and leave out forget", { skip: skipWithoutServer }, async () => {
  const memory = memoryOf();
  await memory.remember(["Ana has a dog.", "Ana has a cat.", "Ana has a horse."]);
  const { model, outputs } = await run(
    tools(memory, { limit: 1, forget: false }),
    calls("recall", { question: "Which animals does Ana have?" }),
    says("Some."),
  );
  assert.equal(outputs[0].memories.length, 1);
  assert.deepEqual(model.doGenerateCalls[0].tools.map((one) => one.name), ["remember", "recall"]);
});

test("a failure of the server is an error of the tool, and the model goes on", { skip }, async () => {
  const memory = connect("http://127.0.0.1:9", { retries: 0 });
  const { result } = await run(tools(memory), calls("recall", { question: "Where?" }), says("I cannot recall."));
  const failed = result.steps[0].content.find((part) => part.type === "tool-error");
  assert.ok(failed.error instanceof EcphoraError);
  assert.equal(failed.error.type, "ServerUnavailable");
  assert.equal(result.text, "I cannot recall.");
});
