// A call that is given up ends its program, with everything that the program started.

import assert from 'node:assert/strict';

import { HTTP_CLIENTS, MODERN, STDIO_CLIENTS, testEach } from './support/clients.mjs';
import { endlessProgram } from './support/guests.mjs';

// Over HTTP, a request of the older revisions is not bound to its connection.
const CANCELLING = [
  ...STDIO_CLIENTS, ...HTTP_CLIENTS.filter((kind) => kind.revision === MODERN)];

testEach(CANCELLING, (check) => {
  check('cancels an endless program and its children', async (session) => {
    const program = endlessProgram();
    const abort = new AbortController();
    const call = session.execute(program.args, { signal: abort.signal });
    await Promise.all([
      assert.rejects(call, /given up/),
      program.started().finally(() => abort.abort('given up')),
    ]);
    await program.gone();
  });

  check('goes on after a cancellation', async (session) => {
    const answer = await session.execute({ code: 'print(6 * 7)' });
    assert.equal(answer.structuredContent.stdout, '42\n');
  });
});
