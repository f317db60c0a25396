"""What /openapi.json says, for tests that ask for every operation."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    rights: frozenset
    open: bool
    has_body: bool
    streams: bool

    def at(self, **values):
        """The path with these in place of its variables; those not named are "nothing"."""
        return re.sub(r"\{(\w+)\}", lambda found: values.get(found.group(1), "nothing"), self.path)

    @property
    def variables(self):
        return re.findall(r"\{(\w+)\}", self.path)


def operations_of(server):
    document = server.request("GET", "/openapi.json", token=False).json
    found = []
    for path, item in document["paths"].items():
        for method, one in item.items():
            answers = one["responses"].get("200", {}).get("content", {})
            found.append(Operation(
                id=one["operationId"], method=method.upper(), path=path,
                rights=frozenset(one["x-rights"].split()), open=one.get("security") == [],
                has_body="requestBody" in one, streams="text/event-stream" in answers))
    return found
