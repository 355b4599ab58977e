// The example for the Vercel AI SDK, with the real package and its mock model: no key, no network.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { connect } from "../index.js";

const url = process.env.ECPHORA_URL;
const ai = await import("ai").catch(() => null);
const skip = !url ? "ECPHORA_URL names no server" : ai ? false : "the package ai is not installed: npm install";

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function toolCall(toolName, input) {
  const content = [{ type: "tool-call", toolCallId: randomUUID(), toolName, input: JSON.stringify(input) }];
  return { content, finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE, warnings: [] };
}

test("a model remembers and recalls with the tools of the example", { skip }, async () => {
  const { MockLanguageModelV4 } = await import("ai/test");
  const { memoryTools } = await import("../examples/ai-sdk-tools.js");
  const memory = connect(url, { token: process.env.ECPHORA_TOKEN, scope: `ai sdk ${randomUUID()}` });
  const replies = [
    toolCall("remember", { text: "Ana moved to Porto.", speaker: "Ana", happened_at: "2026-05-03" }),
    toolCall("recall", { question: "Where does Ana live?", as_of: "2026-12-01" }),
    { content: [{ type: "text", text: "In Porto." }], finishReason: { unified: "stop", raw: undefined }, usage: USAGE, warnings: [] },
  ];
  const model = new MockLanguageModelV4({ doGenerate: async () => replies.shift() });
  const tools = memoryTools(memory);
  const result = await ai.generateText({ model, tools, stopWhen: ai.isStepCount(5), prompt: "Ana moved to Porto." });
  assert.equal(result.text, "In Porto.");
  const outputs = result.steps.flatMap((step) => step.toolResults.map((one) => one.output));
  assert.equal(outputs.length, 2);
  assert.equal(outputs[0].isNew, true);
  assert.equal(outputs[1].memories[0].text, "Ana moved to Porto.");
  assert.equal(outputs[1].memories[0].id, outputs[0].id);
  assert.deepEqual(model.doGenerateCalls[0].tools.map((one) => one.name), ["remember", "recall"]);
});
