"""Lists the tools of a server and calls some, with the protocol's own client: PROGRAM MODE CALLS."""

import asyncio
import json
import os
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(program: str, mode: str, calls: str) -> None:
    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(server), mode=mode) as client:
        tools = (await client.list_tools()).tools
        for tool in tools:
            assert tool.annotations and tool.annotations.read_only_hint and tool.output_schema, tool.name
        # It raises an error if a result does not fit the tool's schema.
        results = [await client.call_tool(name, arguments) for name, arguments in json.loads(calls)]
        answer = {
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools],
            "results": [json.loads(result.model_dump_json(by_alias=True)) for result in results],
        }
    print(json.dumps(answer))


asyncio.run(main(*sys.argv[1:]))
