"""Django, in one file: a model, a view, and a transaction. An application has them in models.py, views.py and urls.py."""

import base64
import hashlib
import hmac
import json
import os
import secrets
import sys
import time

import django
from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ.get("BOOKINGS", "bookings.db"),
            "OPTIONS": {"timeout": 1},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF=__name__,
    SECRET_KEY=secrets.token_hex(),
    # The error pages of DEBUG show the settings, such as the secret.
    DEBUG=False,
)
django.setup()

from django.core.management import execute_from_command_line
from django.db import DatabaseError, connection, models, transaction
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

KNOWN = {"disbursement.completed", "disbursement.failed", "checkout.completed", "checkout.failed", "checkout.cancelled"}
NAMES = ("WEBHOOK_SECRET", "WEBHOOK_SECRET_OLD")
KEYS = [base64.b64decode(os.environ[name].removeprefix("whsec_")) for name in NAMES if os.environ.get(name)]


class Booking(models.Model):
    # The primary key makes a second booking of an event fail.
    id = models.CharField(primary_key=True, max_length=200)
    event = models.CharField(max_length=100)
    reference = models.CharField(max_length=200)
    merchantsReference = models.CharField(max_length=200)
    amount = models.BigIntegerField()

    class Meta:
        app_label = "bookings"


def is_authentic(headers, body):
    webhook_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not webhook_id or not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    valid = ["v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in KEYS]
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in given for other in valid)


@csrf_exempt
@require_POST
def webhooks(request):
    # The bytes as they came: request.POST or a JSON parser would lose what the signature covers.
    if not is_authentic(request.headers, request.body):
        return HttpResponse(status=400)
    try:
        webhook = json.loads(request.body)
        event, data = webhook["event"], webhook["data"]
    except (ValueError, KeyError, TypeError):
        return HttpResponse(status=400)
    if event not in KNOWN:
        return HttpResponse(status=204)
    values = {name: data[name] for name in ("reference", "merchantsReference", "amount")}
    try:
        with transaction.atomic():
            # What the event asks for belongs into this transaction too.
            Booking.objects.get_or_create(id=request.headers["webhook-id"], defaults={"event": event, **values})
    except DatabaseError:
        return HttpResponse(status=500)
    return HttpResponse(status=204)


@require_GET
def effects(_request):
    return JsonResponse(list(Booking.objects.values()), safe=False)


urlpatterns = [path("webhooks", webhooks), path("effects", effects)]

if __name__ == "__main__":
    # An application runs its migrations instead.
    if Booking._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(Booking)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
    connection.close()
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", f"127.0.0.1:{os.environ['PORT']}"])
