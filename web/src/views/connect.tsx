// Lines to paste, for this server.

import { useState } from "preact/hooks";

import { CopyButton } from "../parts";
import { storedToken } from "../session";

interface Recipe {
  name: string;
  about: string;
  lines(url: string, token: string): string;
}

const header = (token: string) => (token ? ` --header "Authorization: Bearer ${token}"` : "");
const json = (value: unknown) => JSON.stringify(value, null, 2);
const headers = (token: string) => (token ? { headers: { Authorization: `Bearer ${token}` } } : {});

const RECIPES: Recipe[] = [
  {
    name: "Claude Code",
    about: "Run this in a terminal.",
    lines: (url, token) => `claude mcp add --transport http belljar ${url}/mcp${header(token)}`,
  },
  {
    name: "Claude Desktop",
    about: "In claude_desktop_config.json; npx reaches the server for it.",
    lines: (url, token) =>
      json({
        mcpServers: {
          belljar: {
            command: "npx",
            args: [
              "-y",
              "mcp-remote",
              `${url}/mcp`,
              ...(token ? ["--header", `Authorization: Bearer ${token}`] : []),
            ],
          },
        },
      }),
  },
  {
    name: "VS Code",
    about: "In .vscode/mcp.json; VS Code asks for the token once.",
    lines: (url, token) =>
      json({
        servers: {
          belljar: {
            type: "http",
            url: `${url}/mcp`,
            ...(token ? { headers: { Authorization: "Bearer ${input:belljar-token}" } } : {}),
          },
        },
        ...(token
          ? {
              inputs: [
                {
                  type: "promptString",
                  id: "belljar-token",
                  description: "Token of Belljar",
                  password: true,
                },
              ],
            }
          : {}),
      }),
  },
  {
    name: "Cursor",
    about: "In ~/.cursor/mcp.json.",
    lines: (url, token) =>
      json({ mcpServers: { belljar: { url: `${url}/mcp`, ...headers(token) } } }),
  },
  {
    name: "Open WebUI",
    about: "Admin, External Tools: type MCP (Streamable HTTP). Or through mcpo:",
    lines: (url, token) =>
      `URL:   ${url}/mcp\nToken: ${token || "(none)"}\n\n` +
      `uvx mcpo --port 8000 --server-type streamable-http${
        token ? ` --header '{"Authorization": "Bearer ${token}"}'` : ""
      } -- ${url}/mcp`,
  },
  {
    name: "Python",
    about: "With the SDK of MCP: pip install mcp.",
    lines: (url, token) => `import asyncio
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def main():
    async with streamablehttp_client(
        "${url}/mcp"${token ? `,\n        headers={"Authorization": "Bearer ${token}"}` : ""},
    ) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            result = await session.call_tool("execute_code", {"code": "print(6*7)"})
            print(result.content[0].text)

asyncio.run(main())`,
  },
  {
    name: "TypeScript",
    about: "With the SDK of MCP: npm install @modelcontextprotocol/sdk.",
    lines: (url, token) => `import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL("${url}/mcp")${
      token
        ? `, {
  requestInit: { headers: { Authorization: "Bearer ${token}" } },
}`
        : ""
    }));
const result = await client.callTool({ name: "execute_code", arguments: { code: "print(6*7)" } });
console.log(result.content[0].text);`,
  },
  {
    name: "curl",
    about: "Without MCP. The whole interface is described at /docs.",
    lines: (
      url,
      token,
    ) => `curl -s ${url}/v1/runs${token ? ` -H "Authorization: Bearer ${token}"` : ""} \\
  -H 'Content-Type: application/json' -d '{"code": "print(6*7)"}'`,
  },
];

const HIDDEN = "••••••••";

export function Connect() {
  const [shown, setShown] = useState(false);
  const token = storedToken() ?? "";
  const url = location.origin;
  return (
    <main class="connect" id="main">
      <div class="view-head">
        <h1>Connect</h1>
        <code>{url}/mcp</code>
        <span class="grow" />
        {token && (
          <button type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
            {shown ? "Hide the token" : "Show the token"}
          </button>
        )}
        <a class="button" href="/docs">
          API reference
        </a>
      </div>
      <p class="lead">
        Paste one of these, and the client has the tools of this server. Copying takes the token
        along, whether it is shown or not.
      </p>
      <div class="recipes">
        {RECIPES.map((one) => (
          <section class="card recipe" key={one.name} aria-labelledby={`recipe-${one.name}`}>
            <div class="recipe-head">
              <h2 id={`recipe-${one.name}`}>{one.name}</h2>
              <CopyButton text={one.lines(url, token)} label="Copy" />
            </div>
            <p class="note">{one.about}</p>
            <pre class="text" tabIndex={0} aria-label={`Lines for ${one.name}`}>
              {one.lines(url, token && (shown ? token : HIDDEN))}
            </pre>
          </section>
        ))}
      </div>
    </main>
  );
}
