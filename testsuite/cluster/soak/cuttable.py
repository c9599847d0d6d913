#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A connection that can be cut: forwards one port of 127.0.0.1 to another.

    cuttable.py PORT TO-PORT

When this program is stopped (SIGSTOP), connections stay open and no data
arrives, as when a cable is pulled. When it is killed, they are reset.
"""

import asyncio
import sys


async def forward(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def accept(reader, writer, port):
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        writer.transport.abort()
        return
    await asyncio.gather(forward(reader, far_writer), forward(far_reader, writer))


async def main(port, to_port):
    server = await asyncio.start_server(
        lambda reader, writer: accept(reader, writer, to_port), "127.0.0.1", port
    )
    await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
