// Lines to paste, for this server.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";

import { openBrowser, openPage } from "./support/browser.mjs";
import { startServer } from "./support/server.mjs";

const CLIENTS = [
  "Claude Code",
  "Claude Desktop",
  "VS Code",
  "Cursor",
  "Open WebUI",
  "Python",
  "TypeScript",
  "curl",
];
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

test("every client has its lines for this address, and the token only when asked for", async () => {
  const page = await openPage(opened.browser, server, { path: "/#/connect" });
  await page.getByRole("heading", { name: "Connect" }).waitFor();
  for (const name of CLIENTS) {
    const lines = await page.getByLabel(`Lines for ${name}`, { exact: true }).innerText();
    assert.ok(lines.includes(server.origin), `${name}: ${lines}`);
    assert.ok(!lines.includes(server.token), `${name} shows the token unasked`);
    if (lines.startsWith("{")) JSON.parse(lines);
  }
  await page.getByRole("button", { name: "Show the token" }).click();
  for (const name of CLIENTS.filter((one) => one !== "VS Code")) {
    const lines = await page.getByLabel(`Lines for ${name}`, { exact: true }).innerText();
    assert.ok(lines.includes(server.token), `${name} lacks the token`);
  }
  const curl = await page.getByLabel("Lines for curl", { exact: true }).innerText();
  const answer = JSON.parse(execFileSync("bash", ["-c", curl], { encoding: "utf8" }));
  assert.equal(answer.stdout, "42\n");
  await page.getByRole("button", { name: "Hide the token" }).click();
  assert.ok(!(await page.locator("main").innerText()).includes(server.token));
  await page.finish();
});

test("copying takes the token along", async () => {
  const page = await openPage(opened.browser, server, { path: "/#/connect" });
  await page
    .context()
    .grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.origin });
  await page
    .locator(".recipe", { hasText: "Claude Code" })
    .getByRole("button", { name: "Copy" })
    .click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    `claude mcp add --transport http belljar ${server.origin}/mcp` +
      ` --header "Authorization: Bearer ${server.token}"`,
  );
  await page.finish();
});
