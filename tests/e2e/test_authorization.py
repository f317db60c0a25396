"""Who may do what: named tokens, roles, OAuth access tokens, and pages in browsers."""

import base64
import hashlib
import hmac
import json
import os
import stat
import subprocess
import time

import pytest

from support_binary import BINARY, COMMAND_SECONDS, belljar, environment, wait_until
from support_mcp import request
from support_oauth import ISSUER, Key, KeyServer, write_certificate
from support_server import Server

METADATA = "/.well-known/oauth-protected-resource"


def token_command(data, *words, stdin=None):
    return subprocess.run([str(BINARY), "token", *map(str, words), "--data-dir", str(data)],
                          input=stdin, capture_output=True, env=environment(),
                          timeout=COMMAND_SECONDS)


def make_token(data, name, *options):
    ended = token_command(data, "create", name, *options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode().strip()


def ask(server, token, method="POST", path="/execute", body=None, headers=None):
    if method == "POST" and body is None:
        body = {"code": "6*7"}
    sent = {"Authorization": f"Bearer {token}", **(headers or {})} if token else headers
    return server.request(method, path, body, sent, token=False)


# Named tokens


def test_a_token_is_shown_once_and_kept_as_a_hash(own_server):
    server = own_server()
    token = make_token(server.data_directory, "ci")
    file = server.data_directory / "tokens" / "tokens.json"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    kept = file.read_text()
    assert token not in kept and hashlib.sha256(token.encode()).hexdigest() in kept
    listed = token_command(server.data_directory, "list", "--json")
    assert token.encode() not in listed.stdout
    [one] = json.loads(listed.stdout)["tokens"]
    assert (one["name"], one["roles"], one["expires"]) == ("ci", ["user"], None)
    assert ask(server, token).json["result"] == 42
    assert token not in server.errors + server.greeting


def test_a_token_from_before_the_first_start_works(own_server, place):
    data = place / "early"
    token = make_token(data, "early", "--role", "admin")
    server = own_server(data_directory=data)
    assert ask(server, token).json["result"] == 42
    later = make_token(data, "later")
    assert ask(server, later).json["result"] == 42


def test_a_revoked_token_is_refused_at_once(own_server):
    server = own_server()
    token = make_token(server.data_directory, "ci")
    other = make_token(server.data_directory, "other")
    assert ask(server, token).status == 200
    ended = token_command(server.data_directory, "revoke", "ci")
    assert ended.returncode == 0, ended.stderr
    answer = ask(server, token)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="belljar"'
    assert ask(server, other).status == 200
    assert token_command(server.data_directory, "revoke", "ci").returncode == 1


def test_a_token_expires(own_server):
    server = own_server()
    token = make_token(server.data_directory, "brief", "--expires", "2s")
    assert ask(server, token).status == 200
    wait_until(lambda: ask(server, token, "GET", "/nothing").status == 401,
               "the token expires", 10)
    assert "expired" in ask(server, token).json["error"]
    listed = json.loads(token_command(server.data_directory, "list", "--json").stdout)
    assert listed["tokens"][0]["expired"] is True


ROLES = {
    # path: who is let through
    ("POST", "/execute"): {"admin", "operator", "user"},
    ("POST", "/v1/runs"): {"admin", "operator", "user"},
    ("POST", "/v1/runs:batch"): {"admin", "operator", "user"},
    ("GET", "/v1/sessions"): {"admin", "operator", "user"},
    ("GET", "/v1/runs/00000000-0000-4000-8000-000000000000/output"): {"admin", "operator", "user"},
    ("GET", "/metrics"): {"admin", "operator", "auditor"},
    ("GET", "/v1/runners"): {"admin", "operator", "user", "auditor", "log-analysis"},
}


def test_roles_are_enforced(own_server):
    server = own_server()
    roles = ["admin", "operator", "user", "auditor", "log-analysis"]
    tokens = {role: make_token(server.data_directory, f"t-{role}", "--role", role)
              for role in roles}
    for (method, path), allowed in ROLES.items():
        for role, token in tokens.items():
            answer = ask(server, token, method, path)
            assert (answer.status != 403) == (role in allowed), (method, path, role, answer)
            if answer.status == 403:
                assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
                assert "missing:" in answer.json["error"]
    answer = ask(server, None, "GET", "/metrics")
    assert answer.status == 401


def test_the_one_token_still_has_every_right(server):
    for method, path in ROLES:
        assert server.request(method, path, {"code": "1"} if method == "POST" else None
                              ).status != 403, path


def test_principals_do_not_see_each_others_sessions(own_server):
    server = own_server()
    ada = make_token(server.data_directory, "ada")
    ben = make_token(server.data_directory, "ben")
    made = ask(server, ada, path="/v1/sessions", body={})
    assert made.status == 201, made
    session = made.json["session_id"]
    assert ask(server, ada, "GET", f"/v1/sessions/{session}").status == 200
    assert ask(server, ben, "GET", f"/v1/sessions/{session}").status == 404
    assert ask(server, ben, "DELETE", f"/v1/sessions/{session}").status == 404
    assert ask(server, ben, "GET", "/v1/sessions").json["sessions"] == []
    assert ask(server, ben, body={"code": "1", "session_id": session}).status == 404
    assert ask(server, ada, "DELETE", f"/v1/sessions/{session}").status == 200


@pytest.mark.parametrize(("words", "said"), [
    (["create", "a b"], b"letters, digits"),
    (["create", "oauth:ada"], b"letters, digits"),
    (["create", "a", "--role", "not a role"], b"admin, operator, user, auditor"),
    (["create", "a", "--expires", "soon"], b"30d"),
    (["create", "a", "--expires", "0d"], b"30d"),
    (["revoke", "nobody"], b"no token of this name")])
def test_odd_tokens_are_refused_in_words(place, words, said):
    ended = token_command(place / "data", *words)
    assert ended.returncode == 1 and said in ended.stderr, ended.stderr
    assert ended.stdout == b""


def test_a_token_may_have_the_name_of_a_command(place):
    ended = belljar("token", "--data-dir", place / "data", "create", "run", "--role", "user",
                    "--expires", "1h", "--json")
    assert ended.returncode == 0, ended.stderr
    made = json.loads(ended.stdout)
    assert (made["name"], made["roles"]) == ("run", ["user"])
    assert made["expires"] is not None


def test_a_name_is_given_once(place):
    make_token(place / "data", "a")
    ended = token_command(place / "data", "create", "a")
    assert ended.returncode == 1 and b"revoke it first" in ended.stderr


def test_a_token_of_ones_own_must_be_long(own_server):
    server = own_server()
    short = token_command(server.data_directory, "create", "a", "--token-stdin", stdin=b"x" * 31)
    assert short.returncode == 1 and b"32" in short.stderr
    own = "my-own-token-" + "x" * 19
    ended = token_command(server.data_directory, "create", "a", "--token-stdin",
                          stdin=own.encode() + b"\n")
    assert ended.returncode == 0, ended.stderr
    assert ask(server, own).status == 200


def test_many_commands_at_once_lose_no_token(place):
    names = [f"t{number}" for number in range(6)]
    started = [subprocess.Popen([str(BINARY), "token", "create", name, "--data-dir",
                                 str(place / "data")], stdout=subprocess.PIPE, env=environment())
               for name in names]
    assert len({one.communicate(timeout=COMMAND_SECONDS)[0] for one in started}) == len(names)
    listed = json.loads(token_command(place / "data", "list", "--json").stdout)["tokens"]
    assert sorted(one["name"] for one in listed) == names


def test_a_file_of_tokens_that_others_can_read_is_not_believed(own_server):
    server = own_server()
    token = make_token(server.data_directory, "ci")
    file = server.data_directory / "tokens" / "tokens.json"
    file.chmod(0o644)
    assert ask(server, token).status == 401
    assert ask(server, server.token).status == 200
    assert "chmod 600" in server.errors
    file.chmod(0o600)
    assert ask(server, token).status == 200


# Access tokens


@pytest.fixture
def keys():
    with KeyServer(Key("r1"), Key("e1", "ES256")) as server:
        yield server


@pytest.fixture(scope="module")
def lasting_keys():
    with KeyServer(Key("r1"), Key("e1", "ES256")) as server:
        yield server


@pytest.fixture(scope="module")
def oauth_server(session_place, lasting_keys):
    """One server with access tokens for all tests that do not change its keys."""
    started = Server(session_place / "oauth", "--auth", "oauth", env=environment(
        BELLJAR_AUTH_ISSUER=ISSUER, BELLJAR_AUTH_JWKS_URL=lasting_keys.url))
    # Answers when every language has been tried out, so that no jar of that outlives a test.
    assert started.request("GET", "/v1/runners").status == 200
    yield started
    assert started.stop() == 0


def start_oauth(own_server, **variables):
    return own_server("--auth", "oauth",
                      env=environment(BELLJAR_AUTH_ISSUER=ISSUER, **variables))


def audience(server):
    return f"http://{server.address}/mcp"


def test_access_tokens_are_taken(oauth_server, lasting_keys):
    for key in lasting_keys.keys:
        answer = ask(oauth_server, key.token(audience(oauth_server)))
        assert answer.status == 200 and answer.json["result"] == 42, answer
    listed = [audience(oauth_server), "https://other.example"]
    assert ask(oauth_server, lasting_keys.keys[0].token(listed)).status == 200
    assert ask(oauth_server, oauth_server.token).status == 200, "static tokens work, too"
    assert ask(oauth_server, make_token(oauth_server.data_directory, "ci")).status == 200


def test_clients_find_the_authorization_server(oauth_server):
    answer = ask(oauth_server, None, path="/mcp", body={})
    assert answer.status == 401
    base = f"http://{oauth_server.address}"
    assert answer.headers["WWW-Authenticate"] == (
        f'Bearer resource_metadata="{base}{METADATA}/mcp", scope="run:exec"')
    for path in (METADATA, METADATA + "/mcp"):
        document = ask(oauth_server, None, "GET", path)
        assert document.status == 200
        assert document.json["resource"] == f"{base}/mcp"
        assert document.json["authorization_servers"] == [ISSUER]
        assert document.json["bearer_methods_supported"] == ["header"]
        assert "run:exec" in document.json["scopes_supported"]
    assert ask(oauth_server, None, "POST", METADATA).status == 405
    for path in ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"):
        assert ask(oauth_server, None, "GET", path).status == 404
    assert ask(oauth_server, None, "POST", "/register").status == 404


@pytest.mark.parametrize("path", [METADATA, METADATA + "/mcp", "/.well-known/anything"])
def test_without_oauth_there_is_nothing_to_find(server, path):
    assert ask(server, None, "GET", path).status == 404
    assert ask(server, None, "POST", "/register").status == 404


def forged(server, header, claims=None):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    content = {"iss": ISSUER, "aud": audience(server), "sub": "root", "scope": "admin",
               "exp": int(time.time()) + 300, **(claims or {})}
    return f"{part(header)}.{part(content)}"


def hs256(server, key):
    """The public key as the secret of a signature that needs one."""
    text = forged(server, {"alg": "HS256", "kid": key.id})
    secret = json.dumps(key.published()).encode()
    signature = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return text + "." + base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


BAD_TOKENS = {
    "no signature": lambda s, k: forged(s, {"alg": "none", "kid": "r1"}) + ".",
    "none with a signature": lambda s, k: forged(s, {"alg": "none", "kid": "r1"}) + ".AAAA",
    "public key as secret": hs256,
    "another key": lambda s, k: Key("r1").token(audience(s)),
    "unknown key": lambda s, k: k.token(audience(s), {"kid": "r9"}),
    "expired": lambda s, k: k.token(audience(s), exp=int(time.time()) - 60),
    "never expires": lambda s, k: k.token(audience(s), exp=None),
    "not yet": lambda s, k: k.token(audience(s), nbf=int(time.time()) + 300),
    "another audience": lambda s, k: k.token("https://other.example/mcp"),
    "no audience": lambda s, k: k.token(None),
    "another issuer": lambda s, k: k.token(audience(s), iss="https://evil.example"),
    "nobody": lambda s, k: k.token(audience(s), sub=None),
    "critical extension": lambda s, k: k.token(audience(s), {"crit": ["x"], "x": 1}),
    "cut": lambda s, k: k.token(audience(s))[:-9],
    "no base64": lambda s, k: k.token(audience(s)) + "!",
    "huge": lambda s, k: k.token(audience(s), filler="x" * 15000),
    "empty parts": lambda s, k: "..",
}


def test_bad_access_tokens_are_refused(oauth_server, lasting_keys):
    for name, make in BAD_TOKENS.items():
        answer = ask(oauth_server, make(oauth_server, lasting_keys.keys[0]))
        if name == "unknown key" and answer.status == 503:
            continue  # keys are being fetched
        assert answer.status == 401, (name, answer)
        challenge = answer.headers["WWW-Authenticate"]
        assert 'error="invalid_token"' in challenge and "resource_metadata=" in challenge, name
    assert ask(oauth_server, lasting_keys.keys[0].token(audience(oauth_server))).status == 200


def test_a_token_in_the_query_is_none(oauth_server, lasting_keys):
    token = lasting_keys.keys[0].token(audience(oauth_server))
    for name in ("access_token", "token"):
        assert ask(oauth_server, None, "GET", f"/v1/runners?{name}={token}").status == 401


def test_scopes_are_enforced(oauth_server, lasting_keys):
    token = lasting_keys.keys[0].token(audience(oauth_server), scope="files:read openid")
    answer = ask(oauth_server, token)
    assert answer.status == 403
    base = f"http://{oauth_server.address}"
    assert answer.headers["WWW-Authenticate"] == (
        'Bearer error="insufficient_scope", scope="run:exec files:read", '
        f'resource_metadata="{base}{METADATA}/mcp", '
        'error_description="this caller has no right to do that; missing: run:exec"')
    assert ask(oauth_server, token, "GET", "/v1/runners").status == 200
    nothing = lasting_keys.keys[0].token(audience(oauth_server), scope=None)
    assert ask(oauth_server, nothing).status == 403
    running = lasting_keys.keys[0].token(audience(oauth_server), scope="run:exec")
    answer = ask(oauth_server, running, body={"code": "1", "session": True})
    assert answer.status == 403 and "sessions" in answer.json["error"]
    for tool, arguments in (("execute_code", {"code": "1", "session": True}),
                            ("start_run", {"code": "1", "session_id": "a"}),
                            ("execute_batch", {"runs": [{"code": "1", "session": True}]})):
        answer = ask(oauth_server, running, path="/mcp", headers={
            "Accept": "application/json, text/event-stream"}, body=request(
                1, "tools/call", name=tool, arguments=arguments))
        assert answer.status == 403 and 'scope="' in answer.headers["WWW-Authenticate"], tool
        assert "sessions" in answer.headers["WWW-Authenticate"], tool
    answer = ask(oauth_server, running, body={
        "tool": "execute_code", "arguments": {"code": "1", "session": True}})
    assert answer.status == 403 and "sessions" in answer.headers["WWW-Authenticate"]
    metrics = lasting_keys.keys[0].token(audience(oauth_server), scope="metrics:read")
    assert ask(oauth_server, metrics, "GET", "/metrics").status == 200


def test_roles_can_come_from_a_claim(own_server, keys):
    server = start_oauth(own_server, BELLJAR_AUTH_JWKS_URL=keys.url,
                         BELLJAR_AUTH_ROLES_CLAIM="realm_access.roles",
                         BELLJAR_AUTH_AUDIENCE="belljar")
    token = keys.keys[0].token("belljar", scope=None, realm_access={"roles": ["operator", "x"]})
    assert ask(server, token).status == 200
    assert ask(server, token, "GET", "/metrics").status == 200
    assert ask(server, keys.keys[0].token(audience(server))).status == 401


def test_roles_of_access_tokens_choose_the_profile(own_server, keys, place):
    policy = place / "policy.toml"
    policy.write_text('[tool_sets.analysts]\nprofile = "basic"\n')
    server = start_oauth(own_server, BELLJAR_AUTH_JWKS_URL=keys.url,
                         BELLJAR_AUTH_ROLES_CLAIM="roles", BELLJAR_AUTH_AUDIENCE="belljar",
                         BELLJAR_POLICY_PATH=str(policy))
    for roles, profile in ((["user"], "standard"), (["user", "analysts"], "basic")):
        token = keys.keys[0].token("belljar", scope=None, roles=roles)
        assert ask(server, token).json["profile"] == profile


def test_subjects_are_principals_of_their_own(oauth_server, lasting_keys):
    scope = "run:exec sessions"
    ada = lasting_keys.keys[0].token(audience(oauth_server), scope=scope)
    ben = lasting_keys.keys[0].token(audience(oauth_server), scope=scope, sub="ben")
    named = make_token(oauth_server.data_directory, "ada")
    session = ask(oauth_server, ada, path="/v1/sessions", body={}).json["session_id"]
    again = lasting_keys.keys[1].token(audience(oauth_server), scope=scope)
    assert ask(oauth_server, again, "GET", f"/v1/sessions/{session}").status == 200
    for token in (ben, named):
        assert ask(oauth_server, token, "GET", f"/v1/sessions/{session}").status == 404
    assert ask(oauth_server, ada, "DELETE", f"/v1/sessions/{session}").status == 200


def test_new_keys_are_fetched_when_they_are_used(own_server, keys):
    server = start_oauth(own_server, BELLJAR_AUTH_JWKS_URL=keys.url)
    old, new = keys.keys[0], Key("r2")
    asked = keys.asked
    keys.keys = [new]
    token = new.token(audience(server))

    def is_taken():
        answer = ask(server, token)
        assert answer.status in (200, 401, 503), answer
        assert answer.status != 503 or answer.headers["Retry-After"] == "1"
        return answer.status == 200

    wait_until(is_taken, "the new key is used", 20)
    assert ask(server, old.token(audience(server))).status == 401
    for _ in range(20):
        assert ask(server, new.token(audience(server), {"kid": "r9"})
                   ).status in (401, 503)
    assert keys.asked - asked <= 4, "unknown keys are no lever to make it fetch"


@pytest.mark.parametrize("answer", [
    (500, b"{}"), (404, b""), (200, b""), (200, b"{}"), (200, b"x" * 300_000),
    (302, b""), (200, b'{"keys": [{"kty": "oct", "k": "AAAA", "kid": "r1"}]}')])
def test_without_keys_no_access_token_is_taken(own_server, keys, answer):
    keys.answer = answer
    server = start_oauth(own_server, BELLJAR_AUTH_JWKS_URL=keys.url)
    assert ask(server, keys.keys[0].token(audience(server))).status in (401, 503)
    assert ask(server, server.token).status == 200
    assert "could not be fetched" in server.errors


def test_a_key_server_that_is_down_stops_nobody_else(own_server, keys):
    token_url = keys.url
    keys.server.server_close()
    server = start_oauth(own_server, BELLJAR_AUTH_JWKS_URL=token_url)
    assert ask(server, server.token).status == 200
    assert ask(server, keys.keys[0].token(audience(server))).status in (401, 503)


def test_keys_over_tls_need_a_certificate_that_is_vouched_for(own_server, place):
    certificate = write_certificate(place)
    with KeyServer(Key("r1"), tls=certificate) as keys:
        trusting = start_oauth(own_server, BELLJAR_AUTH_JWKS_URL=keys.url,
                               SSL_CERT_FILE=str(certificate))
        assert ask(trusting, keys.keys[0].token(audience(trusting))).status == 200
        doubting = start_oauth(own_server, BELLJAR_AUTH_JWKS_URL=keys.url)
        assert ask(doubting, keys.keys[0].token(audience(doubting))).status in (401, 503)
        assert "TLS handshake" in doubting.errors


def test_keys_from_a_file_are_read_again(own_server, place):
    first, second = Key("r1"), Key("r2")
    file = place / "keys.json"
    file.write_text(json.dumps({"keys": [first.published()]}))
    server = start_oauth(own_server, BELLJAR_AUTH_JWKS_PATH=file)
    assert ask(server, first.token(audience(server))).status == 200
    assert ask(server, second.token(audience(server))).status == 401
    file.write_text(json.dumps({"keys": [second.published()]}))
    wait_until(lambda: ask(server, second.token(audience(server))).status == 200,
               "the file is read again", 10)
    assert ask(server, first.token(audience(server))).status == 401


@pytest.mark.parametrize(("variables", "said"), [
    ({}, "auth.jwks_url"),
    ({"BELLJAR_AUTH_JWKS_URL": "http://login.example/keys"}, "use https"),
    ({"BELLJAR_AUTH_JWKS_URL": "http://127.0.0.1@login.example/"}, "auth.jwks_url"),
    ({"BELLJAR_AUTH_JWKS_PATH": "/nowhere/keys.json"}, "auth.jwks_path"),
    ({"BELLJAR_AUTH_JWKS_PATH": "/dev/null"}, "auth.jwks_path"),
    ({"BELLJAR_AUTH_JWKS_URL": "https://a.example/", "BELLJAR_AUTH_ALGORITHMS": "HS256"}, "HS256"),
    ({"BELLJAR_AUTH_JWKS_URL": "https://a.example/", "BELLJAR_SERVER_LISTEN": ":0"},
     "server.public_base_url")])
def test_settings_that_do_not_fit_stop_the_start(place, variables, said):
    listen = [] if "BELLJAR_SERVER_LISTEN" in variables else ["--listen", "127.0.0.1:0"]
    ended = subprocess.run([str(BINARY), "serve", "--auth", "oauth", "--data-dir",
                            str(place / "data"), *listen], capture_output=True,
                           env=environment(BELLJAR_AUTH_ISSUER=ISSUER, **variables),
                           timeout=COMMAND_SECONDS)
    assert ended.returncode == 1 and said.encode() in ended.stderr, ended.stderr


# Pages in browsers


def test_a_page_of_an_allowed_origin_may_ask(server):
    headers = {"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "authorization, content-type"}
    answer = ask(server, None, "OPTIONS", "/mcp", headers=headers)
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"
    allowed = answer.headers["Access-Control-Allow-Headers"]
    for name in ("content-type", "authorization", "mcp-protocol-version", "mcp-method",
                 "mcp-name", "mcp-session-id", "last-event-id"):
        assert name in allowed
    origin = {"Origin": "http://localhost:3000"}
    for token, status in ((server.token, 200), ("wrong", 401)):
        answer = ask(server, token, headers=origin)
        assert answer.status == status
        assert answer.headers["Access-Control-Allow-Origin"] == origin["Origin"]
        assert "www-authenticate" in answer.headers["Access-Control-Expose-Headers"]
        assert "Origin" in answer.headers["Vary"]


def test_a_stream_can_be_read_by_a_page(server):
    answer = ask(server, server.token, path="/v1/runs", headers={
        "Origin": "http://localhost:3000", "Accept": "text/event-stream"})
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"


def test_other_pages_are_told_nothing(server):
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = ask(server, None, "OPTIONS", "/mcp", headers=headers)
    assert answer.status == 403
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "Access-Control-Allow-Origin" not in ask(server, server.token).headers
