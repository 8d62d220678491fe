# Keeps a connection to PostgreSQL open until the test ends it, or for ten minutes.
import os, time
import psycopg2

def app(environ, start):
    db = psycopg2.connect(host='«host»', port=«pg_port», user='«user»', password='«password»', dbname='«database»', sslmode='disable')
    db.autocommit = True
    open('«folder»/up-%d' % os.getpid(), 'w').close()
    for _ in range(60_000):
        db.cursor().execute('SELECT 1')
        time.sleep(0.01)
        if os.path.exists('«folder»/done'):
            break
    start('200 OK', [('Content-Length', '2')])
    return [b'ok']
