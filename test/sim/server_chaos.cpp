// The API server on a disk that loses, tears and reorders what was not synced, under random
// clients, and killed at any moment. After every crash and whenever the world is at rest:
// acknowledged writes are there as they were acknowledged, revisions never went back, a watch that
// was resumed shows what a list shows, quotas have counted what is there, and nothing has outlived
// its namespace or its CRD. A failure prints the command that replays it.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "apiserver/kinds/attach_header.h"
#include "apiserver/server/server_fixture_test.h"
#include "controllers/cluster/namespaces.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

using JsonMap = std::map<std::string, json::Value>;

struct Collection {
  std::string bucket, base, plural, api_version, kind;
  bool builtin;
};
const Collection kCollections[] = {
    {"configmaps", "/api/v1", "configmaps", "v1", "ConfigMap", true},
    {"pods", "/api/v1", "pods", "v1", "Pod", true},
    {"things.sim.io", "/apis/sim.io/v1", "things", "sim.io/v1", "Thing", false},
};
constexpr std::size_t kThings = 2;
const std::string kNamespaces[] = {"n0", "n1", "charged"};  // the last one has a quota and stays
const std::string kCrdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const std::string kQuotaPath = "/api/v1/namespaces/charged/resourcequotas";
const std::string kThingsCrd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.sim.io"},
  "spec":{"group":"sim.io","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1",
  "served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object",
  "x-kubernetes-preserve-unknown-fields":true}}}]}})";

std::uint64_t revision_of(const json::Value& object) {
  return std::strtoull(json::text_at(object, {"metadata", "resourceVersion"}).c_str(), nullptr, 10);
}
std::string uid_of(const json::Value& object) { return json::text_at(object, {"metadata", "uid"}); }
std::string key_of(const json::Value& object) {
  return json::text_at(object, {"metadata", "namespace"}) + "/" +
         json::text_at(object, {"metadata", "name"});
}
bool is_deleting(const json::Value& object) {
  return !json::string_at(object, {"metadata", "deletionTimestamp"}).empty();
}
bool has_finalizers(const json::Value& object) {
  const json::Array* finalizers = json::array_at(object, {"metadata", "finalizers"});
  return finalizers && !finalizers->empty();
}
// Items of lists have no type of their own.
bool same_object(json::Value a, json::Value b) {
  for (json::Value* one : {&a, &b})
    for (const char* member : {"apiVersion", "kind"}) one->as_object().erase(member);
  return json::equal(a, b);
}

// What all seeds have done, so that a world in which nothing happens is noticed.
struct Tally {
  std::map<std::string, int> answers;  // "PATCH apply-patch+yaml 200"
  int crashes = 0, resumed = 0, expired = 0, unfinished = 0, quota_refusals = 0;
  int ended_namespaces = 0, ended_crds = 0;
  bool tells = false;  // the story of the only seed
};

// A client that keeps a copy by list and watch.
struct Watcher {
  std::size_t collection = 0;
  std::string selector;
  std::shared_ptr<FakeWriter> stream;
  std::size_t read = 0;
  std::uint64_t at = 0;  // 0: lists first
  JsonMap objects;
};

// A write under way.
struct Sent {
  std::string
      key;  // "0 n0/o1": collection and object; of other objects, or many: their collection alone
  std::string what;  // for the tally
  std::shared_ptr<FakeWriter> answer;
};

// The process and what it stands on.
class Process {
 public:
  Process(sim::Simulation& simulation, sim::SimDisk& disk, store::Options options)
      : simulation_(simulation), disk_(disk), options_(options) {}
  ~Process() { kill(); }

  Result<void> start() {
    for (sim::SimExecutor** loop : {&committer_, &background_, &serving_, &controllers_})
      *loop = &simulation_.add("loop");
    Result<std::unique_ptr<store::Store>> opened =
        store::Store::open(options_, disk_, *committer_, *background_, attach_header);
    if (!opened) return std::unexpected(opened.error());
    store = std::move(*opened);
    Options options;
    options.store = store.get();
    options.loop = serving_;
    options.clock = &simulation_.clock();
    options.rng = &simulation_.rng();
    options.auth.admin_token = "secret";
    options.auth.allow_everything = true;
    options.platform_objects = false;
    server = TRY(ApiServer::create(std::move(options)));
    return {};
  }
  void start_controllers() {
    client_ = server->client(*controllers_, {"namespace-controller"});
    namespaces_ =
        std::make_unique<controllers::Namespaces>(*client_, server->discovery(), "the root");
    namespaces_->start();
  }
  void kill() {
    for (sim::SimExecutor* loop : {committer_, background_, serving_, controllers_})
      if (loop) loop->stop();
    connections_.hang_up();
    namespaces_.reset();
    client_.reset();
    server.reset();
    store.reset();
  }

  std::shared_ptr<FakeWriter> send(const std::string& method, const std::string& target,
                                   std::string body = {},
                                   const std::string& type = "application/json") {
    net::Request request;
    request.method = method;
    const std::size_t mark = target.find('?');
    request.path = target.substr(0, mark);
    if (mark != std::string::npos) request.query = net::Query::parse(target.substr(mark + 1));
    request.body = std::move(body);
    request.headers.add("Authorization", "Bearer secret");
    request.headers.add("Content-Type", type);
    std::shared_ptr<FakeWriter> writer = connections_.open();
    server->handler()(std::move(request), writer);
    return writer;
  }

  std::unique_ptr<store::Store> store;
  std::unique_ptr<ApiServer> server;

 private:
  sim::Simulation& simulation_;
  sim::SimDisk& disk_;
  const store::Options options_;
  sim::SimExecutor *committer_ = nullptr, *background_ = nullptr, *serving_ = nullptr,
                   *controllers_ = nullptr;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<controllers::Namespaces> namespaces_;
  FakeConnections connections_;
};

// A disk on which a server has been before: made once, every life begins with it.
struct Beginning {
  std::map<std::string, std::string> files;

  Beginning() {
    sim::Simulation simulation(1);
    sim::SimDisk disk(1);
    Process process(simulation, disk, {});
    EXPECT_TRUE(process.start());
    auto make = [&](const std::string& method, const std::string& path, const std::string& body) {
      EXPECT_TRUE(simulation.run_until_idle());
      auto answer =
          process.send(method, path, body,
                       method == "PATCH" ? "application/merge-patch+json" : "application/json");
      EXPECT_TRUE(simulation.run_until_idle());
      EXPECT_LT(answer->answer.status, 300) << path << answer->answer.body;
    };
    for (const std::string& ns : kNamespaces) {
      make("POST", "/api/v1/namespaces", R"({"metadata":{"name":")" + ns + R"("}})");
      make("POST", "/api/v1/namespaces/" + ns + "/serviceaccounts",
           R"({"metadata":{"name":"default"}})");
    }
    make("POST", kCrdPath, kThingsCrd);
    const std::string hard =
        R"("hard":{"count/configmaps":"3","count/things.sim.io":"2","pods":"4","requests.cpu":"700m"})";
    const std::string used =
        R"("used":{"count/configmaps":"0","count/things.sim.io":"0","pods":"0","requests.cpu":"0"})";
    make("POST", kQuotaPath, R"({"metadata":{"name":"q"},"spec":{)" + hard + "}}");
    make("PATCH", kQuotaPath + "/q/status", R"({"status":{)" + hard + "," + used + "}}");
    process.store->compact([](Result<void> done) { EXPECT_TRUE(done); });
    EXPECT_TRUE(simulation.run_until_idle());
    process.kill();
    const auto names = disk.list();
    for (const std::string& name : *names) files[name] = disk.read(name).value_or("");
  }
};
const Beginning& beginning() {
  static const Beginning made;
  return made;
}

class World {
 public:
  World(std::uint64_t seed, Tally& tally)
      : tally_(tally),
        rng_(seed * 2 + 1),
        simulation_(seed),
        disk_(seed ^ 0x5eed),
        process_(simulation_, disk_, options(seed)) {
    for (const auto& [name, content] : beginning().files) disk_.put_file(name, content);
    for (std::size_t i = 0; i < std::size(kCollections); ++i) watchers_.push_back({i, ""});
    watchers_.push_back({uniform(rng_, std::size(kCollections)), "l=x"});
  }

  void live() {
    start();
    int crashes = 2;
    for (int step = 0; step < 70 && crashes > 0 && !testing::Test::HasFailure(); ++step) {
      act();
      collect();
      if (!disk_.power_lost() && !rng_.chance(2)) continue;
      restart();
      --crashes;
    }
    if (testing::Test::HasFailure()) return;
    restart();
    rest(std::chrono::seconds(3));
  }

 private:
  static store::Options options(std::uint64_t seed) {
    store::Options options;
    options.history_changes = seed % 4 == 0 ? 10 : 1000;
    options.log_bytes_before_snapshot = seed % 3 == 0 ? 100'000 : 1'000'000;
    options.write_ahead_bytes = seed % 2 * 20'000;
    return options;
  }

  void tell(const std::string& line) const {
    if (tally_.tells) std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::uint64_t pick(std::uint64_t bound) { return uniform(rng_, bound); }
  std::string number() { return std::to_string(++numbers_); }

  void act() {
    const std::uint64_t roll = pick(100);
    if (roll < 60) return write();
    if (roll < 82) return run_some();
    if (roll < 87) return rest(Nanos(0));
    if (roll < 90) return rest(std::chrono::milliseconds(pick(700)));
    if (roll < 94) return end_something();
    if (roll < 95) return process_.store->compact({});
    if (roll < 96) return fault([&] { disk_.fail_next_syncs(1); });
    if (roll < 97) return fault([&] { disk_.set_space_left(pick(6000)); });
    if (roll < 98) return disk_.set_space_left(std::nullopt);
    fault([&] { disk_.cut_power_after(pick(12)); });
  }
  void fault(const std::function<void()>& happen) {
    happen();
    faulty_ = true;
  }
  void run_some() {
    for (std::uint64_t i = pick(30); i > 0; --i) simulation_.step();
  }

  // One random write to one of a few objects.
  void write() {
    std::size_t c = pick(std::size(kCollections));
    std::string ns = kNamespaces[pick(std::size(kNamespaces))],
                name = "o" + std::to_string(pick(3));
    if (!acknowledged_.empty() && rng_.chance(60)) {  // something that is there
      auto known =
          std::next(acknowledged_.begin(), static_cast<std::ptrdiff_t>(pick(acknowledged_.size())));
      c = static_cast<std::size_t>(known->first[0] - '0');
      ns = json::text_at(known->second, {"metadata", "namespace"});
      name = json::text_at(known->second, {"metadata", "name"});
    }
    const Collection& of = kCollections[c];
    const std::string all = of.base + "/namespaces/" + ns + "/" + of.plural, one = all + "/" + name;
    const std::string key = std::to_string(c) + " " + ns + "/" + name;
    const std::string labels = R"({"metadata":{"labels":{"l":")" +
                               std::string(rng_.chance(50) ? "x" : "y") + R"(","n":")" + number() +
                               "\"}}}";
    switch (pick(9)) {
      case 0:
      case 1:
        return send(key, "POST", all, object(c, name));
      case 2:
        return send(key, "PATCH", one, labels, "application/merge-patch+json");
      case 3:
        return send(
            key, "PATCH", one, labels,
            of.builtin ? "application/strategic-merge-patch+json" : "application/merge-patch+json");
      case 4:
        return send(key, "PATCH", one,
                    R"([{"op":"add","path":"/metadata/labels/j","value":")" + number() + "\"}]",
                    "application/json-patch+json");
      case 5:
        return send(key, "PATCH", one + "?fieldManager=sim&force=true", object(c, name),
                    "application/apply-patch+yaml");
      case 6:
        return rng_.chance(50)
                   ? update(key, one)
                   : send(key, "PATCH",
                          one + (c == kThings || of.plural == "pods" ? "/status" : ""),
                          R"({"status":{"phase":"Succeeded"}})", "application/merge-patch+json");
      case 7:
        return send(key, "PATCH", one, R"({"metadata":{"finalizers":null}})",
                    "application/merge-patch+json");
      default:
        if (rng_.chance(10)) return send(std::to_string(c), "DELETE", all + "?labelSelector=l%3Dx");
        return send(key, "DELETE", one);
    }
  }

  std::string object(std::size_t c, const std::string& name) {
    const Collection& of = kCollections[c];
    std::string text = R"({"apiVersion":")" + of.api_version + R"(","kind":")" + of.kind +
                       R"(","metadata":{"name":")" + name + R"(","labels":{"l":")" +
                       (rng_.chance(50) ? "x" : "y") + R"(","n":")" + number() + "\"}";
    if (rng_.chance(20)) text += R"(,"finalizers":["sim.io/f"])";
    text += "},";
    if (of.plural == "pods")
      return text +
             R"("spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"300m"}}}]}})";
    return text + R"("data":{"n":")" + number() + "\"}}";
  }

  // What was read is written back: a conflict if somebody was faster.
  void update(const std::string& key, const std::string& path) {
    auto known = acknowledged_.find(key);
    if (known == acknowledged_.end()) return;
    json::Value changed = known->second;
    json::at_path(changed, {"metadata", "annotations", "u"}) = number();
    send(key, "PUT", path, json::serialize(changed));
  }

  void end_something() {
    if (rng_.chance(50)) {
      const std::string ns = kNamespaces[pick(std::size(kNamespaces) - 1)];
      shaken_namespaces_.insert(ns);
      if (rng_.chance(60)) return send("", "DELETE", "/api/v1/namespaces/" + ns);
      return send("", "POST", "/api/v1/namespaces", R"({"metadata":{"name":")" + ns + R"("}})");
    }
    shaken_crd_ = true;
    if (rng_.chance(50)) return send("", "DELETE", kCrdPath + "/things.sim.io");
    send("", "POST", kCrdPath, kThingsCrd);
  }

  void send(const std::string& key, const std::string& method, const std::string& path,
            std::string body = {}, const std::string& type = "application/json") {
    std::string what = method + (method == "PATCH" ? " " + type.substr(type.find('/') + 1) : "");
    tell(what + " " + path + " " + body);
    open_.push_back({key, std::move(what), process_.send(method, path, std::move(body), type)});
  }

  // Takes note of what was answered.
  void collect() {
    std::vector<Sent> waiting;
    for (Sent& sent : open_) {
      if (sent.answer->answered)
        answered(sent);
      else
        waiting.push_back(std::move(sent));
    }
    open_ = std::move(waiting);
    for (Watcher& watcher : watchers_) feed(watcher);
  }

  void answered(const Sent& sent) {
    const int status = sent.answer->answer.status;
    tell("  answered: " + sent.what + " " + sent.key + " " + std::to_string(status) + " " +
         sent.answer->answer.body);
    ++tally_.answers[sent.what + " " + std::to_string(status)];
    if (status >= 500) {
      EXPECT_TRUE(faulty_) << sent.what << " " << sent.key << ": " << sent.answer->answer.body;
      failed_.insert(sent.key);
    }
    if (sent.answer->answer.body.find("exceeded quota") != std::string::npos)
      ++tally_.quota_refusals;
    if (status >= 300) return;
    Result<json::Value> body = json::parse(sent.answer->answer.body);
    ASSERT_TRUE(body) << sent.answer->answer.body;
    newest_ = std::max(newest_, revision_of(*body));
    if (sent.key.find('/') == std::string::npos) {  // many at once, or none of the collections
      unsure_.insert(sent.key);
      return;
    }
    if (json::string_at(*body, {"kind"}) == "Status")
      return gone(sent.key, json::text_at(*body, {"details", "uid"}));
    if (is_deleting(*body) && !has_finalizers(*body)) return gone(sent.key, uid_of(*body));
    if (gone_.contains(uid_of(*body))) return;
    auto known = acknowledged_.find(sent.key);
    if (known == acknowledged_.end())
      acknowledged_.emplace(sent.key, std::move(*body));
    else if (revision_of(known->second) < revision_of(*body))
      known->second = std::move(*body);
  }
  void gone(const std::string& key, const std::string& uid) {
    gone_.insert(uid);
    auto known = acknowledged_.find(key);
    if (known != acknowledged_.end() && uid_of(known->second) == uid) acknowledged_.erase(known);
  }

  // Everything that has been sent is answered, and `longer` passes.
  void rest(Nanos longer) {
    ASSERT_TRUE(simulation_.run_until_idle()) << "spinning";
    ASSERT_TRUE(simulation_.run_for(longer, 200'000)) << "spinning";
    if (disk_.power_lost()) return;
    collect();
    EXPECT_TRUE(open_.empty()) << open_.front().what << " " << open_.front().key
                               << " was never answered";
    check();
    for (Watcher& watcher : watchers_) follow(watcher);
    if (!testing::Test::HasFailure()) compare_with_list(watchers_[pick(watchers_.size())]);
  }

  void start() {
    Result<void> started = process_.start();
    while (!started && disk_.power_lost()) {
      process_.kill();
      disk_.crash();
      started = process_.start();
    }
    ASSERT_TRUE(started) << started.error().message;
    process_.start_controllers();
  }

  void restart() {
    ++tally_.crashes;
    tell("crash");
    tally_.unfinished += static_cast<int>(open_.size());
    collect();
    process_.kill();
    for (const Sent& sent : open_) unsure_.insert(sent.key);
    open_.clear();
    disk_.crash();
    faulty_ = rng_.chance(15);
    if (faulty_) disk_.cut_power_after(pick(6));
    start();
    if (testing::Test::HasFailure()) return;
    EXPECT_GE(process_.store->snapshot().revision(), newest_) << "revisions went back";
    // What failed is not seen while the process lives, but a start may find it.
    unsure_.merge(failed_);
    failed_.clear();
    check();
    for (Watcher& watcher : watchers_) {
      watcher.stream = nullptr;
      follow(watcher);
    }
  }

  // All objects of a bucket, by key.
  JsonMap stored(const store::Snapshot& snapshot, const std::string& bucket) {
    JsonMap found;
    snapshot.scan(process_.store->bucket(bucket), "", "", [&](const store::ItemPtr& item) {
      Result<json::Value> object = json::parse(item->value);
      EXPECT_TRUE(object) << item->value;
      if (object) found.emplace(item->key, std::move(*object));
      return true;
    });
    return found;
  }

  void check() {
    const store::Snapshot snapshot = process_.store->snapshot();
    newest_ = std::max(newest_, snapshot.revision());
    const JsonMap namespaces = stored(snapshot, "namespaces");
    const JsonMap crds = stored(snapshot, "customresourcedefinitions.apiextensions.k8s.io");
    const bool crd_stands =
        crds.contains("things.sim.io") && !is_deleting(crds.at("things.sim.io"));
    tally_.ended_crds += !crds.contains("things.sim.io");
    tell("checked at revision " + std::to_string(snapshot.revision()));
    for (const std::string& ns : kNamespaces) tally_.ended_namespaces += !namespaces.contains(ns);
    std::map<std::string, JsonMap> all;
    for (std::size_t c = 0; c < std::size(kCollections); ++c) {
      const JsonMap& objects = all[kCollections[c].plural] =
          stored(snapshot, kCollections[c].bucket);
      for (const auto& [key, object] : objects) {
        const std::string ns = json::text_at(object, {"metadata", "namespace"});
        EXPECT_TRUE(namespaces.contains(ns)) << key << " has outlived its namespace";
        EXPECT_FALSE(gone_.contains(uid_of(object))) << key << " was deleted and is back";
      }
      const bool excused = c == kThings && (shaken_crd_ || !crd_stands);
      check_acknowledged(c, objects, namespaces, excused);
    }
    EXPECT_TRUE(crds.contains("things.sim.io") || all["things"].empty())
        << all["things"].begin()->first << " has outlived its CRD";
    check_quota(stored(snapshot, "resourcequotas").at("charged/q"), all);
    unsure_.clear();
    shaken_namespaces_.clear();
    for (const auto& [name, ns] : namespaces)
      if (is_deleting(ns)) shaken_namespaces_.insert(name);
    shaken_crd_ = !crd_stands;
  }

  // What is there is what was acknowledged last, or what somebody who was not told has made of it.
  void check_acknowledged(std::size_t c, const JsonMap& objects, const JsonMap& namespaces,
                          bool excused) {
    const std::string prefix = std::to_string(c) + " ";
    for (const auto& [key, object] : acknowledged_) {
      if (!key.starts_with(prefix)) continue;
      auto found = objects.find(key.substr(prefix.size()));
      const bool there = found != objects.end();
      const std::string ns = key.substr(prefix.size(), key.find('/') - prefix.size());
      const bool may_differ = excused || unsure_.contains(key) ||
                              unsure_.contains(std::to_string(c)) ||
                              shaken_namespaces_.contains(ns) || !namespaces.contains(ns) ||
                              is_deleting(namespaces.at(ns));
      if (there && revision_of(found->second) == revision_of(object)) {
        EXPECT_TRUE(same_object(found->second, object))
            << key << " is not what was acknowledged: " << json::serialize(found->second) << " for "
            << json::serialize(object);
      } else if (there) {
        EXPECT_GT(revision_of(found->second), revision_of(object)) << key << " went back";
        EXPECT_TRUE(may_differ) << key << " was changed by nobody";
      } else {
        EXPECT_TRUE(may_differ) << key << " was acknowledged and is not there: "
                                << json::serialize(object);
      }
    }
    std::erase_if(acknowledged_, [&](const auto& one) { return one.first.starts_with(prefix); });
    for (const auto& [key, object] : objects)
      if (key.find("/o") != std::string::npos)
        acknowledged_.emplace(prefix + key, object);  // others have a controller
  }

  void check_quota(const json::Value& quota, const std::map<std::string, JsonMap>& all) {
    std::map<std::string, std::int64_t> count;  // in thousandths
    for (const auto& [plural, objects] : all) {
      for (const auto& [key, object] : objects) {
        if (!key.starts_with("charged/")) continue;
        if (plural != "pods")
          count["count/" + plural + (plural == "things" ? ".sim.io" : "")] += 1000;
        if (plural != "pods" || json::string_at(object, {"status", "phase"}) == "Succeeded")
          continue;
        count["pods"] += 1000;
        count["requests.cpu"] += 300;
      }
    }
    for (const char* name : {"count/configmaps", "count/things.sim.io", "pods", "requests.cpu"}) {
      Result<model::Quantity> used =
          model::Quantity::parse(json::string_at(quota, {"status", "used", name}));
      ASSERT_TRUE(used) << json::serialize(quota);
      EXPECT_EQ(used->milli_value(), count[name]) << name << " as the quota has it";
    }
  }

  // Reads what the stream has brought.
  void feed(Watcher& watcher) {
    if (!watcher.stream) return;
    const std::string& body = watcher.stream->answer.body;
    for (std::size_t end; (end = body.find('\n', watcher.read)) != std::string::npos;
         watcher.read = end + 1) {
      Result<json::Value> event =
          json::parse(std::string_view(body).substr(watcher.read, end - watcher.read));
      ASSERT_TRUE(event);
      const json::Value& object = event->at("object");
      const std::string type = json::text_at(*event, {"type"}), key = key_of(object);
      if (type == "ERROR") {
        EXPECT_EQ(json::int_at(object, {"code"}), 410) << json::serialize(object);
        EXPECT_LT(watcher.at, process_.store->oldest_history()) << "the history reaches back to it";
        ++tally_.expired;
        watcher.at = 0;
        watcher.stream = nullptr;
        return;
      }
      EXPECT_GT(revision_of(object), watcher.at) << "out of order";
      watcher.at = revision_of(object);
      newest_ = std::max(newest_, watcher.at);
      EXPECT_EQ(type != "ADDED", watcher.objects.contains(key)) << type << " " << key;
      watcher.objects.erase(key);
      if (type != "DELETED") watcher.objects.emplace(key, object);
    }
  }

  std::string target(const Watcher& watcher) {
    const Collection& of = kCollections[watcher.collection];
    return of.base + "/" + of.plural + "?labelSelector=" + watcher.selector;
  }

  // Lists if need be, and watches from there; reads what there is.
  void follow(Watcher& watcher) {
    feed(watcher);
    if (watcher.stream && !watcher.stream->ended) return;
    watcher.stream = nullptr;
    if (watcher.at == 0) {
      auto listed = process_.send("GET", target(watcher));
      ASSERT_TRUE(simulation_.run_until([&] { return listed->answered; }));
      watcher.objects.clear();
      if (listed->answer.status == 404) return;  // its CRD is gone
      Result<json::Value> list = json::parse(listed->answer.body);
      ASSERT_TRUE(list);
      for (const json::Value& item : *json::array_at(*list, {"items"}))
        watcher.objects.emplace(key_of(item), item);
      watcher.at = revision_of(*list);
    } else {
      ++tally_.resumed;
    }
    watcher.read = 0;
    watcher.stream = process_.send(
        "GET", target(watcher) + "&watch=true&resourceVersion=" + std::to_string(watcher.at));
    auto stream = watcher.stream;
    ASSERT_TRUE(simulation_.run_until([&] { return stream->answered; }));
    ASSERT_TRUE(simulation_.run_until_idle());
    if (stream->answer.status != 200) {
      EXPECT_EQ(stream->answer.status, 404) << stream->answer.body;
      watcher.stream = nullptr;
      watcher.at = 0;
      watcher.objects.clear();
      return;
    }
    feed(watcher);
    if (!watcher.stream && !testing::Test::HasFailure())
      follow(watcher);  // too late: from the beginning
  }

  void compare_with_list(Watcher& watcher) {
    if (disk_.power_lost()) return;
    auto listed = process_.send("GET", target(watcher));
    ASSERT_TRUE(simulation_.run_until([&] { return listed->answered; }));
    ASSERT_TRUE(simulation_.run_until_idle());
    feed(watcher);
    if (!watcher.stream) return;
    if (listed->answer.status == 404) return;
    Result<json::Value> list = json::parse(listed->answer.body);
    ASSERT_TRUE(list);
    JsonMap items;
    for (const json::Value& item : *json::array_at(*list, {"items"}))
      items.emplace(key_of(item), item);
    EXPECT_EQ(items.size(), watcher.objects.size()) << target(watcher);
    for (const auto& [key, item] : items) {
      auto seen = watcher.objects.find(key);
      ASSERT_NE(seen, watcher.objects.end()) << key << " was listed and never seen";
      EXPECT_TRUE(same_object(seen->second, item)) << key << " is not what the watch has shown";
    }
  }

  Tally& tally_;
  sim::SeededRng rng_;
  sim::Simulation simulation_;
  sim::SimDisk disk_;
  Process process_;
  std::vector<Watcher> watchers_;
  std::vector<Sent> open_;
  JsonMap acknowledged_;
  std::set<std::string> gone_;    // uids of objects whose deletion was acknowledged
  std::set<std::string> unsure_;  // keys whose writers do not know what became of it
  std::set<std::string> failed_;  // keys of writes that the disk refused
  std::set<std::string> shaken_namespaces_;
  bool shaken_crd_ = false;
  bool faulty_ = false;
  std::uint64_t newest_ = 0;
  std::uint64_t numbers_ = 0;
};

void run_seeds(std::uint64_t from, std::uint64_t to, Tally& tally) {
  const bool many = from != to;
  beginning();
  if (many) testing::internal::CaptureStderr();  // thousands of lines about broken disks
  for (std::uint64_t seed = from; seed <= to && !testing::Test::HasFailure(); ++seed) {
    World(seed, tally).live();
    if (testing::Test::HasFailure())
      ADD_FAILURE()
          << "replay: server_chaos --gtest_also_run_disabled_tests --gtest_filter='*Replay' "
             "--gtest_random_seed="
          << seed;
  }
  if (many) testing::internal::GetCapturedStderr();
}

void run_many(std::uint64_t from, std::uint64_t to) {
  Tally tally;
  run_seeds(from, to, tally);
  if (testing::Test::HasFailure()) return;
  std::string text;
  for (const auto& [what, count] : tally.answers)
    text += what + ": " + std::to_string(count) + "\n";
  SCOPED_TRACE(text);
  const int least = static_cast<int>(to - from + 1) / 10;
  for (const char* what :
       {"POST 201", "PUT 200", "PUT 409", "PATCH merge-patch+json 200", "PATCH json-patch+json 200",
        "PATCH strategic-merge-patch+json 200", "PATCH apply-patch+yaml 200",
        "PATCH apply-patch+yaml 201", "DELETE 200"})
    EXPECT_GT(tally.answers[what], least / 10) << what;
  for (int count : {tally.crashes, tally.resumed, tally.unfinished, tally.ended_crds,
                    tally.ended_namespaces, tally.quota_refusals})
    EXPECT_GT(count, least);
  EXPECT_GT(tally.expired, least / 10);
}

TEST(ServerUnderChaos, KeepsItsPromises) { run_many(1, 1000); }

TEST(ServerUnderChaos, TwentyThousandTimes) { run_many(1001, 21'000); }

TEST(ServerUnderChaos, DISABLED_Replay) {
  Tally tally;
  tally.tells = true;
  const auto seed = static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed());
  run_seeds(seed, seed, tally);
}

}  // namespace
}  // namespace hekla::apiserver
