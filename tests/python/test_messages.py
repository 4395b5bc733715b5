"""The library's messages, as Python's logging has them."""

import logging
import os
import subprocess
import sys
import threading
import unittest

import numpy as np

import broadloom as bl


class Messages(unittest.TestCase):
    def tearDown(self):
        bl.set_log_level("warn")

    def compiled(self, number):
        bl.compile(f"kernel said {{ in x : f64[i]; out z = x + {number} }}")(np.ones(3))

    def test_messages_go_to_a_logger(self):
        bl.set_log_level("debug")
        with self.assertLogs("broadloom", logging.DEBUG) as said:
            self.compiled(1)
            other = threading.Thread(target=self.compiled, args=(2,))  # the main thread hands over what others say
            other.start()
            other.join()
        ours = [record.levelno for record in said.records if "'said'" in record.getMessage()]  # code of others may be made beside
        self.assertEqual(ours, [logging.DEBUG] * 2, said.output)
        bl.set_log_level("warn")
        with self.assertNoLogs("broadloom", logging.DEBUG):
            self.compiled(3)
        with self.assertRaises(bl.ArgumentError) as caught:
            bl.set_log_level("debg")
        self.assertIn("did you mean 'debug'", caught.exception.help)

    def test_a_combine_that_joins_wrongly_is_a_warning_with_its_place(self):
        with self.assertLogs("broadloom", logging.WARNING) as said:
            bl.compile("accumulator from_one(s; x) { init s = 1; step s = s + x; combine s = s + s_other }\n"
                       "kernel k { in x : f64[i]; out z = from_one(x) }")(np.ones(3))
        self.assertEqual([record.levelno for record in said.records], [logging.WARNING], said.output)
        self.assertIn("<text>:1:66: E0036: the combine of 'from_one'", said.output[0])

    def test_a_handler_that_fails_stops_nothing(self):
        class Failing(logging.Handler):
            def emit(self, record):
                raise ValueError(record.getMessage())

        logger, handler = logging.getLogger("broadloom"), Failing()
        logger.addHandler(handler)
        seen, hook = [], sys.unraisablehook
        sys.unraisablehook = lambda failure: seen.append(failure.exc_value)
        try:
            bl.set_log_level("debug")
            logger.setLevel(logging.DEBUG)
            self.compiled(4)
            self.compiled(5)
        finally:
            sys.unraisablehook = hook
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
        self.assertTrue(seen and isinstance(seen[0], ValueError), seen)

    def test_the_environment_sends_messages_to_stderr(self):
        program = "import numpy as np, broadloom as bl; bl.compile('kernel said { in x : f64[i]; out z = x }')(np.ones(3))"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env={**os.environ, "BROADLOOM_LOG": "debug"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("broadloom: debug: compiled a pattern of 'said'", done.stderr)
        quiet = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                               env={name: value for name, value in os.environ.items() if name != "BROADLOOM_LOG"})
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
