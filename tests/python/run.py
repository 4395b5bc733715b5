"""Runs the tests of the Python package: `run.py FOLDER [PATTERN]`, where FOLDER has the package
`broadloom`.

Prints `ok - SENTENCE` or `not ok - SENTENCE` for each test; fails if one of them does.
"""

import os
import sys
import unittest


class Verdicts(unittest.TestResult):
    def _say(self, verdict, test):
        print(f"{verdict} - python: {test._testMethodName[5:].replace('_', ' ')}", flush=True)

    def addSuccess(self, test):
        self._say("ok", test)

    def addSkip(self, test, reason):
        print(f"skipped - python: {test._testMethodName[5:].replace('_', ' ')}: {reason}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._say("not ok", test)
        print(self.failures[-1][1], flush=True)

    def addError(self, test, error):
        super().addError(test, error)
        if hasattr(test, "_testMethodName"):
            self._say("not ok", test)
        else:  # a class or a module that could not be set up
            print(f"not ok - python: {test}")
        print(self.errors[-1][1], flush=True)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            print(f"not ok - python: {subtest}", flush=True)
            print((self.failures + self.errors)[-1][1], flush=True)


if __name__ == "__main__":
    folder = os.path.abspath(sys.argv[1])
    sys.path.insert(0, folder)
    # Processes that are started by tests find the package, too.
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.path.dirname(os.path.abspath(__file__))])
    pattern = sys.argv[2] if len(sys.argv) > 2 else "test_*.py"
    suite = unittest.defaultTestLoader.discover(os.path.dirname(os.path.abspath(__file__)), pattern)
    verdicts = Verdicts()
    suite.run(verdicts)
    sys.exit(0 if verdicts.wasSuccessful() and verdicts.testsRun > 0 else 1)
