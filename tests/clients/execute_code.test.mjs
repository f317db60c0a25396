// What the tools answer. Every structured answer is held against the schema that was listed.

import assert from 'node:assert/strict';

import { CLIENTS, testEach } from './support/clients.mjs';
import { assertMatches } from './support/schemas.mjs';

async function callChecked(session, name, args) {
  // The list comes first: only then do the SDKs validate answers themselves.
  const { tools } = await session.client.listTools();
  const answer = await session.callTool(name, args);
  assertMatches(tools.find((tool) => tool.name === name).outputSchema, answer.structuredContent);
  return answer;
}

testEach(CLIENTS, (check) => {
  check('runs a program and gets what it printed', async (session) => {
    const answer = await callChecked(session, 'execute_code', { code: 'print(6 * 7)' });
    assert.ok(!answer.isError);
    assert.equal(answer.content[0].type, 'text');
    assert.ok(answer.content[0].text.startsWith('42\n'), answer.content[0].text);
    assert.equal(answer.structuredContent.status, 'ok');
    assert.equal(answer.structuredContent.stdout, '42\n');
    assert.equal(answer.structuredContent.exit_code, 0);
  });

  check('gets the value of the last expression', async (session) => {
    const code = 'import math\n{"root": math.sqrt(2.25), "names": ["é", "日本"]}';
    const answer = await callChecked(session, 'execute_code', { code });
    assert.deepEqual(answer.structuredContent.result, { root: 1.5, names: ['é', '日本'] });
  });

  check('passes input, arguments, environment and files', async (session) => {
    const answer = await callChecked(session, 'execute_code', {
      code: 'import os, sys\n[input(), sys.argv[1:], os.environ["COLOUR"], open("a.txt").read()]',
      stdin: 'typed\n',
      args: ['one', 'two'],
      env: { COLOUR: 'blue' },
      files: { 'a.txt': 'from a file' },
    });
    assert.deepEqual(answer.structuredContent.result,
      ['typed', ['one', 'two'], 'blue', 'from a file']);
  });

  check('is told why a program failed', async (session) => {
    const answer = await callChecked(session, 'execute_code', { code: 'zero = 0\n1 / zero\n' });
    assert.equal(answer.isError, true);
    assert.equal(answer.structuredContent.status, 'error');
    assert.equal(answer.structuredContent.error.type, 'ZeroDivisionError');
    assert.equal(answer.structuredContent.error.line, 2);
    const { text } = answer.content[0];
    assert.match(text, /line 2, in <module>[^]*ZeroDivisionError: division by zero/);
  });

  check('is told that a program took too long', async (session) => {
    const code = 'print("begun", flush=True)\nwhile True: pass';
    const answer = await callChecked(session, 'execute_code', { code, timeout: 0.5 });
    assert.equal(answer.isError, true);
    assert.equal(answer.structuredContent.status, 'timeout');
    assert.equal(answer.structuredContent.stdout, 'begun\n');
  });

  check('asks for the sandbox', async (session) => {
    const answer = await callChecked(session, 'get_sandbox_info', {});
    assert.ok(!answer.isError);
    const languages = answer.structuredContent.languages.map((entry) => entry.language);
    assert.ok(languages.includes('python'), languages);
    assert.equal(answer.structuredContent.network, 'none');
  });

  check('gets the answer of a short call while a long one runs', async (session) => {
    const slow = session.execute({ code: 'import time\ntime.sleep(2)\n"slow"' });
    const fast = session.execute({ code: '"fast"' });
    const first = await Promise.race([slow, fast]);
    assert.equal(first.structuredContent.result, 'fast');
    const second = await slow;
    assert.equal(second.structuredContent.result, 'slow');
  });
});
