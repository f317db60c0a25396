"""What Schemathesis has to know about bodies of this interface."""

import schemathesis


@schemathesis.serializer("application/zip")
def as_it_is(_, value):
    """Anything but an archive, nearly always: that is what is to be refused."""
    if isinstance(value, bytes):
        return value
    return getattr(value, "data", None) or str(value).encode()
