// A file that a program has written in a conversation, read as a resource and with a tool.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { CLIENTS, testEach } from './support/clients.mjs';

const PATH = 'notes/report.txt';
const TEXT = 'first line\nsecond: é日\n';
const CODE = `import os
os.makedirs('notes')
open('${PATH}', 'w', encoding='utf-8').write('first line\\nsecond: é日\\n')
'written'`;

testEach(CLIENTS, (check) => {
  check('reads what a program has written', async (session) => {
    const conversation = `talk-${randomUUID().slice(0, 13)}`;
    const uri = `belljar://conversations/${conversation}/files/${PATH}`;
    const answer = await session.execute({ code: CODE, conversation_id: conversation });
    assert.equal(answer.structuredContent.result, 'written');

    const { contents } = await session.client.readResource({ uri });
    assert.deepEqual(contents.map((part) => [part.uri, part.text]), [[uri, TEXT]]);

    const read = await session.callTool('read_file',
      { conversation_id: conversation, path: PATH });
    assert.ok(!read.isError, read.content[0].text);
    assert.ok(read.content[0].text.includes(TEXT), read.content[0].text);
  });

  check('is told of a file that is not there', async (session) => {
    const uri = 'belljar://conversations/talk-of-nobody/files/nothing.txt';
    await assert.rejects(session.client.readResource({ uri }),
      (error) => [-32602, -32002].includes(error.code));
  });
});
