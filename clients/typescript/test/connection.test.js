// What the client does when a server is slow, gone, refuses, or answers nonsense. Needs no server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect, EcphoraError } from "../index.js";

function json(value, { status = 200, headers = {} } = {}) {
  return () => new Response(JSON.stringify(value), { status, headers });
}

function refusal(status, type, seconds) {
  return json({ error: { type, message: "no" } }, { status, headers: seconds === undefined ? {} : { "Retry-After": seconds } });
}

function broken(code) {
  return () => {
    throw Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("gone"), { code }) });
  };
}

// A memory whose server gives the answers in turn, the last one forever; and the requests that it got.
function scripted(...answers) {
  const requests = [];
  const fetch = async (target, init) => {
    requests.push({ url: new URL(target), ...init });
    return (answers.length > 1 ? answers.shift() : answers[0])(target, init);
  };
  return { requests, memory: connect("http://server/base/", { token: "ecp_x", scope: "a&b/ü", fetch, timeout: 200 }) };
}

async function failure(promise) {
  return promise.then(
    () => assert.fail("it did not fail"),
    (error) => error,
  );
}

test("a request has the token, the scope and the arguments", async () => {
  const { memory, requests } = scripted(json([]));
  await memory.facts.updates({ limit: 3 });
  const [request] = requests;
  assert.equal(request.url.pathname, "/base/v1/facts/updates");
  assert.equal(request.url.searchParams.get("scope"), "a&b/ü");
  assert.equal(request.headers.Authorization, "Bearer ecp_x");
  assert.equal(request.redirect, "manual");
  assert.deepEqual(JSON.parse(request.body), { limit: 3 });
});

test("a request says where the user is", async () => {
  const requests = [];
  const fetch = async (target, init) => {
    requests.push(init);
    return json(0)();
  };
  await connect("http://server", { zone: "America/Argentina/Ushuaia", fetch }).count();
  await connect("http://server", { fetch }).count();
  assert.deepEqual(
    requests.map((request) => request.headers["Ecphora-Zone"]),
    ["America/Argentina/Ushuaia", undefined],
  );
  assert.throws(() => connect("http://server", { zone: "a\r\nb", fetch }), { type: "InvalidInput" });
});

test("a request that was not sent is sent again", async () => {
  const { memory, requests } = scripted(broken("ECONNREFUSED"), json({ ids: ["a"] }));
  assert.deepEqual((await memory.remember("x")).ids, ["a"]);
  assert.equal(requests.length, 2);
});

test("a lost answer is asked for again only by what reads", async () => {
  const reading = scripted(broken("ECONNRESET"), json(3));
  assert.equal(await reading.memory.count(), 3);
  const unlogged = scripted(broken("ECONNRESET"), json({}));
  await unlogged.memory.recall("x", { options: { log_access: false } });
  assert.equal(unlogged.requests.length, 2);
  for (const call of [(memory) => memory.remember("x"), (memory) => memory.recall("x"), (memory) => memory.maintenance.undo()]) {
    const { memory, requests } = scripted(broken("ECONNRESET"));
    const error = await failure(call(memory));
    assert.equal(error.type, "ServerUnavailable");
    assert.match(error.message, /\(gone\); check the address, and that it runs: ecphora serve/);
    assert.equal(requests.length, 1);
  }
});

test("a refusal for its rate is waited out, a busy store only by what reads", async () => {
  const refused = scripted(refusal(429, "TooManyRequests", "0"), json(null));
  await refused.memory.maintenance.pin("a");
  assert.equal(refused.requests.length, 2);
  const busy = scripted(refusal(503, "StoreBusy", "0"), json(3));
  assert.equal(await busy.memory.count(), 3);
  const writing = scripted(refusal(503, "StoreBusy", "0"));
  assert.deepEqual([(await failure(writing.memory.maintenance.undo())).type, writing.requests.length], ["StoreBusy", 1]);
  const always = scripted(refusal(429, "TooManyRequests", "0"));
  assert.deepEqual([(await failure(always.memory.maintenance.undo())).type, always.requests.length], ["TooManyRequests", 3]);
});

test("an answer of another kind is a server error", async () => {
  const answers = [
    () => new Response("<html>Welcome</html>"),
    () => new Response("<html>Not found</html>", { status: 404 }),
    json({ detail: "x" }, { status: 500 }),
    () => new Response(null, { status: 302, headers: { Location: "http://elsewhere/" } }),
  ];
  for (const answer of answers) {
    const { memory, requests } = scripted(answer);
    const error = await failure(memory.count());
    assert.ok(error instanceof EcphoraError);
    assert.equal(error.type, "ServerError");
    assert.equal(requests.length, 1);
  }
  const denied = await failure(scripted(refusal(403, "Forbidden")).memory.count());
  assert.deepEqual([denied.type, denied.status], ["AccessDenied", 403]);
});

test("a slow server is given up after the time limit", async () => {
  const slow = (_target, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const { memory, requests } = scripted(slow);
  const error = await failure(memory.count());
  assert.match(error.message, /no answer within 200 ms/);
  assert.equal(requests.length, 1);
});

test("an export that breaks off is unavailable, and one that is given up is canceled", async () => {
  const lines = '{"ecphora":1}\n{"node":{}}\n';
  let isFirst = true;
  const broken = new ReadableStream({
    pull: (controller) => {
      if (isFirst) controller.enqueue(new TextEncoder().encode(lines));
      else controller.error(new Error("reset"));
      isFirst = false;
    },
  });
  const short = scripted(() => new Response(broken)).memory.export();
  assert.equal((await short.next()).value, '{"ecphora":1}');
  await short.next();
  assert.equal((await failure(short.next())).type, "ServerUnavailable");
  let isCanceled = false;
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode(lines)),
    cancel: () => {
      isCanceled = true;
    },
  });
  for await (const line of scripted(() => new Response(endless)).memory.export()) {
    assert.equal(line, '{"ecphora":1}');
    break;
  }
  assert.ok(isCanceled);
});

test("lines end at line feeds alone, wherever the parts are cut", async () => {
  const bytes = new TextEncoder().encode('{"a":"x\u2028ü👩‍🔬"}\r\n{"b":1}');
  for (const size of [1, 2, 5, 100]) {
    const parts = [];
    for (let start = 0; start < bytes.length; start += size) parts.push(bytes.slice(start, start + size));
    const body = new ReadableStream({
      pull: (controller) => (parts.length ? controller.enqueue(parts.shift()) : controller.close()),
    });
    const lines = [];
    for await (const line of scripted(() => new Response(body)).memory.export()) lines.push(JSON.parse(line));
    assert.deepEqual(lines, [{ a: "x\u2028ü👩‍🔬" }, { b: 1 }]);
  }
});

test("the address and the token are checked", () => {
  for (const url of ["", "localhost", "ftp://x", "http://u:p@x", "http://x?a=1", "http://x#a"]) {
    assert.throws(() => connect(url), { type: "InvalidInput" });
  }
  for (const token of ["", "a\nb", "ü", 3]) assert.throws(() => connect("http://x", { token }), { type: "InvalidInput" });
  assert.equal(connect("http://x").scope, "default");
});

test("a consolidation that is aborted is canceled on the server", async () => {
  const controller = new AbortController();
  const job = { state: "running", done: 1, total: 4, result: null, error: null };
  const { memory, requests } = scripted(json({ job: "j/1" }), json(job));
  const reason = new Error("enough");
  const onProgress = () => controller.abort(reason);
  assert.equal(await failure(memory.consolidate({ onProgress }, { signal: controller.signal })), reason);
  assert.equal(requests.at(-1).url.pathname, "/base/v1/jobs/j%2F1/cancel");
});
