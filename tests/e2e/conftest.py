from support_fixtures import *  # noqa: F403
