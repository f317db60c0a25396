// Every way a client can reach Belljar: SDK, transport and protocol era.

import { once } from 'node:events';
import { after, describe, test } from 'node:test';

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 }
  from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 }
  from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

import { BINARY, ENVIRONMENT, assertCleanEnd, collectLog, startServer } from './server.mjs';

export const LEGACY = '2025-11-25';
export const MODERN = '2026-07-28';

const IDENTITY = { name: 'belljar-client-tests', version: '1.0.0' };

const V1 = {
  Stdio: StdioV1,
  Http: HttpV1,
  newClient: () => new ClientV1(IDENTITY),
  call: (client, request, options) => client.callTool(request, undefined, options),
  httpRefusal: (error) => ({ status: error.code, text: error.message }),
};
const V2 = {
  Stdio: StdioV2,
  Http: HttpV2,
  newClient: (options) => new ClientV2(IDENTITY, options),
  call: (client, request, options) => client.callTool(request, options),
  httpRefusal: (error) => ({ status: error.status, text: error.data?.text }),
};

const negotiate = (mode) => ({ versionNegotiation: { mode } });
const offer = (revision) => ({ supportedProtocolVersions: [revision] });

const DIALECTS = [
  { name: 'v1', sdk: V1, revision: LEGACY },
  { name: 'v2 by default', sdk: V2, revision: LEGACY },
  { name: 'v2 auto', sdk: V2, revision: MODERN, options: negotiate('auto') },
  { name: 'v2 pinned', sdk: V2, revision: MODERN, options: negotiate({ pin: MODERN }) },
];
const OLD_DIALECTS = ['2025-06-18', '2025-03-26', '2024-11-05'].map((revision) => (
  { name: `v2 at ${revision}`, sdk: V2, revision, options: offer(revision) }));

const over = (transport, open) => (dialect) => (
  { ...dialect, name: `${dialect.name} over ${transport}`, open });
const overHttp = over('HTTP', openHttp);
const overStdio = over('stdio', openStdio);

export const HTTP_CLIENTS = DIALECTS.map(overHttp);
export const STDIO_CLIENTS = DIALECTS.map(overStdio);
export const CLIENTS = [...HTTP_CLIENTS, ...STDIO_CLIENTS];
export const OLD_CLIENTS = [...OLD_DIALECTS.map(overHttp), ...OLD_DIALECTS.map(overStdio)];

export function httpTransport(sdk, url, token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return new sdk.Http(url, { requestInit: { headers } });
}

async function openHttp({ sdk, options }) {
  const server = await startServer();
  const client = sdk.newClient(options);
  try {
    const transport = httpTransport(sdk, server.url, server.token);
    await client.connect(transport);
    const revision = transport.protocolVersion;
    const close = async () => {
      await client.close();
      await server.stop();
    };
    return { client, revision, serverPid: server.pid, close };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function openStdio({ sdk, options }) {
  const transport = new sdk.Stdio(
    { command: BINARY, args: ['mcp'], env: ENVIRONMENT, stderr: 'pipe' });
  const log = collectLog(transport.stderr);
  const client = sdk.newClient(options);
  // Only the second SDK can be asked for the revision, but both tell it to their transport.
  let revision;
  transport.setProtocolVersion = (version) => { revision = version; };
  try {
    await client.connect(transport);
  } catch (cause) {
    throw new Error(`cannot connect; the server said: ${log.lines.join('\n')}`, { cause });
  }
  const child = transport._process;  // Not public, but nothing else tells the exit code.
  const exited = once(child, 'close');
  const close = async () => {
    await client.close();
    await assertCleanEnd(exited, log);
  };
  return { client, revision, serverPid: child.pid, child, close };
}

// Connects as `kind` says. The session has the SDK's client, and one way to call a tool.
export async function openSession(kind) {
  const session = await kind.open(kind);
  const callTool = (name, args, options) =>
    kind.sdk.call(session.client, { name, arguments: args }, options);
  const execute = (args, options) => callTool('execute_code', args, options);
  return { ...session, callTool, execute };
}

// Tests that share one session per kind of client. Opening and closing happen in tests and not in
// hooks, because the report of a run is silent about what went wrong in a hook.
export function testEach(kinds, define) {
  for (const kind of kinds) {
    describe(kind.name, () => {
      let session;
      let closed;
      const close = () => (closed ??= session?.then((opened) => opened.close()));
      const check = (title, body) => test(title, async () => {
        session ??= openSession(kind);
        await body(await session);
      });
      define(check, kind);
      test('ends cleanly', close);
      after(close);  // for a run that selects only other tests
    });
  }
}
