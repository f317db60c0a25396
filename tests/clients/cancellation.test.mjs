// A call that is given up ends its program, with everything that the program started.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HTTP_CLIENTS, LEGACY, MODERN, STDIO_CLIENTS, openSession, testEach }
  from './support/clients.mjs';
import { endlessProgram } from './support/guests.mjs';

async function giveUp(session, program) {
  const abort = new AbortController();
  await Promise.all([
    assert.rejects(session.execute(program.args, { signal: abort.signal }), /given up/),
    program.started().finally(() => abort.abort('given up')),
  ]);
}

async function assertGoesOn(session) {
  const answer = await session.execute({ code: 'print(6 * 7)' });
  assert.equal(answer.structuredContent.stdout, '42\n');
}

const at = (revision) => (kind) => kind.revision === revision;

testEach([...STDIO_CLIENTS, ...HTTP_CLIENTS.filter(at(MODERN))], (check) => {
  check('cancels an endless program and its children', async (session) => {
    const program = endlessProgram();
    await giveUp(session, program);
    await program.gone();
    await assertGoesOn(session);
  });
});

// A request of the older revisions is not bound to its connection: the program has its full time,
// but ends with the server.
for (const kind of HTTP_CLIENTS.filter(at(LEGACY))) {
  test(`${kind.name}: gives up an endless program, which ends with the server`, async () => {
    const session = await openSession(kind);
    const program = endlessProgram();
    try {
      await giveUp(session, program);
      await assertGoesOn(session);
    } finally {
      await session.close();
    }
    await program.gone();
  });
}
