"""One light Spark session for all tests of the pipeline."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from regent.pipeline.session import Profile, open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session("local[2]", Profile.LIGHT, "regent-tests")
    yield session
    session.stop()
