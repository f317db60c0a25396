// How every view looks, in both sizes and both schemes: for axe-core, and for whoever opens
// build/screenshots.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import {
  DESKTOP,
  openBrowser,
  openPage,
  PHONE,
  pressRun,
  screenshot,
  writeInto,
} from "./support/browser.mjs";
import { startServer } from "./support/server.mjs";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const WIDTHS = { desktop: DESKTOP, phone: PHONE };
let server;
let opened;

before(async () => {
  server = await startServer();
  opened = await openBrowser();
  for (const code of ["print(6*7)", "1/0", "open('/etc/shadow')", "print('x' * 1000)"]) {
    await server.ask("/v1/runs", { body: { code, conversation_id: "report" } });
  }
  await server.ask("/v1/admin/tokens", { body: { name: "ci", roles: ["user"] }, status: 201 });
});
after(async () => {
  await opened.close();
  await server.stop();
});

async function showExample(page, title) {
  await page.selectOption("select[name=example]", title);
  await pressRun(page);
  await page.locator(".result-head").waitFor();
  if (title === "Data analysis") await waitForTable(page);
}

// With its own style sheet.
async function waitForTable(page) {
  const cell = page.locator(".html-frame iframe").contentFrame().locator("td").first();
  await cell.waitFor();
  const deadline = Date.now() + 30_000;
  while ((await cell.evaluate((node) => getComputedStyle(node).textAlign)) !== "right") {
    assert.ok(Date.now() < deadline, "the style sheet of the frame is not applied");
  }
}

async function showSession(page) {
  await page.locator("main[data-ready=yes]").waitFor();
  const sessions = await page.getByRole("tab").count();
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByRole("tab").nth(sessions).waitFor();
  for (const [at, code] of [
    "prices = [9.5, 11.0, 12.25]\ntotal = sum(prices)",
    "mean = total / len(prices)\nprint(f'{mean:.2f} on average')\nmean",
  ].entries()) {
    await writeInto(page, page.locator("#notebook .cell .cm-content").last(), code);
    await page.locator("#notebook").getByRole("button", { name: "Run cell" }).last().click();
    await page
      .locator("#notebook .cell")
      .nth(at + 1)
      .waitFor();
  }
  await page.getByRole("button", { name: "Diff" }).last().click();
  await page.locator(".diff li").first().waitFor();
}

const VIEWS = [
  { name: "entrance", path: "/", token: null, shown: "form" },
  {
    name: "playground",
    path: "/#/play",
    shown: ".write .cm-content",
    act: (page) => showExample(page, "Data analysis"),
  },
  {
    name: "blocked",
    path: "/#/play",
    shown: ".write .cm-content",
    act: (page) => showExample(page, "A blocked attempt"),
  },
  { name: "sessions", path: "/#/sessions", shown: ".view-head option", act: showSession },
  { name: "overview", path: "/#/operate/overview", shown: ".plot canvas" },
  {
    name: "runs",
    path: "/#/operate/runs",
    shown: ".panel .empty",
    act: (page) => page.getByLabel("Runs that are").selectOption("ended"),
  },
  { name: "live-sessions", path: "/#/operate/sessions", shown: ".panel .empty, .panel tr" },
  { name: "conversations", path: "/#/operate/conversations", shown: ".panel tr" },
  { name: "audit", path: "/#/operate/audit", shown: ".panel tbody tr" },
  { name: "policy", path: "/#/operate/policy", shown: ".policy" },
  { name: "doctor", path: "/#/operate/doctor", shown: ".doctor" },
  { name: "tokens", path: "/#/operate/tokens", shown: ".panel tr" },
  { name: "connect", path: "/#/connect", shown: ".recipe" },
];

async function complaintsOfAxe(page) {
  // Through the debugger, which the policy of the page does not bind.
  const session = await page.context().newCDPSession(page);
  const { readFileSync } = await import("node:fs");
  await session.send("Runtime.evaluate", { expression: readFileSync(AXE, "utf8") });
  const { result } = await session.send("Runtime.evaluate", {
    awaitPromise: true,
    returnByValue: true,
    expression:
      "axe.run(document, { resultTypes: ['violations'], iframes: false })" +
      ".then((told) => told.violations.map((one) => ({ id: one.id, impact: one.impact," +
      " where: one.nodes.slice(0, 3).map((node) =>" +
      " node.html.slice(0, 160) + ' ' + node.failureSummary) })))",
  });
  return result.value.filter((one) => ["serious", "critical"].includes(one.impact));
}

for (const view of VIEWS) {
  test(`${view.name} looks right in both sizes and both schemes`, async () => {
    for (const [size, viewport] of Object.entries(WIDTHS)) {
      const page = await openPage(opened.browser, server, {
        path: view.path,
        token: view.token,
        viewport,
      });
      await page.locator(view.shown).first().waitFor({ state: "attached" });
      await view.act?.(page);
      for (const scheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.waitForFunction(
          (wanted) => document.documentElement.dataset.theme === wanted,
          scheme,
        );
        await screenshot(page, `${view.name}-${size}-${scheme}`);
        assert.deepEqual(await complaintsOfAxe(page), [], `${size}, ${scheme}`);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${size}: the page is ${wide} pixels wider than the screen`);
      await page.finish();
    }
  });
}

test("the page is used without a mouse", async () => {
  const page = await openPage(opened.browser, server, { path: "/#/play" });
  await page.locator(".write .cm-content").waitFor();
  await page.keyboard.press("Tab");
  assert.equal(
    await page.evaluate(() => document.activeElement.textContent),
    "Skip to the content",
  );
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.name), "language");
  await page.locator(".write .cm-content").focus();
  await page.keyboard.type("x = 1\tif");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "SUMMARY");
  await page.finish();
});

test("the chosen scheme stays, whatever the system says", async () => {
  const page = await openPage(opened.browser, server, { colors: "light" });
  await page.locator(".corner select").selectOption("dark");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.reload();
  await page.locator(".write .cm-content").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.finish();
});
