// The real `belljar serve`, on a free port, with a data directory of its own.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const RELEASE = path.join(import.meta.dirname, '../../../build/release/belljar');
export const BINARY = path.resolve(process.env.BELLJAR_BINARY ?? RELEASE);

// Settings of whoever runs the tests are not those of the server under test.
export const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('BELLJAR_')));

const GREETING_MS = 60_000;

// Collects what a program writes to standard error, to be judged when the program has ended.
export function collectLog(stream) {
  const lines = [];
  const reader = createInterface({ input: stream }).on('line', (line) => lines.push(line));
  return { lines, ended: once(reader, 'close') };
}

// It ended with code 0, wrote only log records, and none of them is a warning.
export async function assertCleanEnd(exited, log) {
  const [code, signal] = await exited;
  await log.ended;
  assert.deepEqual({ code, signal }, { code: 0, signal: null }, log.lines.join('\n'));
  for (const line of log.lines) {
    assert.match(line, /^\{.*\}$/, 'not a log record');
    assert.ok(['debug', 'info'].includes(JSON.parse(line).level), line);
  }
}

async function readGreeting(child, auth) {
  let text = '';
  const signal = AbortSignal.timeout(GREETING_MS);
  for await (const line of createInterface({ input: child.stdout, signal })) {
    text += `${line}\n`;
    if (line.startsWith('Stop it')) {
      break;
    }
  }
  child.stdout.resume();
  const address = /listens on (http:\S+)/.exec(text)?.[1];
  const token = /^ +(bj_[0-9a-f]+)$/m.exec(text)?.[1];
  assert.ok(address && (token || auth === 'none'), text);
  return { address, token };
}

export async function startServer({ auth = 'token' } = {}) {
  accessSync(BINARY, constants.X_OK);
  const dataDir = mkdtempSync(path.join(tmpdir(), 'belljar-clients-'));
  const options = ['--listen', '127.0.0.1:0', '--data-dir', dataDir, '--auth', auth];
  const child = spawn(BINARY, ['serve', ...options],
    { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'close');
  const log = collectLog(child.stderr);
  const end = async (signal) => {
    child.kill(signal);
    await exited;
    await log.ended;
    rmSync(dataDir, { recursive: true });
  };
  try {
    const { address, token } = await readGreeting(child, auth);
    const stop = async () => {
      await end('SIGTERM');
      await assertCleanEnd(exited, log);
    };
    return { url: new URL('/mcp', address), token, pid: child.pid, stop };
  } catch (cause) {
    await end('SIGKILL');
    throw new Error(`no greeting; the server said: ${log.lines.join('\n')}`, { cause });
  }
}
