"""GETs with redis-py in its default form: without hiredis, and without a configured time limit."""

import redis

import loop

place = loop.place()
if place.socket is None:
    client = redis.Redis(host=place.host, port=place.port, password=place.password)
else:
    client = redis.Redis(unix_socket_path=place.socket, password=place.password)


def get(key):
    return client.get(f"looptax:{key:012d}")


loop.serve(place, f"redis-py {redis.__version__}", get)
