"""How much memory a platform takes that nobody uses: everything it has, nothing applied, no client."""
import re
import time
import unittest

import platform_under_test as put

LIMIT_MB = 80
SETTLED = 60  # seconds after the start


class IdleMemory(put.PlatformTest):
    def test_it_stays_below_its_limit(self):
        time.sleep(SETTLED)
        with open("/proc/%d/status" % self.platform.process.pid) as file:
            resident = int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) / 1000
        print("%.1f MB resident" % resident)
        self.assertLessEqual(resident, LIMIT_MB)


if __name__ == "__main__":
    unittest.main()
