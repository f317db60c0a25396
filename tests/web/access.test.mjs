// Who may look: how a token is given, kept and taken away.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";

import { openBrowser, openPage, runProgram } from "./support/browser.mjs";
import { BINARY, startServer } from "./support/server.mjs";

let server;
let opened;

before(async () => {
  server = await startServer();
  opened = await openBrowser();
});
after(async () => {
  await opened.close();
  await server.stop();
});

const bearer = (token) => ({ headers: { Authorization: `Bearer ${token}` } });
const kept = (page) => page.evaluate(() => sessionStorage.getItem("belljar.token"));

test("a token is entered, and only this tab keeps it", async () => {
  const page = await openPage(opened.browser, server, { path: "/", token: null });
  await page.getByLabel("Token").fill(server.token);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Run/ }).waitFor();
  assert.equal(await kept(page), server.token);
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage)), "{}");
  assert.deepEqual(await page.context().cookies(), []);
  await page.getByRole("button", { name: "Leave" }).click();
  await page.getByLabel("Token").waitFor();
  assert.equal(await kept(page), null);
  await page.finish();
});

test("the link that serve prints opens the page, and leaves the address at once", async () => {
  const page = await openPage(opened.browser, server, {
    path: `/#token=${server.token}`,
    token: null,
  });
  await page.getByRole("button", { name: /^Run/ }).waitFor();
  assert.equal(await kept(page), server.token);
  assert.ok(!page.url().includes("token"), page.url());
  assert.ok(
    !(await page.evaluate(() => document.documentElement.outerHTML)).includes(server.token),
  );
  for (const url of page.found.requests) assert.ok(!url.includes(server.token), url);
  await page.finish();
});

test("a wrong token is told so, and another one can be tried", async () => {
  const page = await openPage(opened.browser, server, { path: "/#token=bj_wrong", token: null });
  await page.getByRole("alert").filter({ hasText: "not valid" }).waitFor();
  assert.equal(await kept(page), null);
  await page.getByLabel("Token").fill("bj_wrong too");
  await page.getByRole("button", { name: "Enter" }).click();
  await page.getByRole("alert").filter({ hasText: "not valid" }).waitFor();
  await page.getByLabel("Token").fill(server.token);
  await page.getByRole("button", { name: "Enter" }).click();
  await page.getByRole("button", { name: /^Run/ }).waitFor();
  await page.finish({ allowed: [/401/] });
});

test("a token that ends while it is used is asked for again, and the program stays", async () => {
  const { token } = await server.ask("/v1/admin/tokens", {
    body: { name: "brief", roles: ["user"], expires: "1h" },
    status: 201,
  });
  const page = await openPage(opened.browser, server, { token });
  // After a run its files are listed, and that question could be the one that is refused.
  await page.getByLabel("Keep files in").uncheck();
  await runProgram(page, "print('still here')", "python");
  await server.ask("/v1/admin/tokens/brief", { method: "DELETE" });
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByRole("alert").filter({ hasText: "not valid any more" }).waitFor();
  assert.equal(await kept(page), null);
  await page.getByLabel("Token").fill(server.token);
  await page.keyboard.press("Enter");
  await page.locator(".write .cm-content", { hasText: "still here" }).waitFor();
  await page.finish({ allowed: [/401/] });
});

test("a token that has expired is told so", async () => {
  const token = execFileSync(
    BINARY,
    ["token", "create", "soon", "--expires", "1s", "--data-dir", server.data],
    { encoding: "utf8" },
  ).trim();
  const deadline = Date.now() + 30_000;
  while ((await fetch(`${server.origin}/v1/caller`, bearer(token))).status !== 401) {
    assert.ok(Date.now() < deadline, "the token does not expire");
  }
  const page = await openPage(opened.browser, server, { path: `/#token=${token}`, token: null });
  await page.getByRole("alert").filter({ hasText: "has expired" }).waitFor();
  await page.finish({ allowed: [/401/] });
});

test("a user is shown what a user may do", async () => {
  const { token } = await server.ask("/v1/admin/tokens", {
    body: { name: "ordinary", roles: ["user"] },
    status: 201,
  });
  const page = await openPage(opened.browser, server, { token, path: "/#/operate/tokens" });
  await page.getByRole("link", { name: "Connect" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Operate", exact: true }).count(), 0);
  assert.equal(await page.getByRole("form", { name: "New token" }).count(), 0);
  await page.finish();
});

test("a server without authentication is entered without a token", async () => {
  const open = await startServer({ auth: "none" });
  try {
    assert.match(open.greeting, new RegExp(`${open.origin}/\\n`));
    const page = await openPage(opened.browser, open, { path: "/", token: null });
    await page.getByRole("button", { name: "The server asks for none" }).click();
    await runProgram(page, "print(6*7)", "python");
    assert.match(await page.locator(".terminal").innerText(), /42/);
    await page.finish();
  } finally {
    await open.stop();
  }
});

test("nothing but the token opens anything: other sites have nothing to send", async () => {
  const answer = await fetch(`${server.origin}/v1/runs`, {
    method: "POST",
    body: '{"code": "1"}',
    headers: { "Content-Type": "text/plain", Cookie: `token=${server.token}` },
  });
  assert.equal(answer.status, 401);
  const strange = await fetch(`${server.origin}/v1/runs`, {
    method: "POST",
    body: '{"code": "1"}',
    headers: {
      "Content-Type": "application/json",
      Origin: "http://evil.example",
      Authorization: `Bearer ${server.token}`,
    },
  });
  assert.equal(strange.status, 403);
});
