// The published client of Piston, which knows neither Belljar nor tokens.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import pistonModule from 'piston-api-client';

import { startServer } from './support/server.mjs';

const { PistonClient } = pistonModule;

let starting;

// By the first test that runs: where none is selected, nobody would wait for a server to stop it.
async function connect() {
  starting ??= startServer({ auth: 'none' });
  const server = await starting;
  // What it remembers it forgets by a timer, which would keep this process.
  return new PistonClient({ server: new URL(server.url).origin, cacheTime: 1 });
}

after(async () => (await starting)?.stop());

async function execute(request) {
  const client = await connect();
  const answer = await client.execute({ language: 'python', version: '*', ...request });
  assert.equal(answer.success, true, String(answer.error));
  return answer.data;
}

test('lists languages with their versions', async () => {
  const client = await connect();
  const { success, data } = await client.runtimes();
  assert.equal(success, true);
  const python = data.find((runtime) => runtime.language === 'python');
  assert.match(python.version, /^3\.\d+\.\d+$/);
  assert.ok(python.aliases.includes('py'));
});

test('runs a program with arguments, input and a second file', async () => {
  const { run, language, version } = await execute({
    language: 'py',
    files: [
      { name: 'main.py', content: 'import sys, other\nprint(sys.argv[1:], input(), other.x)' },
      { name: 'other.py', content: Buffer.from('x = 42').toString('base64'), encoding: 'base64' },
    ],
    stdin: 'typed',
    args: ['a', 'b'],
  });
  assert.equal(language, 'python');
  assert.match(version, /^3\./);
  assert.deepEqual([run.stdout, run.stderr, run.code, run.signal],
    ["['a', 'b'] typed 42\n", '', 0, null]);
  assert.equal(run.output, run.stdout);
});

test('tells of a failure, a time limit and an unknown language', async () => {
  const failed = await execute({ files: [{ content: 'import sys; sys.exit(3)' }] });
  assert.deepEqual([failed.run.code, failed.run.status], [3, 'RE']);
  const late = await execute({ files: [{ content: 'while True: pass' }], run_timeout: 500 });
  assert.deepEqual([late.run.status, late.run.signal], ['TO', 'SIGKILL']);
  const client = await connect();
  const unknown = await client.execute({ language: 'klingon', version: '*', files: [] });
  assert.notEqual(unknown.data?.message ?? unknown.error, undefined);
});
