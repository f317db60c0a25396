// What programs show, say and name their files must never do anything in the page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openBrowser, openPage, runProgram, writeProgram } from "./support/browser.mjs";
import { startServer } from "./support/server.mjs";

// Each tries to leave a mark in this page, to open a dialog, or to ask somebody for something.
const MARK =
  "top.marked=parent.marked=window.marked=1;alert(1);fetch('/v1/marked');new Image().src='/marked'";
const HTML = [
  `<script>${MARK}</script>`,
  `<img src=x onerror="${MARK}">`,
  `<svg onload="${MARK}"></svg>`,
  `<svg><script>${MARK}</script></svg>`,
  `<body onload="${MARK}">`,
  `<iframe src="javascript:${MARK}"></iframe>`,
  `<iframe srcdoc="&lt;script&gt;${MARK}&lt;/script&gt;"></iframe>`,
  `<a href="javascript:${MARK}" autofocus onfocus="${MARK}">here</a>`,
  `<details open ontoggle="${MARK}"><summary>x</summary></details>`,
  `<form action="/marked"><input autofocus onfocus="${MARK}">` +
    `<button formaction="javascript:${MARK}">x</button></form>`,
  `<math><mi xlink:href="javascript:${MARK}">x</mi></math>`,
  `<object data="data:text/html,<script>${MARK}</script>"></object><embed src="/marked">`,
  `<meta http-equiv="refresh" content="0;url=/marked"><base href="http://evil.example/">`,
  `<link rel="stylesheet" href="/marked.css">` +
    `<style>@import "/marked.css"; * { background: url(/marked) }</style>`,
  `<div style="background: url(/marked); position: fixed; inset: 0">over everything</div>`,
  `<video src="/marked" autoplay onerror="${MARK}"></video><audio src="/marked"></audio>`,
  `<table background="/marked"><tr><td background="/marked">` +
    `<img src="//evil.example/marked"></td></tr></table>`,
  `<ScRiPt/x>${MARK}</sCrIpT ><scr<script>ipt>${MARK}</script>`,
  `<img src="x\` onerror=${MARK}//"><img """><script>${MARK}</script>">`,
  `<noscript><p title="</noscript><img src=x onerror=${MARK}>"></noscript>`,
  `<textarea><img title="</textarea><img src=x onerror=${MARK}>"></textarea>`,
  `<!--><img src=x onerror=${MARK}>--><![CDATA[<script>${MARK}</script>]]>`,
  `<template><script>${MARK}</script></template><slot onslotchange=${MARK}></slot>`,
  `</body></html><script>${MARK}</script><plaintext><script>${MARK}</script>`,
];
const SVG = 'xmlns="http://www.w3.org/2000/svg"';
const PICTURES = [
  `<svg ${SVG} onload="${MARK}"><script>${MARK}</script><text y="20">x</text></svg>`,
  `<svg ${SVG} xmlns:xlink="http://www.w3.org/1999/xlink"><image xlink:href="/marked"/>` +
    `<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="/marked"/></foreignObject>` +
    `</svg>`,
  `<svg ${SVG}><style>@import "/marked.css";</style><use href="/marked#x"/>` +
    `<set attributeName="onclick" to="${MARK}"/></svg>`,
];
const NAMES = [
  "<img src=x onerror=top.marked=1>.txt",
  '"><script>top.marked=1<!--.txt',
  "javascript:top.marked=1",
  "' onmouseover='top.marked=1.svg",
  "${top.marked=1}{{constructor}}.csv",
  "%3Cscript%3Etop.marked=1.txt",
  "\u202efdp.exe.txt",
  "&lt;b&gt;.html",
  "#token=x",
  "?a=b&c.txt",
];

let server;
let opened;

before(async () => {
  server = await startServer({ env: { BELLJAR_LIMITS_OUTPUT_FLOOD: "128m" } });
  opened = await openBrowser();
});
after(async () => {
  await opened.close();
  await server.stop();
});

const python = (value) =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

async function assertUnmarked(page) {
  assert.equal(await page.evaluate(() => "marked" in window), false, "something ran in the page");
  const strange = page.found.requests.filter((url) =>
    /^\/(v1\/)?marked/.test(new URL(url).pathname),
  );
  assert.deepEqual(strange, [], "something that was shown has asked for something");
  assert.equal(new URL(page.url()).origin, server.origin);
  assert.equal(await page.locator(".brand").innerText(), "Belljar");
}

test(`${HTML.length} hostile documents are shown and do nothing`, async () => {
  const page = await openPage(opened.browser, server);
  for (let at = 0; at < HTML.length; at += 8) {
    const some = HTML.slice(at, at + 8);
    await runProgram(
      page,
      `class Page:
    def __init__(self, text): self.text = text
    def _repr_html_(self): return self.text
for text in ${python(some)}: display(Page(text))`,
      "python",
    );
    await page
      .locator(".html-frame iframe")
      .nth(some.length - 1)
      .waitFor();
    for (const frame of await page.locator(".html-frame iframe").all()) {
      assert.equal(await frame.getAttribute("sandbox"), "");
      const inside = frame.contentFrame();
      await inside.locator("body").waitFor({ state: "attached" });
      assert.equal(
        await inside.locator("script, iframe, object, embed, form, base, meta[http-equiv]").count(),
        0,
      );
    }
    await assertUnmarked(page);
  }
  await page.finish();
});

test("hostile pictures are pictures", async () => {
  const page = await openPage(opened.browser, server);
  await runProgram(
    page,
    `class Picture:
    def __init__(self, text): self.text = text
    def _repr_svg_(self): return self.text
for text in ${python(PICTURES)}: display(Picture(text))`,
    "python",
  );
  await page.locator(".shown").waitFor();
  await page.waitForFunction(() =>
    [...document.querySelectorAll("img.picture")].every((one) => one.complete),
  );
  assert.equal(await page.locator(".shown svg").count(), 0, "an SVG became a part of the page");
  await assertUnmarked(page);
  await page.finish();
});

test("output, values, errors and variables are text", async () => {
  const page = await openPage(opened.browser, server);
  await runProgram(
    page,
    `import sys
attacks = ${python(HTML)}
for one in attacks:
    print(one)
    print(one, file=sys.stderr)
print("\\x1b]0;<script>top.marked=1</script>\\x07\\x1b[31;<img src=x onerror=top.marked=1>m")
[{one: one for one in attacks}]`,
    "python",
  );
  assert.match(await page.locator(".terminal").innerText(), /<script>top\.marked/);
  await page.locator(".value td").first().waitFor();
  await assertUnmarked(page);
  await runProgram(page, `raise ValueError(${python(HTML[1])})`, "python");
  assert.match(await page.locator(".error-line").innerText(), /<img src=x onerror/);
  await runProgram(page, `open(${python(`/${HTML[0].slice(0, 40)}`)}, 'w')`, "python");
  await assertUnmarked(page);
  await page.finish();
});

test("names of files and conversations are names", async () => {
  const page = await openPage(opened.browser, server);
  await page.getByLabel("Conversation").fill("<img src=x onerror=top.marked=1>");
  await page.keyboard.press("Tab");
  await runProgram(
    page,
    `for name in ${python(NAMES)}:
    open(name, 'w').write(${python(`<script>${MARK}</script>`)})`,
    "python",
  );
  await page
    .locator(".file-row")
    .nth(NAMES.length - 1)
    .waitFor();
  const shown = await page.locator(".file-name").allInnerTexts();
  assert.deepEqual(shown.sort(), [...NAMES].sort());
  for (const name of NAMES) {
    await page.locator(".file-name").nth(shown.indexOf(name)).click();
    await page.locator("li .preview, li .note, li img.picture").first().waitFor();
  }
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page
      .locator(".file-row", { hasText: NAMES[0] })
      .getByRole("button", { name: "Download" })
      .click(),
  ]);
  assert.ok(download.url().startsWith(`${server.origin}/files/`));
  assert.equal(await download.failure(), null);
  await assertUnmarked(page);
  await page.finish();
  const list = await openPage(opened.browser, server, { path: "/#/operate/conversations" });
  await list.locator("td .name", { hasText: "<img src=x" }).waitFor();
  await assertUnmarked(list);
  await list.finish();
});

test("addresses are only addresses", async () => {
  for (const path of [
    "/#/play/<script>top.marked=1</script>",
    "/#/operate/<img src=x onerror=top.marked=1>",
    "/#javascript:top.marked=1",
    "/#/__proto__",
    "/#/sessions/../../..",
    "/?x=<script>top.marked=1</script>#/play",
  ]) {
    const page = await openPage(opened.browser, server, { path });
    await page.locator("main").first().waitFor();
    await assertUnmarked(page);
    await page.finish();
  }
});

test(
  "50 MB of output leave the page alive, and all of it can be had",
  { timeout: 170_000 },
  async () => {
    const page = await openPage(opened.browser, server);
    await writeProgram(
      page,
      "import sys\nline = 'x' * 99 + '\\n'\nfor i in range(50):\n" +
        "    sys.stdout.write(line * 10485)\nprint('the end')",
      "python",
    );
    await page.getByRole("button", { name: /^Run/ }).click();
    await page.locator(".result-head").waitFor({ timeout: 120_000 });
    const shown = await page.evaluate(() => document.querySelector(".terminal").textContent.length);
    assert.ok(shown <= 400 * 1024, `${shown} characters stand in the page`);
    assert.match(await page.locator(".outcome .note").first().innerText(), /not shown/);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: /Download stdout \(50\.0 MiB\)/ }).click(),
    ]);
    let size = 0;
    for await (const part of await download.createReadStream()) size += part.length;
    assert.equal(size, 50 * 10485 * 100 + "the end\n".length);
    await runProgram(page, "print('alive')", "python");
    assert.match(await page.locator(".terminal").innerText(), /alive/);
    await page.finish();
  },
);

test("a million rows leave the page alive", async () => {
  const page = await openPage(opened.browser, server);
  await runProgram(
    page,
    "with open('rows.csv', 'w') as file:\n    file.write('n,square\\n')\n" +
      "    file.writelines(f'{n},{n*n}\\n' for n in range(1_000_000))\n" +
      "row = '<tr><td>1</td><td>2</td></tr>'\n" +
      "class Table:\n    def _repr_html_(self): return '<table>' + row * 60_000\n" +
      "display(Table())\n[[n, n * n] for n in range(50_000)]",
    "python",
  );
  await page.getByRole("button", { name: "rows.csv" }).click();
  await page.locator(".preview td").first().waitFor();
  assert.ok((await page.locator(".preview tr").count()) <= 120);
  assert.match(
    await page.locator(".preview .note").last().innerText(),
    /The first 64\.0 KiB of 1\d\.\d MiB/,
  );
  assert.ok((await page.locator("td").count()) < 2000, "too many cells stand in the page");
  await runProgram(page, "print('alive')", "python");
  await page.finish();
});

test("megabytes of what is never closed are read in no time", async () => {
  const page = await openPage(opened.browser, server);
  await runProgram(
    page,
    `class Page:
    def __init__(self, text): self.text = text
    def _repr_html_(self): return "<b>shown</b>" + self.text
many = 100_000
for text in ["<a" * many, '<a"' * many, "<!" * many, "<script>" + "</script" * many,
             "<a " + "x" * 2 * many + ">"]: display(Page(text))`,
    "python",
  );
  await page.locator(".html-frame iframe").nth(4).waitFor();
  for (const frame of await page.locator(".html-frame iframe").all())
    await frame.contentFrame().locator("b", { hasText: "shown" }).waitFor();
  await runProgram(page, "print('alive')", "python");
  assert.match(await page.locator(".terminal").innerText(), /alive/);
  await page.finish();
});

test("a server that goes away in the middle of a stream: what came is kept", async () => {
  const dying = await startServer();
  const page = await openPage(opened.browser, dying);
  await writeProgram(
    page,
    "import time\nprint('before the end', flush=True)\nwhile True: time.sleep(1)",
    "python",
  );
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.locator(".terminal", { hasText: "before the end" }).waitFor();
  await dying.stop("SIGKILL");
  await page.locator(".outcome [role=alert]").waitFor();
  assert.match(await page.locator(".outcome [role=alert]").innerText(), /went away|broke/);
  assert.match(await page.locator(".terminal").innerText(), /before the end/);
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.locator(".outcome [role=alert]", { hasText: "does not answer" }).waitFor();
  await page.finish({ allowed: [/ERR_/] });
});
