// The client of an Ecphora server: the methods of a memory over HTTP. No dependencies; needs fetch (Node 20, browsers,
// Deno, Bun). The types are in index.d.ts.

import { OPERATIONS } from "./operations.js";

const MAX_RETRY_WAIT_MS = 30_000;
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 2_000;
const SHA256_HEADER = "Ecphora-Sha256";
const EPISODES_HEADER = "Ecphora-Episodes";
const DAMAGE_HEADER = "Ecphora-Damage";
// Errors of a connection that was refused: nothing was sent.
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused"]);

export class EcphoraError extends Error {
  constructor(type, message, { status = null, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "EcphoraError";
    this.type = type;
    this.status = status;
  }
}

export function connect(url, { token = null, scope = "default", timeout = 60_000, retries = 2, zone = null, fetch } = {}) {
  const send = fetch ?? globalThis.fetch;
  return new RemoteMemory(new Connection(url, token, timeout, retries, zone, send), scope);
}

class Connection {
  #token;
  #zone;
  #fetch;

  constructor(url, token, timeout, retries, zone, fetch) {
    let parsed;
    try {
      parsed = new URL(url);
    } catch (cause) {
      throw new EcphoraError("InvalidInput", `url is ${url}; give one such as http://127.0.0.1:8765`, { cause });
    }
    if (!/^https?:$/.test(parsed.protocol) || parsed.username || parsed.search || parsed.hash) {
      throw new EcphoraError("InvalidInput", "url has to be an http or https address without user, query or fragment");
    }
    if (token !== null && !(typeof token === "string" && /^[\x21-\x7e]+$/.test(token))) {
      throw new EcphoraError("InvalidInput", "the token holds characters that cannot be sent; was a line end copied?");
    }
    if (zone !== null && !(typeof zone === "string" && /^[\w+-]+(\/[\w+-]+)*$/.test(zone))) {
      throw new EcphoraError("InvalidInput", `zone is ${zone}; give a name of the tz database, such as "Europe/Lisbon"`);
    }
    this.url = parsed.href.replace(/\/+$/, "");
    this.timeout = timeout;
    this.retries = retries;
    this.#token = token;
    this.#zone = zone;
    this.#fetch = (...args) => fetch(...args);
  }

  // The JSON that answers a request.
  async json(method, path, request) {
    return this.request(method, path, request, async (response) => {
      const text = await response.text();
      try {
        return JSON.parse(text);
      } catch (cause) {
        const message = `the server at ${this.url} answered with something else than JSON; is it Ecphora?`;
        throw new EcphoraError("ServerError", message, { status: response.status, cause });
      }
    });
  }

  // Sends a request, again where that is safe, and returns what `read` makes of the answer. The time limit ends when
  // `read` does, or with `isStream` when the answer begins.
  async request(method, path, { body, query = {}, headers = {}, isRead = false, isStream = false, isLong = false, signal } = {}, read) {
    const search = new URLSearchParams(query).toString();
    const target = `${this.url}${path}${search && `?${search}`}`;
    const isUpload = body !== undefined && typeof body !== "string";
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt >= this.retries || isUpload;
      const limit = new AbortController();
      const abort = () => limit.abort(signal.reason);
      if (signal?.aborted) abort();
      signal?.addEventListener("abort", abort, { once: true });
      const timer = isLong ? undefined : setTimeout(() => limit.abort(TIMED_OUT), this.timeout);
      const release = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      let wait = Math.min(250 * 2 ** attempt, MAX_RETRY_WAIT_MS);
      let isReleased = true;
      try {
        const response = await this.#fetch(target, {
          method,
          body,
          redirect: "manual",
          signal: limit.signal,
          headers: {
            ...(this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` }),
            ...(this.#zone === null ? {} : { "Ecphora-Zone": this.#zone }),
            ...(body === undefined ? {} : { "Content-Type": "application/json" }),
            ...headers,
          },
          ...(isUpload ? { duplex: "half" } : {}),
        });
        if (response.ok) {
          if (isStream) {
            clearTimeout(timer);
            isReleased = false;
            return read(response, release);
          }
          return await read(response);
        }
        const seconds = response.headers.get("retry-after") ?? "";
        const failure = await this.#failure(response);
        const mayRepeat = response.status === 429 || (response.status === 503 && isRead);
        if (isLast || !mayRepeat || !/^\d+$/.test(seconds)) throw failure;
        wait = Math.min(1000 * Number(seconds), MAX_RETRY_WAIT_MS);
      } catch (error) {
        if (error instanceof EcphoraError) throw error;
        if (signal?.aborted) throw signal.reason;
        const isTimeout = limit.signal.reason === TIMED_OUT;
        const wasNotSent = NOT_SENT.has(error?.cause?.code ?? error?.code);
        if (isLast || isTimeout || !(isRead || wasNotSent)) throw this.unavailable(error, isTimeout);
      } finally {
        if (isReleased) release();
      }
      await pause(wait, signal);
    }
  }

  unavailable(cause, isTimeout = false) {
    const reason = isTimeout ? `no answer within ${this.timeout} ms` : (cause?.cause?.message || cause?.message || `${cause}`);
    const message = `the server at ${this.url} is not available (${reason}); check the address, and that it runs: ecphora serve`;
    return new EcphoraError("ServerUnavailable", message, { cause });
  }

  async #failure(response) {
    const { status } = response;
    try {
      const { error } = JSON.parse(await response.text());
      const type = status === 401 || status === 403 ? "AccessDenied" : String(error.type);
      if (typeof error.message !== "string") throw new TypeError("no message");
      return new EcphoraError(type, error.message, { status });
    } catch (cause) {
      const message = `the server at ${this.url} answered ${status} without an error of Ecphora; is the address right?`;
      return new EcphoraError("ServerError", message, { status, cause });
    }
  }

  // The lines of an answer as they arrive; only a line feed ends a line.
  async *lines(path, request) {
    const { response, release } = await this.request("POST", path, { ...request, isStream: true }, (response, release) => ({
      response,
      release,
    }));
    const reader = response.body.getReader();
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let pending = "";
    let isDone = false;
    try {
      while (!isDone) {
        let part;
        try {
          part = await reader.read();
        } catch (error) {
          if (request.signal?.aborted) throw request.signal.reason;
          throw this.unavailable(error);
        }
        isDone = part.done;
        pending += isDone ? decoder.decode() : decoder.decode(part.value, { stream: true });
        const lines = pending.split("\n");
        pending = lines.pop();
        yield* lines;
      }
      if (pending) yield pending;
    } finally {
      release();
      if (!isDone) await reader.cancel().catch(() => {});
    }
  }
}

const TIMED_OUT = new Error("timed out");

class RemoteView {
  #connection;

  constructor(connection, scope) {
    this.#connection = connection;
    Object.defineProperty(this, "scope", { value: scope, enumerable: true });
  }

  // Calls an operation with its arguments as the method got them.
  _call({ path, required, hasOptions, isScoped, isRead }, args) {
    const rest = args.slice(required.length);
    const options = hasOptions ? (rest.shift() ?? {}) : {};
    const body = { ...options, ...Object.fromEntries(required.map((name, place) => [name, args[place]])) };
    return this.#connection.json("POST", path, {
      body: JSON.stringify(body),
      query: isScoped ? { scope: this.scope } : {},
      isRead: isRead === true || (isRead === "unlogged" && body.options?.log_access === false),
      signal: rest[0]?.signal,
    });
  }
}

class RemoteFacts extends RemoteView {}
class RemoteEntities extends RemoteView {}
class RemoteMaintenance extends RemoteView {}

export class RemoteMemory extends RemoteView {
  #connection;

  constructor(connection, scope) {
    super(connection, scope);
    this.#connection = connection;
    this.facts = new RemoteFacts(connection, scope);
    this.entities = new RemoteEntities(connection, scope);
    this.maintenance = new RemoteMaintenance(connection, scope);
  }

  async consolidate({ onProgress, ...options } = {}, { signal } = {}) {
    const query = { scope: this.scope };
    const started = await this.#connection.json("POST", "/v1/consolidate", { body: JSON.stringify(options), query, signal });
    const path = `/v1/jobs/${encodeURIComponent(started.job)}`;
    const job = await this.#waitForJob(path, onProgress, signal).catch(async (error) => {
      await this.#connection.json("POST", `${path}/cancel`, { isRead: true }).catch(() => {});
      throw error;
    });
    if (job.error) throw new EcphoraError(job.error.type, job.error.message);
    if (job.result) return job.result;
    throw new EcphoraError("ServerError", "the consolidation was canceled; what it wrote before stays, undo() reverts it");
  }

  async #waitForJob(path, onProgress, signal) {
    let reported = "0 0";
    for (let wait = FIRST_POLL_MS; ; wait = Math.min(1.5 * wait, MAX_POLL_MS)) {
      const job = await this.#connection.json("GET", path, { isRead: true, signal });
      if (`${job.done} ${job.total}` !== reported) {
        reported = `${job.done} ${job.total}`;
        onProgress?.(job.done, job.total);
      }
      if (job.state !== "waiting" && job.state !== "running") return job;
      await pause(wait, signal);
    }
  }

  async *export({ vectors = false } = {}, { signal } = {}) {
    const body = JSON.stringify({ vectors });
    yield* this.#connection.lines("/v1/export", { body, query: { scope: this.scope }, isLong: true, signal });
  }

  import(lines, { restore = false, change_existing = false } = {}, { signal } = {}) {
    return this.#connection.json("POST", "/v1/import", {
      body: bytesOf(lines),
      query: { scope: this.scope, restore: String(restore), change_existing: String(change_existing) },
      headers: { "Content-Type": "application/x-ndjson" },
      isLong: true,
      signal,
    });
  }

  backup({ signal } = {}) {
    const read = (response, release) => ({
      episodes: Number(response.headers.get(EPISODES_HEADER)),
      sha256: response.headers.get(SHA256_HEADER),
      damage: JSON.parse(response.headers.get(DAMAGE_HEADER) ?? "[]"),
      body: response.body.pipeThrough(new TransformStream({ flush: release })),
    });
    return this.#connection.request("POST", "/v1/backup", { isStream: true, isLong: true, signal }, read);
  }
}

const CLASSES = { "": RemoteMemory, facts: RemoteFacts, entities: RemoteEntities, maintenance: RemoteMaintenance };
for (const operation of OPERATIONS) {
  const method = {
    [operation.name](...args) {
      return this._call(operation, args);
    },
  };
  Object.defineProperty(CLASSES[operation.view].prototype, operation.name, {
    value: method[operation.name],
    configurable: true,
    writable: true,
  });
}

// Lines as a stream of bytes, each line with its end.
function bytesOf(lines) {
  const iterator = (async function* () {
    yield* typeof lines === "string" ? [lines] : lines;
  })();
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value.endsWith("\n") ? value : `${value}\n`));
      } catch (error) {
        controller.error(error);
      }
    },
    async cancel() {
      await iterator.return();
    },
  });
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
