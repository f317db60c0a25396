// Try a program: every bullet of the playground, on the real server.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { openBrowser, openPage, pressRun, runProgram, writeProgram } from "./support/browser.mjs";
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

const open = (options) => openPage(opened.browser, server, options);
const textOf = (page, selector) => page.locator(selector).innerText();

test("the languages are those of the server", async () => {
  const page = await open();
  const { runners } = await server.ask("/v1/runners");
  await page
    .locator("select[name=language] option")
    .nth(runners.length - 1)
    .waitFor({ state: "attached" });
  const shown = await page
    .locator("select[name=language] option")
    .evaluateAll((all) => all.map((one) => [one.value, one.disabled]));
  assert.deepEqual(
    shown,
    runners.map((one) => [one.language, !one.usable]),
  );
  await page.finish();
});

test("a program runs, shows its output, its value and what it took", async () => {
  const page = await open();
  await runProgram(
    page,
    "import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'answer': 42}",
    "python",
  );
  assert.match(await textOf(page, ".terminal"), /out\n?/);
  assert.equal(await page.locator(".terminal .err").innerText(), "err\n");
  assert.match(await textOf(page, ".result-line"), /ok\s*ran to its end\s*exit code 0/);
  assert.match(await textOf(page, ".value"), /'answer': 42/);
  assert.match(await textOf(page, ".usage"), /Time[\s\S]* \/ [\s\S]*CPU[\s\S]*Memory[\s\S]* \/ /);
  assert.equal(await page.locator(".meter svg[role=img]").count(), 3);
  assert.ok((await textOf(page, ".result-line .grade")).length > 0);
  await page.finish();
});

test("Ctrl-Enter runs, and output comes while the program runs, in its colours", async () => {
  const page = await open();
  await writeProgram(
    page,
    "import sys\nprint('\\x1b[1;32mgreen\\x1b[0m plain', flush=True)\nsys.stdin.read()\n" +
      "import time\nwhile True: time.sleep(1)",
    "python",
  );
  await page.keyboard.press("Control+Enter");
  await page.locator(".terminal .c2.bold", { hasText: "green" }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator(".badge", { hasText: "cancelled" }).waitFor();
  assert.equal(await textOf(page, ".terminal"), "green plain\n");
  await page.finish();
});

test("what tells a terminal something else than a colour takes nothing with it", async () => {
  const page = await open();
  const print = (text) => `print('${text}', end='', flush=True)\n`;
  await runProgram(
    page,
    print("\\033c") + print("\\0337\\033=\\033(Bone \\033[>4;2mtwo ") +
      print("\\033[3") + print("1mred\\033[0m ") + print("\\033]0;title\\033") +
      print("\\\\three \\033[1;") + "import sys\nprint('four', file=sys.stderr)",
    "python",
  );
  assert.equal(await page.locator(".terminal .c1").innerText(), "red");
  assert.equal(await page.locator(".terminal .dim").count(), 0);
  assert.match(await textOf(page, ".terminal"), /^one two red three (four\n)?\[1;$/);
  await page.finish();
});

test("what is typed over a selection takes its place", async () => {
  const page = await open();
  await writeProgram(page, "import os\nprint('first')", "python");
  await page.locator(".write .cm-content span", { hasText: "import" }).waitFor(); // coloured
  await page.keyboard.press("Control+A");
  await page.keyboard.type("print(6");
  assert.equal(await textOf(page, ".write .cm-content"), "print(6)");
  await page.keyboard.press("Control+A");
  await page.keyboard.type('"');
  assert.equal(await textOf(page, ".write .cm-content"), '"print(6)"');
  await page.finish();
});

test("limits and standard input are passed on, and what is capped is told", async () => {
  const page = await open();
  await page.getByText("Limits and input").click();
  await page.getByLabel("Time in seconds").fill("1");
  await page.getByLabel("Standard input").fill("from outside");
  await runProgram(page, "print(input())\nwhile True: pass", "python");
  assert.match(await textOf(page, ".terminal"), /from outside/);
  assert.match(await textOf(page, ".result-line"), /timeout\s*ran out of time/);
  assert.match(await textOf(page, ".denials"), /limits\.timeout[\s\S]*longer timeout/);
  await page.getByLabel("Time in seconds").fill("3600");
  await runProgram(page, "1", "python");
  assert.match(await textOf(page, ".result-head"), /Less was given than asked for: timeout/);
  await page.finish();
});

test("bad limits are refused in words", async () => {
  const page = await open();
  await page.getByText("Limits and input").click();
  await page.getByLabel("Memory").fill("a lot");
  await runProgram(page, "1", "python");
  assert.match(await page.locator(".outcome [role=alert]").innerText(), /memory_limit/);
  await page.finish({ allowed: [/400/] });
});

test("the examples run; the blocked one is explained", async () => {
  const page = await open();
  await page.locator("select[name=example] option").nth(7).waitFor({ state: "attached" });
  const titles = await page.locator("select[name=example] option").allInnerTexts();
  for (const wanted of [
    "Hello",
    "Data analysis",
    "Plots",
    "TypeScript: Fibonacci",
    "Files",
    "A blocked attempt",
  ]) {
    assert.ok(titles.includes(wanted), `${wanted} in ${titles}`);
  }
  const run = async (title) => {
    await page.selectOption("select[name=example]", title);
    await pressRun(page);
  };
  await run("TypeScript: Fibonacci");
  assert.match(await textOf(page, ".terminal"), /fibonacci\(100\) = 354224848179261915075/);
  await run("A blocked attempt");
  assert.match(await textOf(page, ".write .message"), /tries to reach the network/);
  assert.match(await textOf(page, ".denials"), /network\.off/);
  await page.finish();
});

test("plots are pictures and tables are tables", async () => {
  const page = await open();
  await page.selectOption("select[name=example]", "Plots");
  await pressRun(page);
  await page.locator("img.picture").waitFor();
  await page.waitForFunction(() => document.querySelector("img.picture").naturalWidth > 100);
  await page.selectOption("select[name=example]", "Data analysis");
  await pressRun(page);
  const frame = page.locator(".html-frame iframe");
  await frame.waitFor();
  assert.equal(await frame.getAttribute("sandbox"), "");
  const inside = frame.contentFrame();
  await inside.locator("td").first().waitFor();
  assert.ok((await inside.locator("tbody tr").count()) >= 3);
  await runProgram(page, "[{'name': 'a', 'n': 1}, {'name': 'b', 'n': 2}]", "python");
  assert.deepEqual(await page.locator(".value td").allInnerTexts(), ["a", "1", "b", "2"]);
  await page.finish();
});

test("files are listed, looked at, downloaded, uploaded and deleted", async () => {
  const page = await open();
  await runProgram(
    page,
    "open('table.csv', 'w').write('n,square\\n2,4\\n3,9\\n')\n" +
      "open('notes.txt', 'w').write('hello')",
    "python",
  );
  await page.getByRole("button", { name: "table.csv" }).click();
  await page.locator(".preview td").first().waitFor();
  assert.deepEqual(await page.locator(".preview td").allInnerTexts(), ["2", "4", "3", "9"]);
  const row = page.locator(".file-row", { hasText: "notes.txt" });
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    row.getByRole("button", { name: "Download" }).click(),
  ]);
  assert.match(download.url(), /\/files\/[^?]+notes\.txt\?.*sig=/);
  assert.equal(download.suggestedFilename(), "notes.txt");
  assert.equal(readFileSync(await download.path(), "utf8"), "hello");
  await page
    .locator(".files input[type=file]")
    .setInputFiles({ name: "data.txt", mimeType: "text/plain", buffer: Buffer.from("4 5 6") });
  await page.getByRole("button", { name: "data.txt" }).waitFor();
  await runProgram(page, "print(sum(map(int, open('data.txt').read().split())))", "python");
  assert.match(await textOf(page, ".terminal"), /15/);
  const gone = page.locator(".file-row", { hasText: "data.txt" });
  await gone.getByRole("button", { name: "Delete" }).click();
  await gone.getByRole("button", { name: "Really delete" }).click();
  await gone.waitFor({ state: "detached" });
  await page.finish();
});

test("a conversation's name that is being typed stays, whatever happens on the page", async () => {
  const page = await open();
  const code = "import time\ntime.sleep(1.5)\nopen('kept.txt', 'w').write('x')";
  await writeProgram(page, code, "python");
  const field = page.getByLabel("Conversation");
  await page.getByRole("button", { name: /^Run/ }).click();
  await field.fill("typed while a program ran");
  await page.locator(".outcome[data-phase=ended]").waitFor();
  assert.equal(await field.inputValue(), "typed while a program ran");
  await page.keyboard.press("Tab");
  await pressRun(page);
  await page.locator(".file-name", { hasText: "kept.txt" }).waitFor();
  const { conversations } = await server.ask("/v1/conversations?limit=100");
  const named = conversations.filter((one) => one.conversation_id.startsWith("typed"));
  assert.equal(named.length, 1);
  await page.finish({ allowed: [/404/] }); // there was no such conversation before the second run
});

test("files that are dropped on the page are uploaded", async () => {
  const page = await open();
  await page.locator(".files").waitFor();
  const transfer = await page.evaluateHandle(() => {
    const made = new DataTransfer();
    made.items.add(new File(["dropped"], "dropped.txt", { type: "text/plain" }));
    return made;
  });
  await page.locator(".files").dispatchEvent("dragover", { dataTransfer: transfer });
  await page.locator(".files.over").waitFor();
  await page.locator(".files").dispatchEvent("drop", { dataTransfer: transfer });
  await page.getByRole("button", { name: "dropped.txt" }).click();
  assert.equal(await page.locator(".preview pre").innerText(), "dropped");
  await page.finish();
});

test("a program travels in the fragment of a link, and no server sees it", async () => {
  const page = await open();
  await writeProgram(page, "console.log('shared <b>& sound</b> \u00e4')", "javascript");
  await page.getByRole("button", { name: "Share" }).click();
  const link = await page.getByLabel("Link to this program").inputValue();
  assert.match(link, /\/#\/play\/[\w-]+$/);
  const other = await open({ path: link.slice(server.origin.length) });
  await other.locator(".write .cm-content", { hasText: "shared <b>& sound</b> \u00e4" }).waitFor();
  assert.equal(await other.locator("select[name=language]").inputValue(), "javascript");
  assert.equal(new URL(other.url()).hash, "#/play");
  const broken = await open({ path: "/#/play/!!!not-a-program" });
  await broken.getByRole("alert").filter({ hasText: "cannot be read" }).waitFor();
  for (const one of [page, other, broken]) await one.finish();
});

test("over plain HTTP, where browsers offer less, all of it works", async () => {
  const page = await open({ path: "/#/connect" });
  await page.addInitScript(() => {
    delete Crypto.prototype.randomUUID;
    delete Navigator.prototype.clipboard;
  });
  await page.goto(`${server.origin}/#/play`);
  await page.reload();
  await runProgram(page, "print('here')", "python");
  assert.match(await textOf(page, ".terminal"), /here/);
  assert.match(await page.getByLabel("Conversation").inputValue(), /^web-[0-9a-f]{8}$/);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("button", { name: "Copy the link" }).waitFor();
  assert.match(await page.getByLabel("Link to this program").inputValue(), /#\/play\/[\w-]+$/);
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.finish();
});

test("a language that is not here and an empty program do no harm", async () => {
  const page = await open();
  await runProgram(page, "", "python");
  assert.match(await textOf(page, ".outcome"), /It wrote nothing|must|empty/);
  await page.finish({ allowed: [/400/] });
});
