// The agent with real containers.
#include "agent/agent.h"

#include <sys/wait.h>

#include "agent/agent_fixture_test.h"
#include "agent/image/masked_paths.h"
#include "agent/runtime/cgroup.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

TEST_F(AgentTest, RunsAContainerToItsExitCode) {
  create_pod("seven", "echo hello; echo oops >&2; exit 7");
  ASSERT_TRUE(wait_for_phase("seven", "Failed"));
  json::Value end = terminated("seven");
  EXPECT_EQ(json::int_at(end, {"exitCode"}), 7);
  EXPECT_EQ(json::string_at(end, {"reason"}), "Error");
  EXPECT_TRUE(json::string_at(end, {"containerID"}).starts_with("hekla://"));
  EXPECT_EQ(logs("seven"), "hello\noops\n");
  for (const char* wanted :
       {"Normal Pulled Container image \"host\" already present on machine",
        "Normal Created Created container: c", "Normal Started Started container c"})
    EXPECT_TRUE(soon([&] { return events().find(wanted) != std::string::npos; })) << wanted << "\n"
                                                                                  << events();
}

TEST_F(AgentTest, SucceedsAndSaysSo) {
  create_pod("fine", "exit 0");
  ASSERT_TRUE(wait_for_phase("fine", "Succeeded"));
  EXPECT_EQ(json::string_at(terminated("fine"), {"reason"}), "Completed");
}

TEST_F(AgentTest, ReportsOomKills) {
  create_pod("big", "exec tail /dev/zero", "",
             R"("resources":{"limits":{"memory":"32Mi"},"requests":{"memory":"32Mi"}},)");
  ASSERT_TRUE(wait_for_phase("big", "Failed"));
  EXPECT_EQ(json::int_at(terminated("big"), {"exitCode"}), 137);
  EXPECT_EQ(json::string_at(terminated("big"), {"reason"}), "OOMKilled");
}

TEST_F(AgentTest, TerminatesByTermThenKill) {
  create_pod("polite", "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done");
  create_pod("deaf", "trap '' TERM; echo up; while :; do sleep 0.05; done");
  ASSERT_TRUE(wait_for_phase("polite", "Running"));
  ASSERT_TRUE(wait_for_phase("deaf", "Running"));
  ASSERT_TRUE(soon([&] { return logs("polite") == "up\n" && logs("deaf") == "up\n"; }));
  // The last state before the object goes is what everybody sees.
  std::vector<std::string> last;
  on_loop([&] {
    api_.on_write = [&](const kube::Write& write) {
      if (write.verb == kube::Write::Verb::remove) {
        const json::Value* pod = api_.find(write.resource, write.key);
        last.push_back(json::serialize(*pod));
        EXPECT_EQ(write.grace_period_seconds, 0);
        EXPECT_EQ(write.precondition_uid, json::string_at(*pod, {"metadata", "uid"}));
      }
      return std::optional<Error>();
    };
    return true;
  });
  auto begun = std::chrono::steady_clock::now();
  delete_pod("polite", 90);
  ASSERT_TRUE(wait_until_deleted("polite"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60))
      << "it was waited for in vain";
  begun = std::chrono::steady_clock::now();
  delete_pod("deaf", 1);
  ASSERT_TRUE(wait_until_deleted("deaf"));
  auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_GE(took, std::chrono::milliseconds(990));
  EXPECT_LT(took, std::chrono::seconds(25)) << "the grace of pods that name none is 30";
  ASSERT_EQ(last.size(), 2u);
  EXPECT_NE(last[0].find("\"exitCode\":3"), std::string::npos) << last[0];
  EXPECT_NE(last[1].find("\"exitCode\":137"), std::string::npos) << last[1];
  EXPECT_NE(events().find("Normal Killing Stopping container c"), std::string::npos);
}

TEST_F(AgentTest, TwoPodsTalkByName) {
  create(kube::resources::services,
         R"({"metadata":{"name":"job","namespace":"default"},
             "spec":{"clusterIP":"None","selector":{"app":"job"}}})");
  create_pod(
      "server",
      "exec /usr/bin/python3 -c 'import socket; s=socket.socket(); s.bind((\"\",2222)); "
      "s.listen(); c,a=s.accept(); c.sendall(b\"hi \"+socket.gethostname().encode()); c.close()'",
      R"("hostname":"worker-0","subdomain":"job",)", "", R"({"app":"job"})");
  create_pod("client",
             "for i in $(seq 100); do /usr/bin/python3 -c 'import socket; "
             "c=socket.create_connection((\"worker-0.job\",2222),2); print(c.recv(99).decode())' "
             "2>/tmp/err && exit 0; sleep 0.1; done; cat /tmp/err; exit 1");
  EXPECT_TRUE(wait_for_phase("client", "Succeeded")) << logs("client");
  EXPECT_EQ(logs("client"), "hi worker-0\n");
  EXPECT_TRUE(wait_for_phase("server", "Succeeded"));
}

// Neither a frame for everybody on the link nor a packet with another's address gets to a
// neighbour.
TEST_F(AgentTest, APodSpeaksForItselfAlone) {
  create_pod("server", R"(exec /usr/bin/python3 -c '
import socket
s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("", 5000))
print("bound", flush=True)
while True:
  words, sender = s.recvfrom(99)
  print(words.decode(), sender[0], flush=True)
  if words == b"honest": break
')");
  ASSERT_TRUE(wait_for_phase("server", "Running"));
  ASSERT_TRUE(soon([&] { return logs("server") == "bound\n"; }));
  const std::string server(json::string_at(pod("server"), {"status", "podIP"}));
  create_pod("liar", R"(exec /usr/bin/python3 -c '
import socket, struct
me, server = socket.gethostbyname(socket.gethostname()), ")" +
                         server + R"("
def total(b):
  n = sum(struct.unpack("!%dH" % (len(b) // 2), b)); n = (n & 0xffff) + (n >> 16); return ~(n + (n >> 16)) & 0xffff
def packet(source, words):
  ends = socket.inet_aton(source) + socket.inet_aton(server)
  udp = struct.pack("!HHHH", 5001, 5000, 8 + len(words), 0) + words
  head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + ends
  return head[:10] + struct.pack("!H", total(head)) + head[12:] + udp
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); link.bind(("eth0", 0x0800))
own = link.getsockname()[4]
for i in range(3):
  raw.sendto(packet("10.244.77.77", b"another"), (server, 0))
  raw.sendto(packet("10.244.0.1", b"gateway"), (server, 0))
  link.send(b"\xff" * 6 + own + b"\x08\x00" + packet(me, b"frame"))
  raw.sendto(packet(me, b"raw"), (server, 0))
socket.socket(type=socket.SOCK_DGRAM).sendto(b"honest", (server, 5000))
')");
  ASSERT_TRUE(wait_for_phase("liar", "Succeeded")) << logs("liar");
  ASSERT_TRUE(wait_for_phase("server", "Succeeded"));
  const std::string from =
      " " + std::string(json::string_at(pod("liar"), {"status", "podIP"})) + "\n";
  EXPECT_EQ(logs("server"), "bound\nraw" + from + "raw" + from + "raw" + from + "honest" + from);
}

TEST_F(AgentTest, ServesNamesAsTheResolverAsks) {
  create(kube::resources::services,
         R"({"metadata":{"name":"job","namespace":"default"},
             "spec":{"clusterIP":"None","selector":{"app":"job"}}})");
  create_pod("a",
             "getent hosts a-host.job; getent ahosts nothing.job; echo rc=$?; hostname -f; "
             "getent hosts $(hostname -i); cat /etc/resolv.conf",
             R"("hostname":"a-host","subdomain":"job",)", "", R"({"app":"job"})");
  ASSERT_TRUE(wait_for_phase("a", "Succeeded")) << logs("a");
  std::string ip(json::string_at(pod("a"), {"status", "podIP"}));
  std::string text = logs("a");
  EXPECT_NE(text.find("rc=2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a-host.job.default.svc.cluster.local\n"), std::string::npos) << text;
  EXPECT_NE(text.find("nameserver 10.244.0.1\n"), std::string::npos) << text;
  EXPECT_NE(text.find(ip), std::string::npos) << text;
}

TEST_F(AgentTest, AdoptsWhatAKilledProcessLeft) {
  create_led_pod("long",
                 "for i in $(seq 20); do echo line $i; test $i = 10 && await long; done; exit 5");
  create_led_pod("short", "await short; echo done; exit 4");
  ASSERT_TRUE(wait_for_phase("long", "Running"));
  ASSERT_TRUE(wait_for_phase("short", "Running"));
  drop();
  let_go("short");
  ASSERT_TRUE(soon([&] { return !fs::is_empty(paths().exits()); }));  // it ended unwatched
  begin();
  ASSERT_TRUE(wait_for_phase("short", "Failed"));
  EXPECT_EQ(json::int_at(terminated("short"), {"exitCode"}), 4);
  EXPECT_EQ(logs("short"), "done\n");
  let_go("long");
  ASSERT_TRUE(wait_for_phase("long", "Failed"));
  EXPECT_EQ(json::int_at(terminated("long"), {"exitCode"}), 5);
  std::string wanted;
  for (int i = 1; i <= 20; ++i) wanted += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(logs("long"), wanted);
  json::Value object = pod("long");
  EXPECT_EQ(json::int_at(json::array_at(object, {"status", "containerStatuses"})->at(0),
                         {"restartCount"}),
            0);
}

TEST_F(AgentTest, RemovesPodsThatWentWhileNobodyLooked) {
  create_pod("ghost", "sleep 1000");
  ASSERT_TRUE(wait_for_phase("ghost", "Running"));
  const std::string ghost = uid("ghost");
  drop();
  on_loop([&] {
    api_.finish_termination({"default", "ghost"});
    return true;
  });
  ASSERT_FALSE(cgroup_directories(paths().pod_cgroup(ghost)).empty());
  begin();
  EXPECT_TRUE(soon([&] { return !fs::exists(paths().pod(ghost)); }));
  EXPECT_TRUE(cgroup_directories(paths().pod_cgroup(ghost)).empty());
}

// Mounts, processes and control groups of the instance, as the host sees them.
std::string traces(const InstancePaths& paths) {
  std::string out;
  if (fs::exists(paths.run_dir())) out += "run dir\n";
  if (read_file("/proc/self/mountinfo")->find(paths.name) != std::string::npos) out += "mounts\n";
  if (!cgroup_directories(paths.cgroup()).empty()) out += "cgroups\n";
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::string command = read_file(entry.path().string() + "/cmdline").value_or("");
    if (command.find(paths.run_dir()) != std::string::npos) out += "process " + command + "\n";
  }
  return out;
}

TEST_F(AgentTest, LeavesNothingBehind) {
  create_pod("sleeper", "trap 'exit 0' TERM; while :; do sleep 0.05; done",
             R"("volumes":[{"name":"m","emptyDir":{"medium":"Memory"}}],)",
             R"("volumeMounts":[{"name":"m","mountPath":"/cache"}],)");
  create_pod("over", "exit 0");
  ASSERT_TRUE(wait_for_phase("sleeper", "Running"));
  ASSERT_TRUE(wait_for_phase("over", "Succeeded"));
  EXPECT_FALSE(traces(paths()).empty());
  end(false);
  EXPECT_EQ(traces(paths()), "");
  EXPECT_TRUE(fs::is_empty(paths().pods()));
  EXPECT_TRUE(fs::is_empty(paths().exits()));
  json::Value object = pod("sleeper");
  EXPECT_EQ(json::string_at(object, {"status", "phase"}), "Failed");
  EXPECT_EQ(json::string_at(object, {"status", "reason"}), "Terminated");
}

TEST_F(AgentTest, EndsWhatItFoundEvenIfItIsStoppedAtOnce) {
  create_pod("found", "trap 'exit 0' TERM; while :; do sleep 0.05; done");
  ASSERT_TRUE(wait_for_phase("found", "Running"));
  drop();
  begin();
  end(false);
  EXPECT_EQ(traces(paths()), "");
  EXPECT_TRUE(fs::is_empty(paths().pods()));
  EXPECT_EQ(json::string_at(pod("found"), {"status", "reason"}), "Terminated");
}

TEST_F(AgentTest, ResizesARunningContainer) {
  create_pod("big", "trap 'exit 0' TERM; while :; do sleep 0.05; done", "",
             R"("resources":{"limits":{"cpu":"500m","memory":"64Mi"}},)");
  ASSERT_TRUE(wait_for_phase("big", "Running"));
  // The one of v1 or that of v2, whichever there is.
  auto limit = [&](const char* old_file, const char* new_file) {
    for (const std::string& pod_cgroup : cgroup_directories(paths().pod_cgroup(uid("big"))))
      for (const fs::directory_entry& container : fs::directory_iterator(pod_cgroup))
        for (const char* file : {old_file, new_file})
          if (Result<std::string> text = read_file(container.path().string() + "/" + file))
            return *text;
    return std::string();
  };
  auto memory = [&] { return limit("memory.limit_in_bytes", "memory.max"); };
  auto cpu = [&] { return limit("cpu.cfs_quota_us", "cpu.max"); };
  EXPECT_EQ(memory(), "67108864\n");
  for (const auto& [amounts, bytes, quota] :
       {std::tuple(R"({"cpu":"1500m","memory":"128Mi"})", "134217728\n", "150000"),
        std::tuple(R"({"cpu":"250m","memory":"96Mi"})", "100663296\n", "25000")}) {
    json::Value object = pod("big");
    json::Value& spec = json::at_path(object, {"spec", "containers"}).as_array()[0];
    json::at_path(spec, {"resources", "limits"}) = json::parse(amounts).value();
    on_loop([&] {
      return api_
          .patch(kube::resources::pods, {"default", "big"},
                 json::Object{{"spec", *json::find(object, "spec")}})
          .has_value();
    });
    EXPECT_TRUE(soon([&] { return memory() == bytes && cpu().starts_with(quota); }))
        << memory() << cpu() << events();
  }
  EXPECT_EQ(json::int_at(*json::array_at(pod("big"), {"status", "containerStatuses"})->begin(),
                         {"restartCount"}),
            0);
}

TEST_F(AgentTest, KeepsPodsOverARestartOnRequest) {
  create_led_pod("keep", "await end; exit 0");
  ASSERT_TRUE(wait_for_phase("keep", "Running"));
  end(true);
  EXPECT_EQ(json::string_at(pod("keep"), {"status", "phase"}), "Running");
  begin();
  let_go("end");
  ASSERT_TRUE(wait_for_phase("keep", "Succeeded"));
}

TEST_F(AgentTest, HidesTheMachinesSecrets) {
  std::string files, directories;
  for (const std::string& path : masked_files()) files += path + " ";
  for (const std::string& path : masked_directories()) directories += path + " ";
  for (const std::string& path : home_directories(read_file("/etc/passwd").value()))
    directories += path + " ";
  create_pod("spy", "for f in " + files + "/run/hekla " + data_dir_ +
                        "; do test -e $f && echo $f is there; done; "
                        "for d in " +
                        directories +
                        "; do ls -A $d 2>/dev/null; done; "
                        "cat /etc/hostname; touch /etc/mine /root/mine /tmp/mine && echo wrote; "
                        "test -e /usr/bin/env && echo usr");
  ASSERT_TRUE(wait_for_phase("spy", "Succeeded"));
  EXPECT_EQ(logs("spy"), "spy\nwrote\nusr\n");
  EXPECT_FALSE(fs::exists("/etc/mine"));
}

TEST_F(AgentTest, ShowsTheMachinesSystemAlone) {
  create_pod("tourist",
             "for name in $(ls -A /); do case $name in "
             "bin|boot|dev|etc|home|lib*|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var) ;; "
             "*) echo $name;; esac; done; "
             "find /etc /var/lib ! -type l ! -perm /o=rwx ! -empty; echo seen");
  ASSERT_TRUE(wait_for_phase("tourist", "Succeeded"));
  EXPECT_EQ(logs("tourist"), "seen\n");
}

TEST_F(AgentTest, GivesEnvironmentAndVolumes) {
  create(
      kube::resources::config_maps,
      R"({"metadata":{"name":"conf","namespace":"default"},"data":{"a.txt":"alpha","LEVEL":"3"}})");
  create(kube::resources::secrets,
         R"({"metadata":{"name":"key","namespace":"default"},"data":{"token":"czNjcjN0"}})");
  create_pod(
      "env",
      "echo $GREETING $LEVEL $NAME $MY_IP; cat /etc/conf/a.txt /etc/key/token; echo; "
      "touch /etc/conf/x 2>/dev/null || echo readonly; echo data > /scratch/f; cat /scratch/f; "
      "cat /etc/podinfo/labels; echo; cat /one.txt; echo; stat -L -c %a /etc/key/token; "
      "echo fin > /dev/termination-log; exit 9",
      R"("volumes":[{"name":"c","configMap":{"name":"conf"}},
                {"name":"k","secret":{"secretName":"key","defaultMode":256}},
                {"name":"s","emptyDir":{}},
                {"name":"d","downwardAPI":{"items":[{"path":"labels",
                   "fieldRef":{"fieldPath":"metadata.labels"}}]}}],)",
      R"j("env":[{"name":"GREETING","value":"hi-$(WHO)-$(LEVEL)"},
                {"name":"NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},
                {"name":"MY_IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}],
                "envFrom":[{"configMapRef":{"name":"conf"}}],
                "volumeMounts":[{"name":"c","mountPath":"/etc/conf"},{"name":"k","mountPath":"/etc/key"},
                {"name":"s","mountPath":"/scratch"},{"name":"d","mountPath":"/etc/podinfo"},
                {"name":"c","mountPath":"/one.txt","subPath":"a.txt"}],)j",
      R"({"app":"x"})");
  ASSERT_TRUE(wait_for_phase("env", "Failed"));
  std::string ip(json::string_at(pod("env"), {"status", "podIP"}));
  EXPECT_EQ(logs("env"),
            "hi-$(WHO)-3 3 env " + ip + "\nalphas3cr3t\nreadonly\ndata\napp=\"x\"\nalpha\n400\n");
  EXPECT_EQ(json::string_at(terminated("env"), {"message"}), "fin\n");
}

TEST_F(AgentTest, VolumesInsideOthersAreSeenAndTheirFilesOutliveThePod) {
  TempDir host;
  fs::create_directories(host.path() + "/outer");
  ASSERT_TRUE(write_file_atomically(host.path() + "/outer/keep", "kept\n", 0644));
  create_pod("nested",
             "cat /data/sub/keep; echo more > /data/sub/more; cat /etc/hostname; sleep 60",
             R"("terminationGracePeriodSeconds":0,"volumes":[{"name":"h","hostPath":{"path":")" +
                 host.path() + R"("}},{"name":"e","emptyDir":{}}],)",
             R"("volumeMounts":[{"name":"h","mountPath":"/data/sub","subPath":"outer"},
                {"name":"e","mountPath":"/data"},{"name":"e","mountPath":"/etc","subPath":"etc"}],)");
  ASSERT_TRUE(soon([&] { return fs::exists(host.path() + "/outer/more"); })) << events();
  const std::string place = paths().pod(uid("nested"));
  EXPECT_TRUE(soon([&] { return logs("nested") == "kept\nnested\n"; })) << logs("nested");
  delete_pod("nested", 0);
  ASSERT_TRUE(wait_until_deleted("nested"));
  EXPECT_TRUE(soon([&] { return !fs::exists(place); }));
  EXPECT_EQ(read_file(host.path() + "/outer/keep").value(), "kept\n");
  EXPECT_EQ(read_file(host.path() + "/outer/more").value(), "more\n");
}

TEST_F(AgentTest, ATerminationMessageHasALimit) {
  create_pod("talker", "head -c 100000 /dev/zero | tr '\\0' x > /dev/termination-log");
  ASSERT_TRUE(wait_for_phase("talker", "Succeeded"));
  EXPECT_EQ(json::string_at(terminated("talker"), {"message"}), std::string(4096, 'x'));
}

TEST_F(AgentTest, TheDefaultProfileRefusesUserNamespacesButNotThreads) {
  create_pod("confined",
             R"(exec python3 -c 'import ctypes, threading, os
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
libc = ctypes.CDLL(None, use_errno=True)
r = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
if r == 0: os._exit(0)
print("clone", r, os.strerror(ctypes.get_errno()))
')",
             R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},)");
  ASSERT_TRUE(wait_for_phase("confined", "Succeeded"));
#if defined(__x86_64__)
  EXPECT_EQ(logs("confined"), "thread\nclone -1 Operation not permitted\n");
#endif
}

TEST_F(AgentTest, ServicesMayChangeAfterTheShutdown) {
  std::promise<void> promise;
  agent_->shutdown(false, [&] { promise.set_value(); });
  ASSERT_EQ(promise.get_future().wait_for(kPatience), std::future_status::ready);
  create(kube::resources::services, R"({"metadata":{"name":"late","namespace":"default"}})");
  on_loop([] { return 0; });
  on_loop([] { return 0; });
  drop();
}

TEST_F(AgentTest, WaitsLoudlyForWhatItCannotHave) {
  create_pod("novol", "exit 0", R"("volumes":[{"name":"v","configMap":{"name":"later"}}],)",
             R"("volumeMounts":[{"name":"v","mountPath":"/v"}],)");
  create(kube::resources::pods,
         R"({"metadata":{"name":"noimage","namespace":"default"},"spec":{"nodeName":"test-node",
             "restartPolicy":"Never","containers":[{"name":"c","image":"127.0.0.1:1/x:1"}]}})");
  EXPECT_TRUE(soon([&] {
    return events().find(
               "Warning FailedMount MountVolume.SetUp failed for volume \"v\" : configmap "
               "\"later\" not found") != std::string::npos;
  })) << events();
  EXPECT_TRUE(soon([&] {
    return json::serialize(pod("noimage")).find("\"reason\":\"ErrImagePull\"") != std::string::npos;
  })) << json::serialize(pod("noimage"));
  EXPECT_NE(json::serialize(pod("noimage")).find("failed to pull and unpack image"),
            std::string::npos);
  EXPECT_EQ(logs("noimage"),
            "error: container \"c\" in pod \"noimage\" is waiting to start: ErrImagePull");
  create(kube::resources::config_maps,
         R"({"metadata":{"name":"later","namespace":"default"},"data":{"k":"v"}})");
  EXPECT_TRUE(wait_for_phase("novol", "Succeeded"));
}

TEST_F(AgentTest, ReportsAProgramThatIsNotThere) {
  create(kube::resources::pods,
         R"({"metadata":{"name":"typo","namespace":"default"},"spec":{"nodeName":"test-node",
             "restartPolicy":"Never","containers":[{"name":"c","image":"busybox:1.36",
             "command":["/no/such/program"]}]}})");
  ASSERT_TRUE(wait_for_phase("typo", "Failed"));
  EXPECT_EQ(json::int_at(terminated("typo"), {"exitCode"}), 128);
  EXPECT_EQ(json::string_at(terminated("typo"), {"reason"}), "StartError");
  EXPECT_NE(json::string_at(terminated("typo"), {"message"}).find("/no/such/program"),
            std::string::npos)
      << json::serialize(terminated("typo"));
}

TEST_F(AgentTest, FollowsLogsToTheEnd) {
  create_led_pod("talker", "for i in 1 2 3; do echo $i; await $i; done; printf tail");
  ASSERT_TRUE(wait_for_phase("talker", "Running"));
  kube::LogOptions follow;
  follow.follow = true;
  auto sink = std::make_shared<CollectingSink>();
  ASSERT_TRUE(begin_logs("talker", follow, sink));
  for (const char* line : {"1", "2", "3"}) {
    EXPECT_TRUE(sink->wait_for_text(line + std::string("\n")));
    let_go(line);
  }
  EXPECT_EQ(sink->wait_for_end(), "1\n2\n3\ntail");
  kube::LogOptions last;
  last.tail_lines = 2;
  EXPECT_EQ(logs("talker", last), "3\ntail");
}

TEST_F(AgentTest, ALongLogKeepsItsBeginningAndItsEnd) {
  // Three files and a half, a line of a kilobyte each.
  create_pod("talker", R"(exec /usr/bin/python3 -c '
import sys
for i in range(57000): sys.stdout.write("%06d" % i + "x" * 993 + "\n")
sys.stderr.write("done\n")
')");
  ASSERT_TRUE(wait_for_phase("talker", "Succeeded"));
  std::string all = logs("talker");
  EXPECT_TRUE(all.starts_with("000000x"));
  EXPECT_NE(all.find("056999x"), std::string::npos);
  EXPECT_GT(all.size(), 32'000'000u);
  EXPECT_LT(all.size(), 50'000'000u);
  kube::LogOptions tail;
  tail.tail_lines = 18'000;  // more than one file holds
  std::string end = logs("talker", tail);
  EXPECT_EQ(std::ranges::count(end, '\n'), 18'000);
  kube::LogOptions errors;
  errors.stream = "stderr";
  EXPECT_EQ(logs("talker", errors), "done\n");
}

TEST_F(AgentTest, RunsInitContainersInOrderAndRestarts) {
  create(kube::resources::pods,
         R"({"metadata":{"name":"init","namespace":"default"},"spec":{"nodeName":"test-node",
             "restartPolicy":"OnFailure","volumes":[{"name":"w","emptyDir":{}}],
             "initContainers":[
               {"name":"i1","image":"host","command":["/bin/sh","-c","echo one >> /w/o"],
                "volumeMounts":[{"name":"w","mountPath":"/w"}]},
               {"name":"i2","image":"host","command":["/bin/sh","-c","echo two >> /w/o"],
                "volumeMounts":[{"name":"w","mountPath":"/w"}]}],
             "containers":[{"name":"c","image":"host",
                "command":["/bin/sh","-c","cat /w/o; test -e /w/again && exit 0; touch /w/again; exit 1"],
                "volumeMounts":[{"name":"w","mountPath":"/w"}]}]}})");
  ASSERT_TRUE(wait_for_phase("init", "Succeeded"));
  EXPECT_EQ(logs("init"), "one\ntwo\n");
  json::Value object = pod("init");
  const json::Value& status = json::array_at(object, {"status", "containerStatuses"})->at(0);
  EXPECT_EQ(json::int_at(status, {"restartCount"}), 1);
  EXPECT_EQ(json::int_at(status, {"lastState", "terminated", "exitCode"}), 1);
  kube::LogOptions previous;
  previous.previous = true;
  EXPECT_EQ(logs("init", previous), "one\ntwo\n");
}

TEST_F(AgentTest, GivesATerminalOnRequest) {
  create_pod("tty", "test -t 1 && echo terminal $TERM", "", R"("tty":true,"stdin":true,)");
  ASSERT_TRUE(wait_for_phase("tty", "Succeeded"));
  EXPECT_EQ(logs("tty"), "terminal xterm\r\n");
}

TEST_F(AgentTest, SharesTheHostsNetworkOnRequest) {
  create_pod("hostnet", "readlink /proc/self/ns/net; cat /etc/hostname", R"("hostNetwork":true,)");
  ASSERT_TRUE(wait_for_phase("hostnet", "Succeeded"));
  EXPECT_EQ(logs("hostnet"), fs::read_symlink("/proc/self/ns/net").string() + "\n" + kNode + "\n");
  json::Value object = pod("hostnet");
  EXPECT_EQ(json::string_at(object, {"status", "podIP"}),
            json::string_at(object, {"status", "hostIP"}));
}

TEST_F(AgentTest, RunsAsTheUserAndWithinTheLimitsAskedFor) {
  create_pod("limited", "id -u; id -G; grep NoNewPrivs /proc/self/status",
             R"("securityContext":{"runAsUser":1234,"runAsGroup":55,"fsGroup":77},)",
             R"("securityContext":{"allowPrivilegeEscalation":false},
                "resources":{"limits":{"cpu":"500m","memory":"64Mi"}},)");
  ASSERT_TRUE(wait_for_phase("limited", "Succeeded"));
  EXPECT_EQ(logs("limited"), "1234\n55 77\nNoNewPrivs:\t1\n");
}

TEST_F(AgentTest, RegistersTheNode) {
  ASSERT_TRUE(soon([&] {
    return on_loop([&] {
      return api_.find(kube::resources::nodes, {"", kNode}) &&
             json::find_path(*api_.find(kube::resources::nodes, {"", kNode}),
                             {"status", "allocatable", "cpu"}) &&
             api_.find(kube::resources::leases, {"kube-node-lease", kNode});
    });
  }));
}

TEST_F(AgentTest, RefusesASecondAgentOnTheSameData) {
  auto second = Agent::create(options(), client_, nullptr);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another hekla"), std::string::npos);
}

// Takes the output of an exec, and tells of its end.
class ExecClient final : public kube::ProcessClient {
 public:
  void write(Output, std::string bytes) override { output_ += bytes; }
  void finish(Result<int>) override { ended_.set_value(output_); }
  bool is_closed() const override { return false; }
  std::size_t pending_bytes() const override { return 0; }
  void hold_input(bool) override {}
  std::string wait() { return ended_.get_future().get(); }

 private:
  std::string output_;
  std::promise<std::string> ended_;
};

class AgentExecTest : public AgentTest {
 protected:
  std::shared_ptr<kube::PodProcess> exec(const std::string& script) {
    kube::ExecOptions options;
    options.container = "c";
    options.command = {"/bin/sh", "-c", script};
    options.out = options.err = true;
    std::promise<std::shared_ptr<kube::PodProcess>> ready;
    agent_->streams().exec({"default", "p", ""}, options,
                           [&](auto process) { ready.set_value(process.value_or(nullptr)); });
    return ready.get_future().get();
  }
  std::string output_of(const std::string& script) {
    auto client = std::make_shared<ExecClient>();
    exec(script)->begin(client);
    return client->wait();
  }
};

// A user's streams are counted by what their clients hold.
TEST_F(AgentExecTest, IsItsClientsUntilItsProcessEnds) {
  create_led_pod("p", "await end");
  ASSERT_TRUE(wait_for_phase("p", "Running"));
  std::shared_ptr<kube::PodProcess> process =
      exec("touch /gates/began; until test -e /gates/over; do sleep 0.05; done");
  ASSERT_TRUE(process);
  auto client = std::make_shared<ExecClient>();
  const std::weak_ptr<ExecClient> held = client;
  process->begin(std::move(client));
  ASSERT_TRUE(soon([&] { return std::filesystem::exists(gates_.path() + "/began"); }));
  process->leave();
  process.reset();
  EXPECT_EQ(output_of("echo later"), "later\n");  // by now the first session has heard of it
  EXPECT_FALSE(held.expired());
  let_go("over");
  EXPECT_TRUE(soon([&] { return held.expired(); }));
  let_go("end");
}

TEST_F(AgentExecTest, IsKilledWithItsContainerWhenMemoryRunsOut) {
  create_led_pod("p", "await end; cat /proc/self/oom_score_adj");
  ASSERT_TRUE(wait_for_phase("p", "Running"));
  const std::string score = output_of("cat /proc/self/oom_score_adj");
  let_go("end");
  ASSERT_TRUE(wait_for_phase("p", "Succeeded"));
  EXPECT_EQ(score, logs("p"));
  EXPECT_NE(score, read_file("/proc/self/oom_score_adj").value());
}

}  // namespace
}  // namespace hekla::agent
