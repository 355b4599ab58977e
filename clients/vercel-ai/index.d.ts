import type { Tool } from "ai";
import type { Evidence, RemoteMemory } from "ecphora";

export { connect, EcphoraError } from "ecphora";

/** How the tools use the memory. */
export interface ToolOptions {
  /** The most memories that `recall` returns; by default 5. */
  limit?: number;
  /** The session under which `remember` stores, such as the id of the chat. */
  session?: string;
  /** The source that `remember` stores with each memory. */
  source?: string;
  /** Whether the model gets the tool `forget`, which erases for good; by default it does. */
  forget?: boolean;
}

/** A memory as `recall` quotes it. */
export interface QuotedMemory {
  id: string;
  text: string;
  speaker?: string;
  happened_at: string;
  /** Since when it is not true any more. */
  until?: string;
}

export interface RememberInput {
  texts: string[];
  speaker?: string;
  happened_at?: string;
}

export interface RecallInput {
  question: string;
  speaker?: string;
  as_of?: string;
}

// A type alias: an interface has no index signature, which the `tools` of `generateText` need.
export type MemoryTools = {
  /** Stores facts. Of the ids, `created` are new; `blocked` were forgotten on purpose, and stay so. */
  remember: Tool<RememberInput, { ids: string[]; created: number; blocked: number }>;
  /** Memories that belong to a question, best first, and how much evidence they are. */
  recall: Tool<RecallInput, { evidence: Evidence; memories: QuotedMemory[] }>;
};

export type ForgetTool = {
  /** Erases memories by their ids. */
  forget: Tool<{ ids: string[] }, { forgotten: string[] }>;
};

/** The tools of a memory, for the `tools` of `generateText` and `streamText`. */
export function tools(memory: RemoteMemory, options: ToolOptions & { forget: false }): MemoryTools;
export function tools(memory: RemoteMemory, options?: ToolOptions): MemoryTools & ForgetTool;
