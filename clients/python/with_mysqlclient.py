"""Point selects with mysqlclient, over MariaDB's C library."""

import importlib.metadata

import MySQLdb

import loop

place = loop.place()
where = {name: value for name, value in place.mysql().items() if value is not None}
connection = MySQLdb.connect(**where)
cursor = connection.cursor()


def point_select(key):
    cursor.execute("SELECT c FROM sbtest1 WHERE id = %s", (key,))
    return cursor.fetchone()[0]


loop.serve(place, f"mysqlclient {importlib.metadata.version("mysqlclient")} over {MySQLdb.get_client_info()}", point_select)
connection.close()
