"""Point selects with psycopg 3, which prepares a statement by itself after some executions."""

import psycopg

import loop

place = loop.place()
cursor = psycopg.connect(autocommit=True, **place.libpq()).cursor()


def point_select(key):
    cursor.execute("SELECT c FROM sbtest1 WHERE id = %s", (key,))
    return cursor.fetchone()[0]


implementation = psycopg.pq.__impl__
loop.serve(place, f"psycopg {psycopg.__version__} ({implementation})", point_select)
