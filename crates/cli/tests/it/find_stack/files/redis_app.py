# Keeps a connection to Redis open until the test ends it, or for ten minutes.
import os, socket, time

def app(environ, start):
    where = '«redis»'
    if where.startswith('/'):
        db = socket.socket(socket.AF_UNIX)
        db.connect(where)
    else:
        db = socket.create_connection((where, «port»))
    open('«folder»/up-%d' % os.getpid(), 'w').close()
    for _ in range(60_000):
        db.sendall(b'PING\r\n')
        db.recv(256)
        time.sleep(0.01)
        if os.path.exists('«folder»/done'):
            break
    start('200 OK', [('Content-Length', '2')])
    return [b'ok']

if __name__ == '__main__':
    from wsgiref.simple_server import make_server
    make_server('127.0.0.1', int('«app_port»'), app).serve_forever()
