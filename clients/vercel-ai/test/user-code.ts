// Code as a user writes it: `npm run types` checks its types. Nothing here runs.

import { generateText, isStepCount, type LanguageModel } from "ai";
import { connect, tools } from "ecphora-vercel-ai";

async function answer(model: LanguageModel, prompt: string): Promise<string> {
  const memory = connect("http://127.0.0.1:8765", { token: process.env.ECPHORA_TOKEN, scope: "ana" });
  const result = await generateText({ model, tools: tools(memory, { session: "chat-7" }), stopWhen: isStepCount(5), prompt });
  for (const step of result.steps) {
    for (const one of step.toolResults) {
      if (!one.dynamic && one.toolName === "recall") console.log(one.output.evidence, one.output.memories[0]?.text);
    }
  }
  const readers = tools(memory, { forget: false, limit: 3 });
  // @ts-expect-error there is no such tool
  console.log(readers.forget);
  // @ts-expect-error a limit is a number
  tools(memory, { limit: "3" });
  return result.text;
}

export { answer };
