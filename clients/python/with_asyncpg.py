"""Point selects with asyncpg: one prepared statement."""

import asyncio

import asyncpg

import loop

place = loop.place()
events = asyncio.new_event_loop()
connection = events.run_until_complete(
    asyncpg.connect(
        host=place.host, port=place.port, user=place.user, password=place.password, database=place.database
    )
)
statement = events.run_until_complete(connection.prepare("SELECT c FROM sbtest1 WHERE id = $1"))

loop.serve(
    place,
    f"asyncpg {asyncpg.__version__}",
    lambda key: events.run_until_complete(statement.fetchval(key)),
)
events.run_until_complete(connection.close())
events.close()
