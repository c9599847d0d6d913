#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy between a controller and its database that loses answers.

    flaky_proxy.py LISTEN_PORT SERVER_PORT EVERY_MS SEED [BYTES_PER_SECOND]

About every EVERY_MS milliseconds it cuts all connections: some at once, some
after it has passed a request on and kept the answer, some in the middle of a
request. Between two cuts it only passes bytes on, to the server no more than so
many in a second.
"""
import asyncio
import random
import sys

listen_port, server_port, every_ms, seed = (int(a) for a in sys.argv[1:5])
rate = int(sys.argv[5]) if len(sys.argv) > 5 else 0
chance = random.Random(seed)
pairs = []


class Pair:
    def __init__(self, client, server):
        self.writers = (client, server)
        self.keeps_answers = False
        self.halves = False

    def cut(self):
        for writer in self.writers:
            writer.transport.abort()


async def pass_on(pair, reader, writer, is_answer):
    try:
        while data := await reader.read(65536):
            if is_answer and pair.keeps_answers:
                continue
            if not is_answer and pair.halves and len(data) > 1:
                writer.write(data[: len(data) // 2])
                await writer.drain()
                break
            writer.write(data)
            await writer.drain()
            if rate and not is_answer:
                await asyncio.sleep(len(data) / rate)
    except OSError:
        pass
    if not pair.keeps_answers:
        pair.cut()


async def serve(client_reader, client_writer):
    try:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", server_port)
    except OSError:
        client_writer.transport.abort()
        return
    pair = Pair(client_writer, server_writer)
    pairs.append(pair)
    await asyncio.gather(
        pass_on(pair, client_reader, server_writer, False),
        pass_on(pair, server_reader, client_writer, True),
    )
    pairs.remove(pair)


async def cut_now_and_then():
    while True:
        await asyncio.sleep(every_ms / 1000 * chance.uniform(0.5, 1.5))
        how = chance.choice(["now", "answer", "half"])
        doomed = list(pairs)
        for pair in doomed:
            pair.keeps_answers = how == "answer"
            pair.halves = how == "half"
        if how != "now":
            await asyncio.sleep(0.1)
        for pair in doomed:
            pair.cut()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", listen_port)
    async with server:
        await asyncio.gather(server.serve_forever(), cut_now_and_then())


asyncio.run(main())
