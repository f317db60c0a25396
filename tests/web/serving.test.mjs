// How the page is served: to whom, in which form, under which policy.

import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";
import zlib from "node:zlib";

import { startServer } from "./support/server.mjs";

const HTML = "text/html,application/xhtml+xml,*/*;q=0.8";
const FIRST_LOAD_BYTES = 250 * 1024;
let server;

before(async () => {
  server = await startServer();
});
after(() => server.stop());

// Without the help of fetch, which takes codings away.
function get(path, headers = {}, method = "GET") {
  return new Promise((resolve, reject) => {
    http
      .request(server.origin + path, { method, headers }, (answer) => {
        const parts = [];
        answer.on("data", (part) => parts.push(part));
        answer.on("end", () =>
          resolve({
            status: answer.statusCode,
            headers: answer.headers,
            body: Buffer.concat(parts),
          }),
        );
      })
      .on("error", reject)
      .end();
  });
}

function filesOf(page) {
  return [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((match) => match[1]);
}

test("browsers get the page, programs what they always got", async () => {
  const page = await get("/", { Accept: HTML });
  assert.equal(page.status, 200);
  assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
  assert.match(page.body.toString(), /^<!doctype html>/);
  assert.match(page.headers.vary, /Accept/);
  for (const accept of ["*/*", "application/json"]) {
    const answer = await get("/", { Accept: accept });
    assert.equal(JSON.parse(answer.body).status, "ok", accept);
  }
});

test("the policy is strict, and nothing is inline", async () => {
  const page = await get("/", { Accept: HTML });
  const policy = page.headers["content-security-policy"];
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ]) {
    assert.ok(policy.includes(part), `${part} in ${policy}`);
  }
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.equal(page.headers["x-content-type-options"], "nosniff");
  assert.equal(page.headers["referrer-policy"], "no-referrer");
  assert.equal(page.headers["set-cookie"], undefined);
  const text = page.body.toString();
  assert.doesNotMatch(text, /<style|style=|<script(?![^>]*src=)|\son[a-z]+=|https?:\/\//i);
});

test("the page is asked for again, its files are kept for ever", async () => {
  const page = await get("/", { Accept: HTML });
  assert.equal(page.headers["cache-control"], "no-cache");
  const again = await get("/", { Accept: HTML, "If-None-Match": page.headers.etag });
  assert.equal(again.status, 304);
  assert.equal(again.body.length, 0);
  for (const file of filesOf(page.body.toString())) {
    const answer = await get(file, { "Accept-Encoding": "gzip" });
    assert.equal(answer.status, 200, file);
    assert.match(answer.headers["cache-control"], /immutable/);
    const same = await get(file, {
      "Accept-Encoding": "gzip",
      "If-None-Match": answer.headers.etag,
    });
    assert.equal(same.status, 304, file);
    const other = await get(file, { "If-None-Match": answer.headers.etag });
    assert.equal(other.status, 200, "another coding is another representation");
  }
});

test("every coding holds the same", async () => {
  const page = await get("/", { Accept: HTML });
  for (const file of filesOf(page.body.toString())) {
    const plain = await get(file);
    assert.equal(plain.headers["content-encoding"], undefined);
    const gzip = await get(file, { "Accept-Encoding": "gzip, deflate" });
    const brotli = await get(file, { "Accept-Encoding": "gzip, br" });
    assert.equal(gzip.headers["content-encoding"], "gzip");
    assert.equal(brotli.headers["content-encoding"], "br");
    assert.ok(zlib.gunzipSync(gzip.body).equals(plain.body), file);
    assert.ok(zlib.brotliDecompressSync(brotli.body).equals(plain.body), file);
    const head = await get(file, { "Accept-Encoding": "gzip" }, "HEAD");
    assert.equal(Number(head.headers["content-length"]), gzip.body.length);
  }
});

test("there are no other files", async () => {
  for (const path of [
    "/assets/",
    "/assets/index.html",
    "/assets/../src/api.ts",
    "/assets/%2e%2e%2findex.html",
    "/assets/nothing.js",
    "/assets/a/b.js",
    "/assets/%00",
  ]) {
    const answer = await get(path, { Accept: HTML });
    assert.ok([400, 401, 404].includes(answer.status), `${path}: ${answer.status}`);
  }
});

test("the first load is small", async () => {
  const page = await get("/", { Accept: HTML, "Accept-Encoding": "gzip" });
  const files = filesOf(zlib.gunzipSync(page.body).toString());
  let size = page.body.length;
  for (const file of files) size += (await get(file, { "Accept-Encoding": "gzip" })).body.length;
  console.log(`# first load: ${files.length + 1} files, ${(size / 1024).toFixed(1)} KiB in gzip`);
  assert.ok(size < FIRST_LOAD_BYTES, `${size} bytes`);
});

test("serve prints a link that brings the token along", () => {
  assert.match(server.greeting, new RegExp(`${server.origin}/#token=${server.token}\\n`));
});
