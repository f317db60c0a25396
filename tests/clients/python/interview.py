"""Lets a test question a client in another Python: one JSON object per line, in both directions.

A client gives `revision`, and coroutines `tools()`, `call(name, arguments, on_progress)`,
`read(uri)` and `give_up(task)`, which cancels a call in the way of its library.
"""

import asyncio
import json
import sys


class Interview:
    def __init__(self, client):
        self.client = client
        self.running = None

    async def connected(self, _):
        return {"revision": self.client.revision}

    async def list(self, _):
        return {"tools": await self.client.tools()}

    async def call(self, question):
        heard = []
        answer = await self.client.call(question["name"], question["arguments"],
                                        heard.append if question.get("listen") else None)
        return {"answer": answer, "heard": heard}

    async def read(self, question):
        return {"contents": await self.client.read(question["uri"])}

    async def start(self, question):
        self.running = asyncio.create_task(
            self.client.call(question["name"], question["arguments"], None))
        return {}

    async def give_up(self, _):
        await self.client.give_up(self.running)
        return {}

    async def answer(self, question):
        try:
            return await getattr(self, question["do"])(question)
        except Exception as error:  # whatever a library throws is for the test to judge
            return {"error": f"{type(error).__name__}: {error}"}


async def hold(client):
    """Answers until there are no more questions."""
    interview = Interview(client)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await interview.answer(json.loads(line))), flush=True)


def begin(connect):
    """`connect` is an asynchronous context manager that takes what the test has said of a server:
    transport, mode, url and headers, or command and environment."""
    async def run():
        async with connect(json.loads(sys.argv[1])) as client:
            await hold(client)
    asyncio.run(run())


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
