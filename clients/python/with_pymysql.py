"""Point selects with PyMySQL, which prepares nothing."""

import importlib.metadata

import pymysql

import loop

place = loop.place()
connection = pymysql.connect(**place.mysql())
cursor = connection.cursor()
# The attribute of the module contains the version of mysqlclient, which PyMySQL can replace.
version = importlib.metadata.version("PyMySQL")


def point_select(key):
    cursor.execute("SELECT c FROM sbtest1 WHERE id = %s", (key,))
    return cursor.fetchone()[0]


loop.serve(place, f"PyMySQL {version}", point_select)
connection.close()
