// The real `belljar serve`, on a free port, with a data directory of its own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
export const ROOT = path.join(HERE, "..", "..", "..");
export const BINARY = path.resolve(
  process.env.BELLJAR_BINARY ?? path.join(ROOT, "build/release/belljar"),
);
// Compilers take their time where others are at work; the page does not care what language it is.
const NOT_HERE = ["c", "cpp", "go", "java", "lua", "perl", "php", "r", "ruby", "rust"];
const GREETING_MS = 120_000;

// Settings of whoever runs the tests are not those of the server under test.
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("BELLJAR_")),
);

async function readGreeting(child) {
  let text = "";
  const signal = AbortSignal.timeout(GREETING_MS);
  for await (const line of createInterface({ input: child.stdout, signal })) {
    text += `${line}\n`;
    if (line.startsWith("Stop it")) break;
  }
  child.stdout.resume();
  return text;
}

function writeRunners(folder) {
  mkdirSync(folder, { mode: 0o755 });
  for (const language of NOT_HERE) {
    writeFileSync(
      path.join(folder, `${language}.toml`),
      `language = "${language}"\nfile = "main"\ndetect = ["/nowhere/${language}"]\n` +
        `command = ["{program}", "{file}"]\nversion = ["{program}", "--version"]\n`,
      { mode: 0o644 },
    );
  }
}

export async function startServer({ auth = "token", env = {} } = {}) {
  const data = mkdtempSync(path.join(tmpdir(), "belljar-web-"));
  chmodSync(data, 0o755);
  const runners = path.join(data, "runners.d");
  writeRunners(runners);
  const child = spawn(
    BINARY,
    ["serve", "--listen", "127.0.0.1:0", "--data-dir", path.join(data, "data"), "--auth", auth],
    {
      env: {
        ...ENVIRONMENT,
        BELLJAR_SERVER_SHUTDOWN_TIME: "200ms",
        BELLJAR_RUNNERS_PATH: runners,
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const exited = once(child, "close");
  let log = "";
  child.stderr.on("data", (part) => {
    log = (log + part).slice(-20_000);
  });
  const greeting = await readGreeting(child);
  const origin = /listens on (http:\S+)/.exec(greeting)?.[1];
  const token = /^ +(bj_[0-9a-f]+)$/m.exec(greeting)?.[1];
  assert.ok(origin && (token || auth === "none"), `${greeting}\n${log}`);
  const stop = async (signal = "SIGTERM") => {
    if (child.exitCode === null) child.kill(signal);
    await exited;
    rmSync(data, { recursive: true, force: true });
  };
  const server = { origin, token, greeting, stop, data: path.join(data, "data"), pid: child.pid };
  server.ask = (url, order) => ask(server, url, order);
  await server.ask("/v1/runners"); // once the languages are known, they stay as they are
  return server;
}

// One request to the interface, as any program makes it.
async function ask(server, url, { method, body, headers = {}, status, token = server.token } = {}) {
  const response = await fetch(server.origin + url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    body: typeof body === "object" ? JSON.stringify(body) : body,
  });
  const text = await response.text();
  if (status !== undefined) assert.equal(response.status, status, text);
  else assert.ok(response.ok, `${response.status} ${text}`);
  return text.startsWith("{") ? JSON.parse(text) : text;
}
