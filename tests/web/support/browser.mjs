// A real Chromium, and pages in it that tell of everything that went wrong in them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { chromium } from "playwright-core";

import { ROOT } from "./server.mjs";

const OPTIONS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-breakpad",
  "--disable-dev-shm-usage",
];
export const SCREENSHOTS = path.join(ROOT, "build", "screenshots");
export const DESKTOP = { width: 1280, height: 860 };
export const PHONE = { width: 360, height: 740 };

export async function openBrowser() {
  const home = mkdtempSync(path.join(tmpdir(), "belljar-browser-"));
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    headless: true,
    args: OPTIONS,
    env: { ...process.env, HOME: home },
  });
  const close = async () => {
    await browser.close();
    rmSync(home, { recursive: true, force: true });
  };
  return { browser, close };
}

// A page of a context of its own: nothing of another page is in it.
export async function openPage(browser, server, options = {}) {
  const {
    path: where = "/#/play",
    token = server.token,
    viewport = DESKTOP,
    colors = "light",
  } = options;
  const context = await browser.newContext({
    viewport,
    colorScheme: colors,
    reducedMotion: "reduce", // colours on their way to others have no contrast to judge
    acceptDownloads: true,
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const found = { complaints: [], requests: [], dialogs: [], violations: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      found.complaints.push(`${message.text()} ${message.location().url}`);
    }
  });
  page.on("pageerror", (error) => found.complaints.push(String(error.stack)));
  page.on("crash", () => found.complaints.push("the page has crashed"));
  page.on("request", (request) => found.requests.push(request.url()));
  page.on("dialog", (dialog) => {
    found.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await context.exposeBinding("tellViolation", (_, text) => found.violations.push(text));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      globalThis.tellViolation?.(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
  });
  if (token !== null) {
    await context.addInitScript((given) => {
      if (
        location.origin !== "null" &&
        sessionStorage.getItem("belljar.token") === null &&
        !sessionStorage.getItem("test.entered")
      ) {
        sessionStorage.setItem("test.entered", "yes");
        sessionStorage.setItem("belljar.token", given);
      }
    }, token ?? "");
  }
  await page.goto(server.origin + where);
  page.found = found;
  // What must hold for every page, whatever was done on it.
  page.finish = async ({ allowed = [] } = {}) => {
    await context.close();
    const complaints = found.complaints.filter((one) => !allowed.some((known) => known.test(one)));
    assert.deepEqual(complaints, [], "the console holds complaints");
    assert.deepEqual(found.violations, [], "the policy of the page was violated");
    assert.deepEqual(found.dialogs, [], "somebody opened a dialog");
    const others = found.requests.filter(
      (url) => !/^(data|blob|about):/.test(url) && !url.startsWith(`${server.origin}/`),
    );
    assert.deepEqual(others, [], "somebody else was asked");
  };
  return page;
}

// As a person does it: all that is there is deleted, and the text is pasted.
export async function writeInto(page, editor, code) {
  await editor.focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  if (code) await page.keyboard.insertText(code);
}

export async function writeProgram(page, code, language) {
  if (language) await page.selectOption("select[name=language]", language);
  await writeInto(page, page.locator(".write .cm-content"), code);
}

// Runs a program in the playground and waits for its end.
export async function runProgram(page, code, language) {
  await writeProgram(page, code, language);
  await pressRun(page);
}

export async function pressRun(page) {
  const before = Number(await page.locator(".read .outcome").getAttribute("data-runs"));
  await page.getByRole("button", { name: /^Run/ }).click();
  const ended = `.outcome[data-runs="${before + 1}"][data-phase=ended]`;
  await page.locator(ended).waitFor({ timeout: 120_000 });
}

export async function screenshot(page, name) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: false });
}
