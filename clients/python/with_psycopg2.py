"""Point selects with psycopg2, which prepares nothing."""

import psycopg2

import loop

place = loop.place()
connection = psycopg2.connect(**place.libpq())
connection.autocommit = True
cursor = connection.cursor()


def point_select(key):
    cursor.execute("SELECT c FROM sbtest1 WHERE id = %s", (key,))
    return cursor.fetchone()[0]


loop.serve(place, f"psycopg2 {psycopg2.__version__.split()[0]}", point_select)
