"""Point selects with aiomysql, over the streams of asyncio."""

import asyncio

import aiomysql

import loop

place = loop.place()
events = asyncio.new_event_loop()
connection = events.run_until_complete(
    aiomysql.connect(
        host=place.host, port=place.port, user=place.user, password=place.password, db=place.database
    )
)


async def point_select(key):
    async with connection.cursor() as cursor:
        await cursor.execute("SELECT c FROM sbtest1 WHERE id = %s", (key,))
        return (await cursor.fetchone())[0]


loop.serve(
    place, f"aiomysql {aiomysql.__version__}", lambda key: events.run_until_complete(point_select(key))
)
events.run_until_complete(connection.ensure_closed())
events.close()
