"""A JobFlow whose second job waits until a port of the first one's pod answers."""
import unittest

import platform_under_test as put

TEMPLATE = """
apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata: {name: %s}
spec:
  minAvailable: 1
  schedulerName: volcano
  tasks:
  - name: t
    replicas: 1
    template:
      spec:
        restartPolicy: Never
        terminationGracePeriodSeconds: 1
        containers: [{name: c, image: any, workingDir: /tmp, command: [sh, -c, "%s"]}]
---
"""
FLOW = """
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: f}
spec:
  flows:
  - {name: serve}
  - {name: use, dependsOn: {targets: [serve], probe: {httpGetList: [{taskName: t, port: 8000, path: /}], tcpSocketList: [{taskName: t, port: 8000}]}}}
"""


class FlowProbe(put.PlatformTest):
    def test_a_port_that_answers_starts_the_next_job(self):
        p = self.platform
        p.apply_text(TEMPLATE % ("serve", "until test -e /tmp/go; do sleep 0.1; done; "
                                 "exec python3 -m http.server 8000 --bind 127.0.0.1") +
                     TEMPLATE % ("use", "true") + FLOW)
        p.wait_phase("f-serve", "Running")
        self.assertEqual(p.kubectl("get", "vcjob", "f-use", "--ignore-not-found"), "")
        p.kubectl("exec", "f-serve-t-0", "--", "touch", "/tmp/go")
        put.wait_for("the second job", lambda: p.kubectl("get", "vcjob", "f-use", "--ignore-not-found"))
        p.wait_phase("f-use", "Completed")
        self.assertEqual(p.phase("f-serve"), "Running")


if __name__ == "__main__":
    unittest.main()
