"""
A session of Python's SDK for MCP: `python_client.py MODE SERVER`, where SERVER is a JSON object with command, args and
env. Prints one JSON object with the answers. Version 1 of the SDK has only the mode "initialize", version 2 "legacy",
"auto" (its default) and "2026-07-28".
"""
import asyncio
import json
import sys

import mcp


def plain(result):
    return json.loads(result.model_dump_json(by_alias=True, exclude_none=True))


async def session(client, folder):
    progress = []

    async def report(done, total, message):
        progress.append(done)

    return {
        "tools": len((await client.list_tools()).tools),
        "good": plain(await client.call_tool("svc_list_collections", {})),
        "failed": plain(await client.call_tool("svc_search", {"collection": "missing", "query": "x"})),
        "long": plain(await client.call_tool("svc_index_repo", {"path": folder}, progress_callback=report)),
        "progress": progress,
    }


async def main(mode, server, folder):
    parameters = mcp.StdioServerParameters(**server)
    if mode != "initialize":
        async with mcp.Client(parameters, mode=mode) as client:
            return await session(client, folder)
    async with mcp.stdio_client(parameters) as streams, mcp.ClientSession(*streams) as client:
        await client.initialize()
        return await session(client, folder)


print(json.dumps(asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))))
