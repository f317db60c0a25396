"""FastMCP's client, which stands on the second line of the official SDK."""

import contextlib

import interview
from fastmcp import Client as FastClient
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport


class Client:
    def __init__(self, client):
        self.client, self.revision = client, client.session.protocol_version

    async def tools(self):
        return [interview.plain(tool) for tool in await self.client.list_tools()]

    async def call(self, name, arguments, on_progress):
        async def tell(progress, total, message):
            on_progress({"progress": progress, "total": total, "message": message})
        return interview.plain(await self.client.call_tool_mcp(
            name, arguments, progress_handler=tell if on_progress else None))

    async def read(self, uri):
        return [interview.plain(part) for part in await self.client.read_resource(uri)]

    async def give_up(self, task):
        task.cancel()


def transport(server):
    if server["transport"] == "stdio":
        command, *arguments = server["command"]
        return StdioTransport(command, arguments, env=server["environment"], keep_alive=False)
    kind = SSETransport if server["transport"] == "sse" else StreamableHttpTransport
    return kind(server["url"], headers=server["headers"])


@contextlib.asynccontextmanager
async def connect(server):
    async with FastClient(transport(server), mode=server["mode"]) as client:
        yield Client(client)


interview.begin(connect)
