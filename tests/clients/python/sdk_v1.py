"""The official SDK, first line: handshakes only."""

import contextlib

import interview
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


class Client:
    def __init__(self, session, revision):
        self.session, self.revision = session, revision

    async def tools(self):
        return [interview.plain(tool) for tool in (await self.session.list_tools()).tools]

    async def call(self, name, arguments, on_progress):
        async def tell(progress, total, message):
            on_progress({"progress": progress, "total": total, "message": message})
        return interview.plain(await self.session.call_tool(
            name, arguments, progress_callback=tell if on_progress else None))

    async def read(self, uri):
        return [interview.plain(part) for part in (await self.session.read_resource(uri)).contents]

    async def give_up(self, task):
        """It has no word for this: the notification is for the application to send."""
        number = self.session._request_id - 1
        params = types.CancelledNotificationParams(requestId=number, reason="given up")
        await self.session.send_notification(types.ClientNotification(
            types.CancelledNotification(method="notifications/cancelled", params=params)))
        task.cancel()


def transport(server):
    if server["transport"] == "stdio":
        command, *arguments = server["command"]
        return stdio_client(StdioServerParameters(command=command, args=arguments,
                                                  env=server["environment"]))
    if server["transport"] == "sse":
        return sse_client(server["url"], headers=server["headers"])
    return streamablehttp_client(server["url"], headers=server["headers"])


@contextlib.asynccontextmanager
async def connect(server):
    async with transport(server) as streams, ClientSession(*streams[:2]) as session:
        greeting = await session.initialize()
        yield Client(session, greeting.protocolVersion)


interview.begin(connect)
