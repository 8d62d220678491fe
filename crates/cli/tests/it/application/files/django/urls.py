from django.db import connection
from django.http import HttpResponse
from django.urls import path


def ask(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return HttpResponse(cursor.fetchone()[0], content_type="text/plain")


urlpatterns = [
    path("", lambda request: ask("SELECT text FROM greetings")),
    path("way", lambda request: ask("SELECT coalesce(host(inet_client_addr()), 'socket')")),
]
