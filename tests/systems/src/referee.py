# Asks AWS's API through boto3, on behalf of tests: a line of JSON in, a line of JSON out.
import base64
import datetime
import json
import sys

import boto3
import botocore.config
import botocore.exceptions

(url,) = sys.argv[1:]
# Of one key; each test has its own.
clients = {}
owner = None


def client(service, key, secret):
    global owner
    if owner != (key, secret):
        owner = (key, secret)
        clients.clear()
    if service not in clients:
        clients[service] = boto3.client(
            service,
            endpoint_url=url,
            region_name="eu-west-1",
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            config=botocore.config.Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
        )
    return clients[service]


def plain(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if hasattr(value, "read"):
        value = value.read()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return str(value)


for line in sys.stdin:
    service, call, arguments, key, secret = json.loads(line)
    try:
        answer = getattr(client(service, key, secret), call)(**arguments)
        answer.pop("ResponseMetadata", None)
        result = {"ok": answer}
    except botocore.exceptions.ClientError as error:
        result = {"error": error.response["Error"]["Code"]}
    except Exception as error:
        result = {"error": repr(error)}
    print(json.dumps(result, default=plain), flush=True)
