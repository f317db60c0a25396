"""/docs in a real browser: shows the whole document, from this server alone."""

import contextlib

from support_binary import wait_until
from support_description import operations_of
from support_devtools import Page


@contextlib.contextmanager
def opened(server, place, name=""):
    with Page(place, f"http://{server.address}/docs{name}") as page:
        wait_until(lambda: page.value("document.body?.dataset.ready") == "yes", "it is shown", 60)
        yield page


def check_kept_to_itself(server, page):
    assert page.complaints == []
    shown = [url for url in page.requests if not url.startswith("data:")]
    assert shown and all(url.startswith(f"http://{server.address}/") for url in shown), shown


def test_every_operation_is_shown(server, place):
    with opened(server, place) as page:
        page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        wait_until(lambda: page.value(
            "[...document.querySelectorAll('#operations > details')]"
            ".every((one) => one.dataset.made)"), "all are made", 60)
        shown = page.value("[...document.querySelectorAll('#operations > details')]"
                           ".map((one) => one.id)")
        assert sorted(shown) == sorted(one.id for one in operations_of(server))
        text = page.value("document.body.innerText")
        assert "Runs a program in a jar of its own" in text and "undefined" not in text
        check_kept_to_itself(server, page)


def test_an_operation_is_tried(server, place):
    with opened(server, place, "#createRun") as page:
        page.value(f"document.getElementById('token').value = {server.token!r}")
        page.value("document.querySelector('#createRun button').click()")
        answer = "document.querySelector('#createRun pre').textContent"
        wait_until(lambda: page.value(answer).startswith("200 application/json"), "it ran", 60)
        assert '"stdout": "42\\n"' in page.value(answer)
        check_kept_to_itself(server, page)


def test_the_page_is_guarded(server):
    for path, kind in (("/docs", "text/html"), ("/docs/docs.js", "text/javascript"),
                       ("/docs/docs.css", "text/css")):
        answer = server.request("GET", path, token=False)
        assert answer.status == 200 and answer.headers["Content-Type"].startswith(kind)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        tag = answer.headers["ETag"]
        assert server.request("GET", path, headers={"If-None-Match": tag}).status == 304
