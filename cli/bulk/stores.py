"""What pyarrow's file systems cannot do on S3: put an object if there is none, copy in one request."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from typing import Final

CONFLICT_TRIES: Final = 5
PRESENT: Final = 412  # HTTP: Precondition Failed
MISSING: Final = 404
CONFLICT: Final = 409  # another such request is being handled: try again


def has_client() -> bool:
    """Whether boto3 is installed."""
    from importlib.util import find_spec

    return find_spec("boto3") is not None


def is_s3(place: str) -> bool:
    """Whether a place is on S3."""
    return place.startswith("s3://")


def create_object(place: str, path: str, data: bytes) -> bool:
    """Put the object at `path` (bucket/key) if there is none; whether it was put. Raises OSError.

    `place` is a URI in the same store, for its options.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, key = path.partition("/")
    for tries in range(CONFLICT_TRIES):
        try:
            client(place).put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
            return True
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if status == PRESENT:
                return False
            if status != CONFLICT or tries + 1 == CONFLICT_TRIES:
                raise OSError(f"s3://{path}: {error}") from error
        except BotoCoreError as error:
            raise OSError(f"s3://{path}: {error}") from error
    return False


def copy_object(place: str, source: str, target: str) -> bool:
    """Copy an object, both as bucket/key; whether there is one. Raises OSError."""
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, key = target.partition("/")
    from_bucket, _, from_key = source.partition("/")
    try:
        client(place).copy_object(Bucket=bucket, Key=key, CopySource={"Bucket": from_bucket, "Key": from_key})
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == MISSING:
            return False
        raise OSError(f"s3://{source}: {error}") from error
    except BotoCoreError as error:
        raise OSError(f"s3://{source}: {error}") from error
    return True


def delta_place(place: str) -> tuple[str, dict[str, str]]:
    """A place and the options of its store as the deltalake package takes them."""
    if not is_s3(place):
        return place.partition("?")[0], {}
    split = urlsplit(place)
    endpoint, region, key, secret = _options(place)
    options = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": region,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ALLOW_HTTP": "true" if endpoint.startswith("http:") else "",
    }
    return f"s3://{split.hostname}{split.path}", {name: value for name, value in options.items() if value}


def client(place: str) -> Any:
    """A client for the store of an S3 URI, with the options in it that pyarrow has too."""
    return _client(*_options(place))


def _options(place: str) -> tuple[str, str, str, str]:
    """Endpoint, region, key and secret in an S3 URI; "" for what it does not have."""
    split = urlsplit(place)
    options = {name: values[-1] for name, values in parse_qs(split.query).items()}
    endpoint = options.get("endpoint_override", "")
    if endpoint and "://" not in endpoint:
        endpoint = f"{options.get('scheme', 'https')}://{endpoint}"
    return endpoint, options.get("region", ""), unquote(split.username or ""), unquote(split.password or "")


@cache
def _client(endpoint: str, region: str, key: str, secret: str) -> Any:
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=endpoint or None,
        region_name=region or None,
        aws_access_key_id=key or None,
        aws_secret_access_key=secret or None,
    )
