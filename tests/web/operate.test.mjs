// For whoever runs the server.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { openBrowser, openPage } from "./support/browser.mjs";
import { startServer } from "./support/server.mjs";

let server;
let opened;

before(async () => {
  server = await startServer();
  opened = await openBrowser();
  for (let at = 0; at < 5; at += 1)
    await server.ask("/v1/runs", { body: { code: `print(${at})` } });
});
after(async () => {
  await opened.close();
  await server.stop();
});

const open = (section) => openPage(opened.browser, server, { path: `/#/operate/${section}` });

test("the overview tells what runs, and plots the server's own figures", async () => {
  const page = await open("overview");
  const figure = (name) => page.locator(".figure", { hasText: name }).locator("dd");
  await figure("Runs since start").waitFor();
  assert.ok(Number(await figure("Runs since start").innerText()) >= 5);
  assert.match(await figure("Median").innerText(), /ms|s/);
  assert.equal(await page.locator(".plot canvas").count(), 2);
  const plot = page.getByRole("img", { name: /Runs per second, now: runs\/s [\d.]+/ });
  await plot.waitFor(); // the second reading
  assert.match(
    await page.getByRole("region", { name: "Pool" }).or(page.locator(".empty")).first().innerText(),
    /python|keeps jars ready/,
  );
  await page.getByRole("button", { name: "Drain" }).click();
  await page.getByText("Takes no new runs.").waitFor();
  assert.equal((await server.ask("/v1/admin/drain")).draining, true);
  await page.getByRole("button", { name: "Take runs again" }).click();
  await page.getByText("Takes new runs.").waitFor();
  await page.finish();
});

test("a run of somebody else is seen and killed", async () => {
  const { token } = await server.ask("/v1/admin/tokens", {
    body: { name: "somebody" },
    status: 201,
  });
  const begun = await server.ask("/v1/runs", {
    token,
    status: 202,
    body: { code: "import time\nwhile True: time.sleep(1)", background: true, timeout: 60 },
  });
  const page = await open("runs");
  const row = page.locator("tr", { hasText: begun.execution_id.slice(0, 13) });
  await row.waitFor();
  assert.match(await row.innerText(), /somebody[\s\S]*python[\s\S]*running/);
  await row.getByRole("button", { name: "Kill" }).click();
  await row.getByRole("button", { name: "Really kill" }).click();
  await row.waitFor({ state: "detached" });
  await page.getByLabel("Runs that are").selectOption("ended");
  await page
    .locator("tr", { hasText: begun.execution_id.slice(0, 13) })
    .filter({ hasText: "cancelled" })
    .waitFor();
  await page.finish();
});

test("a view that is chosen while another is being shown is shown", async () => {
  const page = await open("overview");
  await page.addInitScript(() => {
    // What a view does once it is shown comes later than usual.
    globalThis.requestAnimationFrame = () => 0;
    new MutationObserver((_, observer) => {
      if (!document.querySelector("nav[aria-label=Views]")) return;
      observer.disconnect();
      location.hash = "#/operate/runs";
    }).observe(document, { childList: true, subtree: true });
  });
  await page.reload();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.finish();
});

test("a button that asks once more means the run that it was pressed for", async () => {
  const page = await open("overview");
  const run = (id) => ({
    execution_id: id,
    state: "running",
    language: "python",
    created_at: "2026-01-01T00:00:00Z",
    principal: id,
  });
  const killed = [];
  let runs = [run("first")];
  await page.route("**/v1/admin/runs*", (route) => route.fulfill({ json: { runs } }));
  await page.route("**/v1/admin/runs/*", (route) => {
    killed.push(new URL(route.request().url()).pathname.split("/").at(-1));
    return route.fulfill({ status: 204 });
  });
  await page.goto(`${server.origin}/#/operate/runs`);
  const buttonOf = (id) => page.locator("tr", { hasText: id }).locator("button");
  await buttonOf("first").click();
  runs = [run("second"), run("first")];
  await buttonOf("second").waitFor();
  assert.equal(await buttonOf("second").innerText(), "Kill");
  assert.equal(await buttonOf("first").innerText(), "Really kill");
  await buttonOf("first").click();
  await page.locator("button", { hasText: "Really kill" }).waitFor({ state: "detached" });
  assert.deepEqual(killed, ["first"]);
  await page.finish();
});

test("a session of somebody else is seen and killed", async () => {
  const { session_id: id } = await server.ask("/v1/sessions", {
    body: { language: "python" },
    status: 201,
  });
  const page = await open("sessions");
  const row = page.locator("tr", { hasText: id.slice(0, 13) });
  await row.getByRole("button", { name: "Kill" }).click();
  await row.getByRole("button", { name: "Really kill" }).click();
  await row.waitFor({ state: "detached" });
  await server.ask(`/v1/sessions/${id}`, { status: 404 });
  await page.finish();
});

test("conversations are listed with their sizes", async () => {
  await server.ask("/v1/conversations/big/files/data.bin", {
    method: "PUT",
    body: "x".repeat(100_000),
    headers: { "Content-Type": "application/octet-stream" },
  });
  const page = await open("conversations");
  await page.locator("tr", { hasText: "big" }).waitFor();
  assert.match(await page.locator("tr", { hasText: "big" }).innerText(), /9\d\.\d KiB\s+1/);
  await page.finish();
});

test("the audit is searched, and says how far it can be trusted", async () => {
  await server.ask("/v1/runs", { body: { code: "1/0" } });
  const page = await open("audit");
  await page.locator("tbody tr").nth(4).waitFor();
  await page.getByRole("button", { name: "Verify the chain" }).click();
  await page.getByText(/The chain is whole: [\d,]+ records were verified/).waitFor();
  await page.getByLabel("Ended as").selectOption("error");
  await page.getByRole("button", { name: "Search" }).click();
  await page.waitForFunction(() => {
    const shown = [...document.querySelectorAll("tbody .badge")].map((one) => one.textContent);
    return shown.length > 0 && shown.every((one) => one === "error");
  });
  await page.getByLabel("Whose").fill("nobody at all");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("Nothing was found.").waitFor();
  await page.finish();
});

test("the policy is asked what it would decide", async () => {
  const page = await open("policy");
  await page.getByRole("button", { name: "Ask without running it" }).click();
  await page.getByText("It would be allowed.").waitFor();
  assert.match(await page.locator(".policy").innerText(), /timeout_seconds/);
  await page.finish();
});

test("the report of the doctor tells of isolation, languages and settings", async () => {
  const page = await open("doctor");
  await page.getByRole("heading", { name: "Isolation" }).waitFor();
  assert.match(await page.getByRole("region", { name: "Languages" }).innerText(), /Python/);
  await page.getByLabel("Only those with").fill("server.listen");
  assert.match(await page.getByRole("region", { name: "Settings" }).innerText(), /server\.listen/);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download the report" }).click(),
  ]);
  const report = readFileSync(await download.path(), "utf8");
  assert.ok(JSON.parse(report).isolation.grade);
  assert.ok(!report.includes(server.token), "the token is in the report");
  await page.finish();
});

test("tokens are made, shown once, and revoked", async () => {
  const page = await open("tokens");
  await page.getByLabel("Name").fill("from-the-page");
  await page.getByLabel("Role").selectOption("operator");
  await page.getByRole("button", { name: "Create" }).click();
  const token = await page.locator(".secret").innerText();
  assert.match(token, /^bj_/);
  assert.deepEqual((await server.ask("/v1/caller", { token })).principal, "from-the-page");
  await page.getByRole("button", { name: "Done" }).click();
  assert.equal(await page.locator(".secret").count(), 0);
  const row = page.locator("tr", { hasText: "from-the-page" });
  await row.getByRole("button", { name: "Revoke" }).click();
  await row.getByRole("button", { name: "Really revoke" }).click();
  await row.waitFor({ state: "detached" });
  await server.ask("/v1/caller", { token, status: 401 });
  await page.finish();
});

test("an operator sees no tokens, an auditor only figures and records", async () => {
  const menu = async (role) => {
    const { token } = await server.ask("/v1/admin/tokens", {
      body: { name: `a-${role}`, roles: [role] },
      status: 201,
    });
    const page = await openPage(opened.browser, server, { token, path: "/#/operate" });
    await page.locator(".side a").first().waitFor();
    const shown = await page.locator(".side a").allInnerTexts();
    await page.finish();
    return shown;
  };
  const operator = await menu("operator");
  assert.ok(
    operator.includes("Runs") && !operator.includes("Tokens") && !operator.includes("Doctor"),
    operator,
  );
  const auditor = await menu("auditor");
  assert.ok(auditor.includes("Audit") && !auditor.includes("Runs"), auditor);
});
