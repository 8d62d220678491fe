"""GETs with redis.asyncio, the asynchronous part of redis-py."""

import asyncio

import redis
import redis.asyncio

import loop

place = loop.place()
events = asyncio.new_event_loop()
client = redis.asyncio.Redis(host=place.host, port=place.port, password=place.password)

loop.serve(
    place,
    f"redis-py {redis.__version__} (asyncio)",
    lambda key: events.run_until_complete(client.get(f"looptax:{key:012d}")),
)
events.run_until_complete(client.aclose())
events.close()
