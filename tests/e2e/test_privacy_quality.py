"""How well personal data is found, by the tool module and at the border of a real server.

The set is made anew each time; its seed is printed and can be given as BELLJAR_TEST_SEED."""

import importlib.util
import os
import pathlib
import random
import sys
import time

import pytest

from support_binary import environment
from support_server import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/privacy"))
import generate  # noqa: E402  pylint: disable=wrong-import-position
import measure  # noqa: E402  pylint: disable=wrong-import-position

LINES = 6000
RECALL, PRECISION = 0.98, 0.97
HOSTILE = ("1-", "a@", "a@a.", "1", "1 ", "x", "1.", "a:", "::", "(1", "+1 ", "eyJ-", "%40",
           "555 ", "phone ", "DE", "é", "4111-", "\0")


@pytest.fixture(scope="module")
def privacy():
    """The tool module, as a program imports it."""
    spec = importlib.util.spec_from_file_location("privacy", ROOT / "tools/approved/privacy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def lines():
    seed = int(os.environ.get("BELLJAR_TEST_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    return generate.make(seed, LINES)


@pytest.fixture(scope="module")
def by_module(lines, privacy):
    return [scrub_every_type(privacy, line.text) for line in lines]


@pytest.fixture(scope="module")
def by_server(lines, session_place):
    server = Server(session_place / "quality", env=environment(BELLJAR_PRIVACY_MASK="all"))
    try:
        text = "\n".join(line.text for line in lines)
        record = server.execute("import sys\nsys.stdout.write(sys.stdin.read())", stdin=text)
        assert not record["stdout_truncated"]
        return record["stdout"].split("\n")
    finally:
        server.stop()


def scrub_every_type(privacy, text):
    for scrub in (privacy.scrub_emails, privacy.scrub_api_keys, privacy.scrub_iban,
                  privacy.scrub_credit_cards, privacy.scrub_ssn, privacy.scrub_ip_addresses,
                  privacy.scrub_mac_addresses, privacy.scrub_phone_numbers):
        text = scrub(text)
    return text


@pytest.mark.parametrize("masked", ["by_module", "by_server"])
def test_precision_and_recall(lines, masked, request):
    scores = measure.score(lines, request.getfixturevalue(masked))
    print("\n".join(measure.table(scores)))
    assert len(scores) == len(measure.MARKS)
    for kind, one in scores.items():
        assert one.found + one.missed >= 200, kind
        assert one.recall >= RECALL, (kind, one.recall, one.examples[:5])
        assert one.precision >= PRECISION, (kind, one.precision, one.examples[:5])


def test_both_find_the_same(lines, by_module, by_server):
    differing = [(line.text, one, other) for line, one, other in zip(lines, by_module, by_server)
                 if one != other]
    assert not differing, differing[:5]


@pytest.mark.parametrize("piece", HOSTILE)
def test_module_takes_linear_time(privacy, piece):
    text = piece * (500_000 // len(piece))
    begun = time.process_time()
    privacy.scrub_all_pii(text)
    assert time.process_time() - begun < 2


def test_report_and_names(privacy):
    original = "Ada Lovelace <ada@example.com> met Ada Lovelace and Alan Turing"
    scrubbed = privacy.scrub_all_pii(original)
    assert privacy.create_privacy_report(original, scrubbed) == {
        "original_length": len(original), "scrubbed_length": len(scrubbed), "emails_removed": 1,
        "redaction_count": 1, "safety_check": "PASSED"}
    assert privacy.create_privacy_report(original, original)["safety_check"] == "FAILED"
    text, names = privacy.anonymize_names(scrubbed, {"Alan Turing": "User-Z"})
    assert text == "User-B <[EMAIL_REDACTED]> met User-B and User-Z"
    assert names == {"Alan Turing": "User-Z", "Ada Lovelace": "User-B"}


def test_no_replacement_is_special(privacy):
    for mark in (r"\1", r"\g<0>", "", "€"):
        assert privacy.scrub_emails("to a@b.de", mark) == f"to {mark}"
        assert privacy.scrub_ip_addresses("10.0.0.1", mark) == mark
        assert privacy.scrub_phone_numbers("+49 30 1234567", mark) == mark
