// What a client is told when it asks for something that it cannot have.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CLIENTS, HTTP_CLIENTS, httpTransport, testEach } from './support/clients.mjs';
import { startServer } from './support/server.mjs';

const INVALID_PARAMS = -32602;

testEach(CLIENTS, (check) => {
  check('is told which argument is wrong, as a result that a model can read', async (session) => {
    const refusals = [
      [{ code: 42 }, /"code" must be a string/],
      [{}, /"code"/],
      [{ code: '1', timeout: -1 }, /timeout/],
      [{ code: '1', language: 'klingon' }, /klingon/],
      [{ code: '1', colour: 'blue' }, /colour/],
    ];
    for (const [args, sentence] of refusals) {
      const answer = await session.execute(args);
      assert.equal(answer.isError, true);
      assert.match(answer.content[0].text, sentence);
    }
  });

  check('gets a protocol error for an unknown tool', async (session) => {
    await assert.rejects(session.callTool('make_coffee', {}),
      { code: INVALID_PARAMS, message: /make_coffee/ });
  });
});

const ATTEMPTS = [
  { what: 'a wrong token', token: `bj_${'0'.repeat(64)}`, reason: /the token is not valid/ },
  { what: 'no token', token: undefined, reason: /a token is needed/ },
];

async function assertCannotConnect(kind, { url }, { token, reason }) {
  const client = kind.sdk.newClient(kind.options);
  await assert.rejects(client.connect(httpTransport(kind.sdk, url, token)), (error) => {
    const { status, text } = kind.sdk.httpRefusal(error);
    assert.equal(status, 401, error);
    assert.match(text, reason);
    return true;
  });
  await client.close();
}

for (const kind of HTTP_CLIENTS) {
  for (const attempt of ATTEMPTS) {
    test(`${kind.name}: cannot connect with ${attempt.what}, and is told so`, async () => {
      const server = await startServer();
      try {
        await assertCannotConnect(kind, server, attempt);
      } finally {
        await server.stop();
      }
    });
  }
}
