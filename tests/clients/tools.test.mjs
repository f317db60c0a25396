// What a client learns when it connects, in every revision of the protocol.

import assert from 'node:assert/strict';

import { CLIENTS, OLD_CLIENTS, testEach } from './support/clients.mjs';
import { assertSchemaIsValid } from './support/schemas.mjs';

const FIRST_WITH_ANNOTATIONS = '2025-03-26';
const FIRST_WITH_STRUCTURE = '2025-06-18';

async function listTools(session) {
  const { tools } = await session.client.listTools();
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
}

testEach([...CLIENTS, ...OLD_CLIENTS], (check, kind) => {
  const hasAnnotations = kind.revision >= FIRST_WITH_ANNOTATIONS;
  const hasStructure = kind.revision >= FIRST_WITH_STRUCTURE;

  check('agrees on the revision and meets the server', (session) => {
    assert.equal(session.revision, kind.revision);
    assert.equal(session.client.getServerVersion().name, 'belljar');
    assert.match(session.client.getInstructions(), /execute_code/);
  });

  check('lists all tools with valid input schemas', async (session) => {
    const tools = await listTools(session);
    assert.deepEqual(Object.keys(tools).sort(),
      ['cancel_run', 'execute_batch', 'execute_code', 'get_sandbox_info', 'list_files',
        'manage_session', 'pip_install', 'poll_run', 'read_file', 'search_tools', 'start_run',
        'validate_code', 'write_file']);
    for (const tool of Object.values(tools)) {
      assert.match(tool.description, /\w+/);
      assert.equal(tool.inputSchema.type, 'object');
      assertSchemaIsValid(tool.inputSchema);
    }
    assert.deepEqual(tools.execute_code.inputSchema.required, ['code']);
  });

  check('lists annotations if its revision has them', async (session) => {
    const tools = await listTools(session);
    for (const [name, readOnly] of [['execute_code', false], ['execute_batch', false],
      ['manage_session', false], ['get_sandbox_info', true]]) {
      const annotations = tools[name].annotations;
      assert.equal(annotations !== undefined, hasAnnotations);
      assert.equal(annotations?.readOnlyHint, hasAnnotations ? readOnly : undefined);
      assert.equal(annotations?.openWorldHint, hasAnnotations ? false : undefined);
    }
  });

  check('lists output schemas if its revision has them', async (session) => {
    for (const tool of Object.values(await listTools(session))) {
      assert.equal(tool.outputSchema !== undefined, hasStructure);
      if (hasStructure) {
        assert.equal(tool.outputSchema.type, 'object');
        assertSchemaIsValid(tool.outputSchema);
      }
    }
  });

  check('gets text, and structure if its revision has it', async (session) => {
    const answer = await session.execute({ code: 'print(6 * 7)' });
    assert.equal(answer.content[0].text, '42\n');
    assert.equal(answer.structuredContent?.stdout, hasStructure ? '42\n' : undefined);
  });
});
