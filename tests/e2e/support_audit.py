"""The audit trail of a server, as its files and as the command reads them."""

import json

from support_binary import belljar, environment


def trail_of(data_directory):
    return data_directory / "audit"


def audit(data_directory, *arguments, env=None):
    return belljar("audit", "--data-dir", data_directory, *arguments, env=env or environment())


def verify(data_directory, *arguments):
    """The report, with the exit code."""
    done = audit(data_directory, "verify", "--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["intact"] == (done.returncode == 0)
    return report


def exported(data_directory, *arguments):
    """Every record, oldest first."""
    done = audit(data_directory, "export", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def recorded_runs(data_directory):
    """The ids of all runs in the trail."""
    return {record["body"]["execution_id"]
            for record in exported(data_directory, "--kind", "run")}
