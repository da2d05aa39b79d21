"""The page in a real browser: everything is drawn, and nothing complains (Q5)."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from regent.pipeline.report.figures import gather
from regent.pipeline.report.html import render_page
from tests.pipeline.report_tables import finished, hostile_rows, tables_of

pytestmark = pytest.mark.requirement("Q5")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Nothing but the page: no updates, no calls home.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
    "--virtual-time-budget=30000",
)


@pytest.fixture
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser on the PATH; `apt-get install chromium` brings one")
    return found


@pytest.fixture(scope="module")
def page(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report")
    tables = tables_of(spark, hostile_rows(directory / "state-change.log"))
    path = directory / "page.html"
    path.write_text(render_page(gather(tables, finished())), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_every_chart_is_drawn_and_nothing_complains(
    browser: str, page: Path, tmp_path: Path, width: int
) -> None:
    command = [
        browser,
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},900",
        "--dump-dom",
        page.as_uri(),
    ]

    result = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)  # noqa: S603 - our own page

    places = result.stdout.count('data-chart="')
    assert [line for line in result.stderr.splitlines() if "CONSOLE" in line] == []
    assert re.search(r'<html[^>]*data-drawn="(\d+)"', result.stdout, re.ASCII) is not None
    assert places == 9
    assert result.stdout.count('class="main-svg"') >= places
    assert '<img src="x"' not in result.stdout
