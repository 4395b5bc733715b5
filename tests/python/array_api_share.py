"""The share of array-api-tests that `broadloom.array_api` passes: `array_api_share.py FOLDER
[PYTEST OPTION..]`.

FOLDER is a clone of https://github.com/data-apis/array-api-tests with its submodules. The script
needs pytest, pytest-json-report, hypothesis and ndindex beside NumPy, and broadloom where Python
finds it. The suite asks for the truth of arrays everywhere, which lazy arrays have only once they
are computed: here `bool(x)` computes.
"""

import collections
import os
import sys

import pytest

import broadloom as bl


class Count:
    def __init__(self):
        self.outcomes = {}

    def pytest_runtest_logreport(self, report):
        before = self.outcomes.get(report.nodeid, "skipped" if report.skipped else "passed")
        self.outcomes[report.nodeid] = "failed" if report.failed else "skipped" if report.skipped else before


if __name__ == "__main__":
    folder, options = sys.argv[1], sys.argv[2:]
    os.environ["ARRAY_API_TESTS_MODULE"] = "exec('import broadloom; xp = broadloom.array_api')"
    bl.LazyArray.__bool__ = lambda self: bool(self.compute())
    os.chdir(folder)
    sys.path.insert(0, folder)
    count = Count()
    pytest.main(["-q", "-p", "no:cacheprovider", "--disable-warnings", "--tb=no", "--no-header", "-o", "addopts=", "--disable-deadline", *(options or ["array_api_tests"])], plugins=[count])
    numbers = collections.Counter(count.outcomes.values())
    for test, outcome in sorted(count.outcomes.items()):
        if outcome == "failed":
            print(f"not ok - {test}")
    ran = numbers["passed"] + numbers["failed"]
    print(f"array-api-tests: {numbers['passed']} of {ran} pass ({100 * numbers['passed'] / max(ran, 1):.0f} %), {numbers['skipped']} are skipped")
