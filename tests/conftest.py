"""What all tests share: how hard Hypothesis tries, and readable failures of the shipped contracts."""

import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("ecphora.testing")

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", max_examples=12, deadline=None, suppress_health_check=SLOW)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


# No test reads the settings of whoever runs it.
os.environ["XDG_CONFIG_HOME"] = os.path.join(tempfile.gettempdir(), "ecphora-tests-have-no-settings")  # noqa: PTH118
