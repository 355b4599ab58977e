import type {
  ConsolidateRequest,
  ConsolidationResult,
  EntitiesMethods,
  FactsMethods,
  MaintenanceMethods,
  PlainMethods,
  TransferResult,
} from "./generated.js";

export type * from "./generated.js";

/** How to reach a server. */
export interface ConnectOptions {
  /** A token made by `ecphora token create`; leave it out for a server without tokens. */
  token?: string | null;
  /** Whose memory it is; by default "default". */
  scope?: string;
  /** The longest wait for an answer, in milliseconds; by default 60000. */
  timeout?: number;
  /**
   * How often a request is sent again where that is safe: if it was not sent, if the server refused it for its rate, and
   * if it only reads. By default 2.
   */
  retries?: number;
  /**
   * Where the user is: a name of the tz database, such as the browser's
   * `Intl.DateTimeFormat().resolvedOptions().timeZone`. By default the zone of the token, or else of the server.
   */
  zone?: string | null;
  /** A replacement of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** Options of one call, its last argument. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. What the server has begun it may finish. */
  signal?: AbortSignal;
}

/**
 * What a server could not or would not do.
 *
 * `type` is the name of the error's class in Python, such as "InvalidInput" or "StoreBusy"; "AccessDenied" if the token
 * does not allow the call, "ServerUnavailable" if there is no answer, "ServerError" for any other failure. `status` is
 * the HTTP status, null without one.
 */
export class EcphoraError extends Error {
  constructor(type: string, message: string, options?: { status?: number | null; cause?: unknown });
  readonly type: string;
  readonly status: number | null;
}

/** A memory behind a server, made by `connect`. */
export interface RemoteMemory extends PlainMethods {
  /** Whose memory it is. */
  readonly scope: string;
  /** The updates and contradictions of facts that consolidation found. */
  readonly facts: FactsMethods;
  /** The names in memories, and which of them mean one entity. */
  readonly entities: EntitiesMethods;
  /** Batches that can be undone, decayed memories, and marks. */
  readonly maintenance: MaintenanceMethods;

  /**
   * Process what is new, and wait for the end. `onProgress` gets the number of memories processed and their total. If
   * the call is aborted, the server ends the consolidation after the step that it is at.
   */
  consolidate(
    options?: ConsolidateRequest & { onProgress?: (done: number, total: number) => void },
    call?: CallOptions,
  ): Promise<ConsolidationResult>;

  /** The whole scope as lines of JSON, without their ends. */
  export(options?: { vectors?: boolean }, call?: CallOptions): AsyncGenerator<string, void, undefined>;

  /** Read an export, given as its lines, into the scope; `change_existing` needs the right to read too. */
  import(
    lines: string | Iterable<string> | AsyncIterable<string>,
    options?: { restore?: boolean; change_existing?: boolean },
    call?: CallOptions,
  ): Promise<TransferResult>;

  /** A copy of the server's whole file. The token needs the right `admin` in every scope. */
  backup(
    call?: CallOptions,
  ): Promise<{ episodes: number; sha256: string; damage: string[]; body: ReadableStream<Uint8Array> }>;
}

/** Return a memory behind the server at `url`, such as http://127.0.0.1:8765. Nothing is sent before the first call. */
export function connect(url: string | URL, options?: ConnectOptions): RemoteMemory;
