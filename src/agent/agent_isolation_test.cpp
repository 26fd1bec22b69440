// Real containers: what they see of the machine and of each other.
#include "agent/agent_fixture_test.h"
#include "agent/runtime/cgroup.h"

namespace hekla::agent {
namespace {

class IsolationTest : public AgentTest {
 protected:
  // A container beside `c` of create_pod, that runs a script too.
  static std::string beside(const std::string& script) {
    std::string quoted;
    json::append_quoted(script, quoted);
    return R"("initContainers":[{"name":"beside","image":"host","restartPolicy":"Always",
        "command":["/bin/sh","-c",)" +
           quoted + "]}],";
  }
  std::string output(const std::string& name) {
    EXPECT_TRUE(soon([&] {
      const json::Value object = pod(name);
      std::string_view phase = json::string_at(object, {"status", "phase"});
      return phase == "Succeeded" || phase == "Failed";
    })) << events();
    return logs(name, {.container = "c"});
  }
};

TEST_F(IsolationTest, NobodyWritesToTheControlGroups) {
  const std::string script =
      "for f in $(find /sys/fs/cgroup -name cgroup.procs); do echo $$ > $f && echo wrote $f; done;"
      "for d in /sys/fs/cgroup/*/; do mkdir $d/escape && echo made $d; done; echo tried";
  create_pod("ordinary", "(" + script + ") 2>/dev/null");
  create_pod("hostnet", "(" + script + ") 2>/dev/null", R"("hostNetwork":true,)");
  EXPECT_EQ(output("ordinary"), "tried\n");
  EXPECT_EQ(output("hostnet"), "tried\n");
}

TEST_F(IsolationTest, ProgramsFindTheirLimits) {
  const std::string script =
      "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null;"
      "cut -d: -f3 /proc/self/cgroup | sort -u";
  const std::string limits = R"("resources":{"limits":{"memory":"64Mi"}},)";
  create_pod("ordinary", script, "", limits);
  create_pod("hostnet", script, R"("hostNetwork":true,)", limits);
  EXPECT_EQ(output("ordinary"), "67108864\n/\n");
  EXPECT_EQ(output("hostnet"), "67108864\n/\n");
}

TEST_F(IsolationTest, ThePodAsAWholeIsLimited) {
  create_pod("limited", "trap exit TERM; sleep 60 & wait", "",
             R"("resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1","memory":"64Mi"}},)");
  ASSERT_TRUE(wait_for_phase("limited", "Running"));
  std::string found;
  for (const std::string& directory : cgroup_directories(paths().pod_cgroup(uid("limited"))))
    for (const char* file : {"cpu.shares", "cpu.weight", "memory.limit_in_bytes", "memory.max"})
      if (Result<std::string> text = read_file(directory + "/" + file)) found += *text;
  EXPECT_TRUE(found.contains("67108864\n")) << found;
  EXPECT_TRUE(found.contains("512\n") || found.contains("20\n")) << found;
}

TEST_F(IsolationTest, ContainersOfAPodShareMemoryAndQueues) {
  create_pod("shared",
             "until test -e /dev/shm/word; do sleep 0.05; done; cat /dev/shm/word;"
             "ipcs -q | grep -c 0x; stat -fc %T /dev/shm",
             beside("ipcmk -Q; echo shared > /dev/shm/new; mv /dev/shm/new /dev/shm/word;"
                    "trap exit TERM; sleep 60 & wait"));
  EXPECT_EQ(output("shared"), "shared\n1\ntmpfs\n");
  create_pod("alone", "ls /dev/shm | wc -l; ipcs -q | grep -c 0x");
  EXPECT_EQ(output("alone"), "0\n0\n");
  delete_pod("shared", 0);
  ASSERT_TRUE(wait_until_deleted("shared"));
}

// Process 1 is ours, and whoever may trace it can look at everything it has.
TEST_F(IsolationTest, ThePodsFirstProcessLeadsNowhere) {
  create_pod("tracer",
             "for p in root cwd; do ls -A /proc/1/$p/ && echo listed $p; test -e /proc/1/$p/etc && "
             "echo host;"
             "  touch /proc/1/$p/x 2>/dev/null && echo wrote; done;"
             "tr '\\0' ' ' < /proc/1/cmdline; echo; wc -c < /proc/1/environ; ls /proc/1/fd | wc -l;"
             "(: 3<>/proc/1/exe) 2>/dev/null && echo opened the program for writing;"
             "grep -E '^(Uid|Gid|Groups|Cap|NoNew)' /proc/1/status | tr -s '\\t ' ' ';"
             "for n in mnt net ipc uts; do readlink /proc/1/ns/$n; done",
             R"("shareProcessNamespace":true,)",
             R"("securityContext":{"capabilities":{"add":["SYS_PTRACE"]}},)");
  std::string said = output("tracer");
  std::error_code error;
  for (const char* kind : {"mnt", "net", "ipc", "uts"}) {
    EXPECT_TRUE(said.contains(std::string(kind) + ":[")) << said;
    EXPECT_FALSE(said.contains(
        std::filesystem::read_symlink(std::string("/proc/self/ns/") + kind, error).string()));
  }
  EXPECT_EQ(said.substr(0, said.find("mnt:[")),
            "listed root\nlisted cwd\npause \n0\n0\n"
            "Uid: 65535 65535 65535 65535\nGid: 65535 65535 65535 65535\nGroups: \n"
            "CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n"
            "CapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\n");
}

TEST_F(IsolationTest, OrphansOfASharedNamespaceAreReaped) {
  create_pod("orphans",
             "for i in 1 2 3; do (sh -c 'sleep 0.2 & echo $!' >> /tmp/pids); done;"
             "for i in $(seq 100); do left=; for p in $(cat /tmp/pids); do test -e /proc/$p && "
             "left=1; done;"
             "  test -z \"$left\" && break; sleep 0.1; done;"
             "wc -l < /tmp/pids; grep -h State: /proc/[0-9]*/status | grep -c Z; test -z \"$left\" "
             "&& echo gone",
             R"("shareProcessNamespace":true,)");
  EXPECT_EQ(output("orphans"), "3\n0\ngone\n");
}

TEST_F(IsolationTest, SysctlsOfTheSharedNamespaceAreSet) {
  create_pod("tuned", "cat /proc/sys/kernel/shm_rmid_forced",
             R"("securityContext":{"sysctls":[{"name":"kernel.shm_rmid_forced","value":"1"}]},)");
  EXPECT_EQ(output("tuned"), "1\n");
}

TEST_F(IsolationTest, HostIpcIsTheHosts) {
  create_pod("host", "readlink /proc/self/ns/ipc", R"("hostIPC":true,)");
  std::error_code error;
  EXPECT_EQ(output("host"),
            std::filesystem::read_symlink("/proc/self/ns/ipc", error).string() + "\n");
}

TEST_F(IsolationTest, MountsArePassedOnBetweenContainers) {
  std::string quoted;
  json::append_quoted(
      "mkdir /v/sub; mount -t tmpfs made /v/sub; touch /v/sub/there; trap exit TERM; sleep 60 & "
      "wait",
      quoted);
  create_pod(
      "passed", "until test -e /v/sub/there; do sleep 0.05; done; echo seen",
      R"("volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"maker","image":"host",
                "restartPolicy":"Always","securityContext":{"privileged":true},"command":["/bin/sh","-c",)" +
          quoted + R"(],
                "volumeMounts":[{"name":"v","mountPath":"/v","mountPropagation":"Bidirectional"}]}],)",
      R"("volumeMounts":[{"name":"v","mountPath":"/v","mountPropagation":"HostToContainer"}],)");
  EXPECT_EQ(output("passed"), "seen\n");
  delete_pod("passed", 1);
  ASSERT_TRUE(wait_until_deleted("passed"));
  EXPECT_TRUE(soon([&] { return std::filesystem::is_empty(paths().pods()); }))
      << "nothing is left mounted";
}

TEST_F(IsolationTest, PrivilegedPodsHaveTheMachinesDevices) {
  create_pod("plain", "ls /dev | sort | tr '\\n' ' '");
  create_pod("privileged",
             "for d in /dev/vda /dev/sda /dev/kmsg; do test -e $d && echo $d; done; true", "",
             R"("securityContext":{"privileged":true},)");
  EXPECT_EQ(output("plain").find("kmsg"), std::string::npos);
  const std::string seen = output("privileged");
  EXPECT_EQ(seen.contains("/dev/kmsg"), std::filesystem::exists("/dev/kmsg")) << seen;
}

TEST_F(IsolationTest, TheDefaultProfileLetsProgramsRun) {
  create_pod(
      "filtered",
      "python3 -c 'import threading; t = threading.Thread(target=print, args=(1,)); t.start(); "
      "t.join()';"
      "grep Seccomp: /proc/self/status | tr -d '\\t'; unshare -U true 2>/dev/null || echo refused",
      R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},)");
  EXPECT_EQ(output("filtered"), "1\nSeccomp:2\nrefused\n");
}

TEST_F(IsolationTest, TheKernelCanBeToldTheWholeName) {
  create_pod("named", "hostname; hostname -f; cat /etc/hostname",
             R"("hostname":"one","subdomain":"sub","setHostnameAsFQDN":true,)");
  const std::string whole = "one.sub.default.svc.cluster.local\n";
  EXPECT_EQ(output("named"), whole + whole + whole);
}

class MappedImageTest : public IsolationTest {
 protected:
  Options options() override {
    Options out = IsolationTest::options();
    const std::string dir = files_.path();
    std::filesystem::create_directories(dir + "/programs");
    std::filesystem::create_directories(dir + "/venv/bin");
    EXPECT_TRUE(write_file_atomically(dir + "/programs/program", "original\n", 0644));
    EXPECT_TRUE(write_file_atomically(dir + "/venv/bin/python", "#!/bin/sh\necho mine $0\n", 0755));
    out.image_map = {"tutorial/*=host, files=" + dir + "/programs:/var/programs, files=" + dir +
                     "/programs:/etc, venv=" + dir +
                     "/venv, workdir=/var/programs, user=65534, env=A=1, " +
                     "cmd=[\"sh\",\"-c\",\"echo by itself\"]"};
    return out;
  }
  void create_mapped(const std::string& name, const std::string& members) {
    create(kube::resources::pods, R"({"metadata":{"name":")" + name + R"(","namespace":"default"},
        "spec":{"nodeName":"test-node","restartPolicy":"Never","containers":[{"name":"c","image":"tutorial/x:1")" +
                                      members + R"(}]},"status":{"phase":"Pending"}})");
  }
  TempDir files_;
};

TEST_F(MappedImageTest, BringsWhatAnImageWould) {
  create_mapped("plain", "");
  EXPECT_EQ(output("plain"), "by itself\n");
  create_mapped(
      "look",
      R"(,"securityContext":{"runAsUser":0},"command":["sh","-c","cat program; python; echo $A; )"
      R"(test -e /etc/program -a -e /etc/passwd && echo merged; )"
      R"(echo changed > program; cat program"])");
  EXPECT_EQ(output("look"),
            "original\nmine " + files_.path() + "/venv/bin/python\n1\nmerged\nchanged\n");
  create_mapped("again", R"(,"command":["sh","-c","cat /var/programs/program; id -u"])");
  EXPECT_EQ(output("again"), "original\n65534\n") << "what a pod writes is its own";
  EXPECT_EQ(read_file(files_.path() + "/programs/program").value(), "original\n");
}

}  // namespace
}  // namespace hekla::agent
