// The end of a session leaves no process behind. That the server ends with code 0 and without a
// word of warning is part of closing every session of these tests.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CLIENTS, STDIO_CLIENTS, openSession } from './support/clients.mjs';
import { endlessProgram } from './support/guests.mjs';
import { eventually, isAlive, treeOf } from './support/processes.mjs';

for (const kind of CLIENTS) {
  test(`${kind.name}: closing ends the server and all it started`, async () => {
    const session = await openSession(kind);
    await session.execute({ code: 'print(6 * 7)' });
    const tree = treeOf(session.serverPid);
    assert.ok(tree.length >= 2, 'the server has a warden');
    await session.close();
    await eventually('the whole tree is gone', () => !tree.some(isAlive));
  });
}

for (const kind of STDIO_CLIENTS) {
  test(`${kind.name}: the server ends by itself when its input ends`, async () => {
    const session = await openSession(kind);
    await session.close();
    assert.equal(session.child.killed, false, 'the SDK sends a signal to one that overstays');
  });

  test(`${kind.name}: closing ends a program that still runs`, async () => {
    const session = await openSession(kind);
    const program = endlessProgram();
    await Promise.all([
      assert.rejects(session.execute(program.args), /[Cc]losed/),
      program.started().finally(session.close),
    ]);
    await program.gone();
  });
}
