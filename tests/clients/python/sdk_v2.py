"""The official SDK, second line: both eras."""

import contextlib

import httpx2
import interview
from mcp import Client as SdkClient
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


class Client:
    def __init__(self, client):
        self.client, self.revision = client, client.protocol_version

    async def tools(self):
        return [interview.plain(tool) for tool in (await self.client.list_tools()).tools]

    async def call(self, name, arguments, on_progress):
        async def tell(progress, total, message):
            on_progress({"progress": progress, "total": total, "message": message})
        return interview.plain(await self.client.call_tool(
            name, arguments, progress_callback=tell if on_progress else None))

    async def read(self, uri):
        return [interview.plain(part) for part in (await self.client.read_resource(uri)).contents]

    async def give_up(self, task):
        task.cancel()


@contextlib.asynccontextmanager
async def transport(server):
    if server["transport"] == "stdio":
        command, *arguments = server["command"]
        yield stdio_client(StdioServerParameters(command=command, args=arguments,
                                                 env=server["environment"]))
    elif server["transport"] == "sse":
        yield sse_client(server["url"], headers=server["headers"])
    else:
        async with httpx2.AsyncClient(headers=server["headers"], timeout=60) as http:
            yield streamable_http_client(server["url"], http_client=http)


@contextlib.asynccontextmanager
async def connect(server):
    async with transport(server) as used, SdkClient(used, mode=server["mode"]) as client:
        yield Client(client)


interview.begin(connect)
