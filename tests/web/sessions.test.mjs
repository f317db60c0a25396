// Cells on a live interpreter.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openBrowser, openPage, writeInto } from "./support/browser.mjs";
import { startServer } from "./support/server.mjs";

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

async function newSession(page) {
  await page.locator("main[data-ready=yes]").waitFor();
  const before = await page.getByRole("tab").count();
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByRole("tab", { selected: true }).and(page.getByRole("tab").nth(before)).waitFor();
}

// In the notebook that is shown, in its last cell.
async function runCell(page, code) {
  const notebook = page.locator("#notebook");
  const cell = notebook.locator(".cell").last();
  const before = await notebook.locator(".cell").count();
  await writeInto(page, cell.locator(".cm-content"), code);
  await cell.getByRole("button", { name: "Run cell" }).click();
  await notebook.locator(".cell").nth(before).waitFor();
  return notebook.locator(".cell").nth(before - 1);
}

const variables = (page) => page.locator("#notebook .variables li").allInnerTexts();

test("cells share variables; a cell is undone, compared and forked from", async () => {
  const page = await openPage(opened.browser, server, { path: "/#/sessions" });
  await newSession(page);
  await runCell(page, "x = 20\nname = 'first'");
  assert.deepEqual((await variables(page)).sort(), ["name", "x"]);
  const second = await runCell(page, "x += 1\ny = x * 2\nprint(y)");
  assert.match(await second.locator(".terminal").innerText(), /42/);
  assert.ok((await variables(page)).includes("y"));

  await second.getByRole("button", { name: "Diff" }).click();
  const diff = second.locator(".diff");
  await diff.locator(".added", { hasText: "y" }).waitFor();
  assert.equal(await diff.locator(".changed", { hasText: "x" }).count(), 1);
  assert.equal(await diff.locator("li", { hasText: "name" }).count(), 0);

  await page.getByRole("button", { name: "Fork" }).click();
  await page.getByRole("tab").nth(1).waitFor();
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "python 2 fork");
  const inFork = await runCell(page, "x = 'other way'\nprint(x, y)");
  assert.match(await inFork.locator(".terminal").innerText(), /other way 42/);

  await page.getByRole("tab").first().click();
  const third = await runCell(page, "print(x)");
  assert.match(await third.locator(".terminal").innerText(), /^21/);
  await page.locator("#notebook").getByRole("button", { name: "Undo last cell" }).click();
  await page.locator("#notebook .cell.undone").first().waitFor();
  await page.locator("#notebook").getByRole("button", { name: "Undo last cell" }).click();
  await page.locator("#notebook .cell.undone").nth(1).waitFor();
  assert.deepEqual((await variables(page)).sort(), ["name", "x"]);
  const fourth = await runCell(page, "print(x, 'y' in globals())");
  assert.match(await fourth.locator(".terminal").innerText(), /^20 False/);
  await page.finish();
});

test("undo and diff go by what the session keeps, not by the order on the page", async () => {
  const page = await openPage(opened.browser, server, { path: "/#/sessions" });
  await newSession(page);
  const first = await runCell(page, "x = 1");
  const second = await runCell(page, "x = 2\ny = 3");
  const number = await first.locator(".cell-number").innerText();
  await first.getByRole("button", { name: "Run cell" }).click();
  await first.locator(".cell-number").filter({ hasNotText: number }).waitFor();
  const diff = async (cell) => {
    await cell.getByRole("button", { name: "Diff" }).click();
    await cell.locator(".diff").waitFor();
    return cell.locator(".diff code").allInnerTexts();
  };
  assert.deepEqual(await diff(first), ["x"]);
  assert.deepEqual(await diff(second), ["y"]);

  const badge = (cell) => cell.locator(".cell-head .badge");
  const undo = page.locator("#notebook").getByRole("button", { name: "Undo last cell" });
  await undo.click();
  await badge(first).waitFor();
  assert.equal(await badge(first).innerText(), "undone");
  assert.equal(await badge(second).count(), 0);
  assert.deepEqual((await variables(page)).sort(), ["x", "y"]);
  const third = await runCell(page, "print(x, y)");
  assert.match(await third.locator(".terminal").innerText(), /^2 3/);

  const fourth = await runCell(page, "import os, signal\nz = 1\nos.kill(os.getpid(), 9)");
  assert.equal(await badge(fourth).innerText(), "rolled back");
  await fourth.locator(".note", { hasText: "variables are as they were" }).waitFor();
  assert.equal(await fourth.getByRole("button", { name: "Diff" }).count(), 0);
  await undo.click();
  await badge(third).waitFor();
  assert.equal(await badge(third).innerText(), "undone");
  assert.deepEqual((await variables(page)).sort(), ["x", "y"]);
  await page.getByRole("button", { name: "Fork" }).click();
  await page.getByRole("tab", { selected: true }).filter({ hasText: "fork" }).waitFor();
  assert.equal(await page.locator("#notebook .cell").count(), 3);
  assert.deepEqual((await variables(page)).sort(), ["x", "y"]);
  await page.finish();
});

test("a session is found again, and ended", async () => {
  const { session_id: id } = await server.ask("/v1/sessions", {
    body: { language: "python" },
    status: 201,
  });
  const page = await openPage(opened.browser, server, { path: "/#/sessions" });
  const tabs = page.getByRole("tab");
  await tabs.first().waitFor();
  const count = await tabs.count();
  for (let at = 0; at < count; at += 1) {
    await tabs.nth(at).click();
    if ((await page.locator("#notebook").innerText()).includes(id)) break;
  }
  await page.locator("#notebook").getByRole("button", { name: "End session" }).click();
  await page.locator("#notebook").getByRole("button", { name: "Really end it" }).click();
  await page.waitForFunction(
    (before) => document.querySelectorAll("[role=tab]").length < before,
    count,
  );
  await server.ask(`/v1/sessions/${id}`, { status: 404 });
  await page.finish();
});

test("a cell that fails or is cancelled says so, and the session goes on", async () => {
  const page = await openPage(opened.browser, server, { path: "/#/sessions" });
  await newSession(page);
  const failed = await runCell(page, "1/0");
  assert.match(await failed.locator(".error-line").innerText(), /ZeroDivisionError/);
  const cell = page.locator("#notebook .cell").last();
  await writeInto(
    page,
    cell.locator(".cm-content"),
    "import time\nprint('on', flush=True)\nwhile True: time.sleep(1)",
  );
  await cell.getByRole("button", { name: "Run cell" }).click();
  await cell.locator(".terminal", { hasText: "on" }).waitFor();
  await cell.getByRole("button", { name: "Cancel" }).click();
  await page.locator("#notebook .badge", { hasText: "cancelled" }).waitFor();
  await page.finish();
});
