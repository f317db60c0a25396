// Output that reaches a client before the answer: progress, and log messages where it can ask.

import assert from 'node:assert/strict';

import { CLIENTS, LEGACY, MODERN, OLD_CLIENTS, STDIO_CLIENTS, testEach }
  from './support/clients.mjs';

const TICKS = 'import time\nfor number in range(4):\n    print(number)\n    time.sleep(0.15)\n';
const PRINTED = '0\n1\n2\n3\n';
const FIRST_WITH_MESSAGE = '2025-03-26';

testEach([...CLIENTS, ...OLD_CLIENTS], (check, kind) => {
  check('hears of progress while the program runs', async (session) => {
    const heard = [];
    const answer = await session.execute({ code: TICKS }, { onprogress: (one) => heard.push(one) });
    assert.equal(answer.content[0].text, PRINTED);
    assert.ok(heard.length >= 2, `heard ${heard.length} times`);
    for (let index = 1; index < heard.length; index += 1) {
      assert.ok(heard[index].progress > heard[index - 1].progress);
    }
    const text = heard.map((one) => one.message ?? '').join('');
    assert.equal(text, kind.revision >= FIRST_WITH_MESSAGE ? PRINTED : '');
  });

  check('hears how many of a batch are over', async (session) => {
    const heard = [];
    const runs = [1, 2, 3].map((number) => (
      { code: `import time\ntime.sleep(${number / 4})\nprint(${number})` }));
    const answer = await session.callTool('execute_batch', { runs },
      { onprogress: (one) => heard.push(one) });
    assert.match(answer.content[0].text, /\[3 of 3: ok\]\n3\n/);
    assert.deepEqual(heard.map((one) => [one.progress, one.total]), [[1, 3], [2, 3]]);
  });

  check('needs not listen', async (session) => {
    const answer = await session.execute({ code: TICKS });
    assert.equal(answer.content[0].text, PRINTED);
  });
});

// A level can be set where there is a connection that remembers it.
const old = (kind) => kind.revision <= LEGACY;
testEach(STDIO_CLIENTS.filter(old), (check, kind) => {
  check('gets log messages once it has set a level', async (session) => {
    const heard = [];
    listen(session.client, kind, (message) => heard.push(message.params));
    await session.execute({ code: TICKS });
    assert.equal(heard.length, 0);
    await session.client.setLoggingLevel('info');
    await session.execute({ code: `${TICKS}import sys; print('bad', file=sys.stderr)` });
    const text = (level) => heard.filter((one) => one.level === level)
      .map((one) => one.data.text).join('');
    assert.equal(text('info'), PRINTED);
    assert.equal(text('warning'), 'bad\n');
  });
});

// In the newest revision the level stands in each request.
testEach(CLIENTS.filter((kind) => kind.revision === MODERN), (check, kind) => {
  check('gets log messages of the level that its request names', async (session) => {
    const heard = [];
    listen(session.client, kind, (message) => heard.push(message.params));
    await kind.sdk.call(session.client, {
      name: 'execute_code',
      arguments: { code: "import sys\nprint('good')\nprint('bad', file=sys.stderr)" },
      _meta: { 'io.modelcontextprotocol/logLevel': 'warning' },
    });
    assert.deepEqual(heard.map((one) => one.data.text), ['bad\n']);
  });
});

function listen(client, kind, handler) {
  const method = 'notifications/message';
  if (kind.name.startsWith('v1')) {
    client.fallbackNotificationHandler = async (message) => {
      if (message.method === method) {
        handler(message);
      }
    };
  } else {
    client.setNotificationHandler(method, handler);
  }
}
