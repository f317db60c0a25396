// A call that is given up ends its program, with everything that the program started.

import assert from 'node:assert/strict';

import { CLIENTS, testEach } from './support/clients.mjs';
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

testEach(CLIENTS, (check) => {
  check('cancels an endless program and its children', async (session) => {
    const program = endlessProgram();
    await giveUp(session, program);
    await program.gone();
    await assertGoesOn(session);
  });
});
