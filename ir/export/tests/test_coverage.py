"""docs/coverage.md is what its sources say."""

import os

import pytest

from conftest import ROOT

pytest.importorskip("transformers")
import zoo_coverage  # noqa: E402


def test_fresh():
    with open(os.path.join(ROOT, "docs", "coverage.md")) as f:
        assert f.read() == zoo_coverage.text()
