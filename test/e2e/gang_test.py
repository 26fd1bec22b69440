"""All or nothing: a gang that does not fit waits with its reason and starts when room is made."""
import unittest

import platform_under_test as put


class Gang(put.PlatformTest):
    FLAGS = ["--image-map", "*=host", "--node-resources", "cpu=4"]  # whatever the machine has

    def cpus(self):
        return int(self.platform.get("nodes")["items"][0]["status"]["allocatable"]["cpu"])

    def pods(self, name):
        return self.platform.get("pods", "-l", "volcano.sh/job-name=" + name)["items"]

    def test_waits_whole_and_starts_whole(self):
        p, cpus = self.platform, self.cpus()
        p.apply_text(put.job("holder", 1, str(cpus)))
        p.wait_phase("holder", "Running")
        p.apply_text(put.job("gang", cpus * 2, "500m"))
        reason = "PodGroup default:gang unschedule,reason: "
        put.wait_for("the reason is shown", lambda: reason in p.kubectl("describe", "vcjob", "gang"))
        self.assertEqual(p.phase("gang"), "Pending")
        started = [x for x in self.pods("gang") if x["spec"].get("nodeName")]
        self.assertEqual(started, [], "no member of a gang that does not fit may start")
        uid = p.get("vcjob", "gang")["metadata"]["uid"]
        group = p.get("podgroup", "gang-" + uid)
        self.assertIn(group["status"]["phase"], ("Pending", "Inqueue"))
        put.wait_for("the group says so", lambda: any(
            c["type"] == "Unschedulable" for c in p.get("podgroup", "gang-" + uid)["status"]["conditions"]))
        self.assertIn("unschedul", p.kubectl("describe", "podgroup", "gang-" + uid))
        p.kubectl("delete", "vcjob", "holder")
        p.wait_phase("gang", "Running")
        self.assertEqual(sorted(x["status"]["phase"] for x in self.pods("gang")), ["Running"] * (cpus * 2))
        p.kubectl("delete", "vcjob", "gang")

    def test_too_big_for_the_machine_says_so(self):
        p, cpus = self.platform, self.cpus()
        p.apply_text(put.job("giant", 3, str(cpus)))
        put.wait_for("the reason is shown", lambda: "PodGroupPending" in p.kubectl("describe", "vcjob", "giant"))
        self.assertEqual([x for x in self.pods("giant") if x["spec"].get("nodeName")], [])
        self.assertEqual(p.phase("giant"), "Pending")
        p.kubectl("delete", "vcjob", "giant")


if __name__ == "__main__":
    unittest.main()
