"""The official conformance suite against `belljar serve --conformance`; a scenario is a test.

No failure is expected anywhere. A scenario that the suite itself skips proves nothing and fails;
its warnings, which are about recommendations, are shown.
"""

import pytest

from official_suite import CHECK_OF_ALL, Results
from support_server import Server

BOTH = """
    completion-complete dns-rebinding-protection prompts-get-embedded-resource prompts-get-simple
    prompts-get-with-args prompts-get-with-image prompts-list resources-list resources-read-binary
    resources-read-text resources-templates-read server-sse-multiple-streams tools-call-audio
    tools-call-embedded-resource tools-call-error tools-call-image tools-call-mixed-content
    tools-call-simple-text tools-call-with-progress tools-list""".split()
ONLY_MODERN = """
    caching input-required-result-basic-elicitation input-required-result-basic-list-roots
    input-required-result-basic-sampling input-required-result-capability-check
    input-required-result-ignore-extra-params input-required-result-missing-input-response
    input-required-result-multi-round input-required-result-multiple-input-requests
    input-required-result-non-tool-request input-required-result-request-state
    input-required-result-result-type input-required-result-tampered-state
    input-required-result-unsupported-methods input-required-result-validate-input
    sep-2164-resource-not-found server-stateless""".split()
ONLY_LEGACY = """
    logging-set-level ping resources-subscribe resources-unsubscribe server-initialize
    tools-call-elicitation tools-call-sampling tools-call-with-logging""".split()
TASKS = """
    tasks-capability-negotiation tasks-dispatch-and-envelope tasks-lifecycle
    tasks-mrtr-composition tasks-mrtr-input tasks-request-headers tasks-request-state-removal
    tasks-required-task-error tasks-status-notifications tasks-wire-fields""".split()
SKILLS = ["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"]
HEADERS = ["http-custom-header-server-validation", "http-header-validation"]
SINCE_2025_11 = ["elicitation-sep1034-defaults", "elicitation-sep1330-enums"]
UNTIL_2025_06 = ["dns-rebinding-protection", "server-sse-multiple-streams"]

SCORED = {"2026-07-28": BOTH + ONLY_MODERN, "2025-11-25": BOTH + ONLY_LEGACY + SINCE_2025_11}

# name: how the suite is called, and all that it must run then.
SETS = {
    "2026-07-28": (["--requirements", "2026-07-28"],
                   SCORED["2026-07-28"] + TASKS + HEADERS + ["json-schema-2020-12"]),
    "2025-11-25": (["--requirements", "2025-11-25"],
                   SCORED["2025-11-25"] + ["json-schema-2020-12", "server-session-lifecycle",
                                           "server-sse-polling"]),
    "2025-06-18": (["--suite", "all", "--spec-version", "2025-06-18"],
                   [name for name in BOTH if name not in UNTIL_2025_06] + ONLY_LEGACY
                   + ["server-session-lifecycle"]),
    "2025-03-26": (["--suite", "all", "--spec-version", "2025-03-26"],
                   ["server-session-lifecycle"]),
}
for skill in SKILLS:
    SETS[skill] = (["--scenario", skill], [skill])

# The suite has this one skip itself, whatever the server does, until it is written anew.
WRITTEN_LATER = {"tasks-status-notifications"}

ALL = [(name, scenario) for name, (_, scenarios) in SETS.items() for scenario in sorted(scenarios)]


@pytest.fixture(scope="session")
def results(session_place):
    """Gives what a set has found; each runs once, all against the same server."""
    server = Server(session_place / "conformance", "--conformance", "--auth", "none")
    found = {}

    def of_set(name):
        if name not in found:
            selection, _ = SETS[name]
            place = session_place / f"results-{name}"
            found[name] = Results(f"http://{server.address}/mcp", place, *selection)
        return found[name]

    yield of_set
    assert server.stop() == 0


@pytest.mark.parametrize(("name", "scenario"), ALL, ids=[
    scenario if name == scenario else f"{name}-{scenario}" for name, scenario in ALL])
def test_scenario(results, record_property, name, scenario):
    checks = results(name).of(scenario)
    for check in checks:
        if check.status in ("WARNING", "SKIPPED"):
            record_property("warning", str(check))
    failures = [str(check) for check in checks if check.status == "FAILURE"]
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
    proven = [check for check in checks if check.status == "SUCCESS" and check.id != CHECK_OF_ALL]
    assert proven or scenario in WRITTEN_LATER, "\n".join(map(str, checks)) or "it checked nothing"


@pytest.mark.parametrize("name", SETS)
def test_no_scenario_is_left_out(results, name):
    assert set(results(name).checks) == set(SETS[name][1])


def test_the_scored_sets_are_whole():
    assert (len(SCORED["2026-07-28"]), len(SCORED["2025-11-25"])) == (37, 30)
