#include "agent/volumes/claim_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "agent/os/instance.h"
#include "agent/volumes/claim_match.h"
#include "base/log.h"
#include "json/parse.h"
#include "kube/events.h"
#include "kube/informer.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kSweepPeriod{1};
// Of a volume or a claim it is enough to know that it has changed; a sweep reads them whole.
struct Stirred {
  model::ObjectMeta metadata;
};
BOOST_DESCRIBE_STRUCT(Stirred, (), (metadata))
constexpr mode_t kOpenToAll = 0777;
constexpr std::size_t kBindsPerSweep = 256, kMostTold = 10'000;
constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
using ClaimDone = std::move_only_function<void(Result<ClaimVolume>)>;
using Written = std::move_only_function<void(kube::WriteResult)>;

kube::Write patch_of(const kube::Resource& resource, kube::Key key, json::Value body,
                     std::string subresource = {}) {
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = resource;
  write.key = std::move(key);
  write.body = std::move(body);
  write.subresource = std::move(subresource);
  return write;
}

json::Value phase_patch(const char* phase) {
  json::Object status, patch;
  status["phase"] = phase;
  patch["status"] = std::move(status);
  return patch;
}

std::string name_of(const json::Value& object) {
  return std::string(json::string_at(object, {"metadata", "name"}));
}

kube::Key key_of(const json::Value& object) {
  return {std::string(json::string_at(object, {"metadata", "namespace"})), name_of(object)};
}

// The name of the claim's class; empty for none. One that was made before there was a default has
// no member at all.
std::string class_of(const json::Value& claim) {
  if (!json::find_path(claim, {"spec", "storageClassName"})) return kLocalPathClass;
  return std::string(json::string_at(claim, {"spec", "storageClassName"}));
}

Error not_bound(const std::string& claim) {
  return Error{Code::unavailable, "persistentvolumeclaim \"" + claim + "\" not bound"};
}

std::vector<json::Value> parse_all(const kube::List& list) {
  std::vector<json::Value> out;
  for (const kube::ObjectPtr& object : list.items)
    if (Result<json::Value> value = json::parse(*object->json)) out.push_back(std::move(*value));
  return out;
}

std::string_view controller_uid(const json::Value& object) {
  if (const json::Array* owners = json::array_at(object, {"metadata", "ownerReferences"}))
    for (const json::Value& owner : *owners)
      if (json::bool_at(owner, {"controller"})) return json::string_at(owner, {"uid"});
  return {};
}

}  // namespace

std::vector<std::string> claim_names(const model::Pod& pod) {
  std::vector<std::string> names;
  for (const json::Value& volume : pod.spec.volumes)
    if (std::string name = claim_behind(pod, volume); !name.empty())
      names.push_back(std::move(name));
  return names;
}

struct ClaimStore::State : std::enable_shared_from_this<ClaimStore::State> {
  State(ClaimStoreOptions options, kube::Client& client)
      : options(std::move(options)),
        client(client),
        binder(client, "persistentvolume-controller"),
        provisioner(client, kLocalPathProvisioner),
        volumes(client, kube::resources::persistent_volumes),
        claims(client, kube::resources::persistent_volume_claims) {
    volumes.on_settled([this] { unswept = true; });
    claims.on_settled([this] { unswept = true; });
  }

  void get(const kube::Resource& resource, const kube::Key& key,
           std::move_only_function<void(Result<json::Value>)> done) {
    client.get(
        resource, key,
        [self = weak_from_this(), done = std::move(done)](Result<kube::ObjectPtr> object) mutable {
          if (!self.lock()) return;
          if (!object) return done(std::unexpected(object.error()));
          done(json::parse(*(*object)->json));
        });
  }
  // Several writes; all are tried, and the first failure is told.
  void write_all(std::vector<kube::Write> writes,
                 std::move_only_function<void(Result<void>)> done) {
    client.batch(std::move(writes),
                 [done = std::move(done)](std::vector<kube::WriteResult> results) mutable {
                   for (kube::WriteResult& result : results)
                     if (!result && result.error().code != Code::already_exists)
                       return done(std::unexpected(result.error()));
                   done({});
                 });
  }

  // `owner` is the pod that the claim must have been made for, if any.
  void resolve_one(const kube::Key& key, const std::optional<model::ObjectMeta>& owner,
                   ClaimDone done) {
    get(kube::resources::persistent_volume_claims, key,
        [this, key, owner, done = std::move(done)](Result<json::Value> claim) mutable {
          if (!claim) return done(std::unexpected(claim.error()));
          if (owner && controller_uid(*claim) != owner->uid)
            return done(fail(Code::conflict, "PVC " + key.ns + "/" + key.name +
                                                 " was not created for pod " + key.ns + "/" +
                                                 owner->name + " (pod is not owner)"));
          std::string volume(json::string_at(*claim, {"spec", "volumeName"}));
          if (volume.empty()) return provision(std::move(*claim), std::move(done));
          get(kube::resources::persistent_volumes, {"", volume},
              [claim = std::move(*claim),
               done = std::move(done)](Result<json::Value> found) mutable {
                if (!found) return done(std::unexpected(found.error()));
                // A claim may name any volume: the volume has the last
                // word.
                if (json::string_at(*found, {"spec", "claimRef", "uid"}) !=
                    json::string_at(claim, {"metadata", "uid"}))
                  return done(std::unexpected(not_bound(name_of(claim))));
                done(located(*found));
              });
        });
  }
  static Result<ClaimVolume> located(const json::Value& volume) {
    ClaimVolume out;
    out.path = TRY(volume_path(volume));
    out.must_exist = json::object_at(volume, {"spec", "local"}) != nullptr;
    out.provisioned = json::string_at(volume, {"metadata", "annotations", kProvisionedBy}) ==
                      kLocalPathProvisioner;
    out.read_only = is_read_only(volume);
    return out;
  }

  void provision(json::Value claim, ClaimDone done) {
    const std::string name = class_of(claim);
    if (name.empty()) return done(std::unexpected(not_bound(name_of(claim))));
    get(kube::resources::storage_classes, {"", name},
        [this, claim = std::move(claim),
         done = std::move(done)](Result<json::Value> found) mutable {
          if (!found || json::string_at(*found, {"provisioner"}) != kLocalPathProvisioner)
            return done(std::unexpected(not_bound(name_of(claim))));
          make_volume(claim, *found, std::move(done));
        });
  }
  void make_volume(const json::Value& claim, const json::Value& storage_class, ClaimDone done) {
    kube::Key key = key_of(claim);
    const std::string path = options.directory + "/pvc-" +
                             std::string(json::string_at(claim, {"metadata", "uid"})) + "_" +
                             key.ns + "_" + key.name;
    provisioner.record(target_of(claim), "Normal", "Provisioning",
                       "External provisioner is provisioning volume for claim \"" + key.ns + "/" +
                           key.name + "\"");
    if (Result<void> made = make_directories(path); !made) {
      provisioner.record(target_of(claim), "Warning", "ProvisioningFailed",
                         "failed to provision volume with StorageClass \"" +
                             name_of(storage_class) + "\": " + made.error().message);
      return done(std::unexpected(made.error()));
    }
    ::chmod(path.c_str(), kOpenToAll);  // whoever the pod runs as may write
    json::Value volume = provisioned_volume(claim, storage_class, path, options.node_name);
    kube::Write create;
    create.resource = kube::resources::persistent_volumes;
    create.key = {"", name_of(volume)};
    create.body = volume;
    json::Value binding = claim_binding(name_of(volume), kLocalPathProvisioner);
    binding.as_object()["spec"].as_object()["storageClassName"] = name_of(storage_class);
    std::vector<kube::Write> writes;
    writes.push_back(patch_of(kube::resources::persistent_volume_claims, key, std::move(binding)));
    add_bound(writes, key, volume);
    write_in_turn(std::move(create), std::move(writes),
                  [weak = weak_from_this(), path, target = target_of(claim), name = name_of(volume),
                   done = std::move(done)](Result<void> written) mutable {
                    auto self = weak.lock();
                    if (!self) return;
                    if (!written) return done(std::unexpected(written.error()));
                    self->provisioner.record(target, "Normal", "ProvisioningSucceeded",
                                             "Successfully provisioned volume " + name);
                    done(ClaimVolume{path, true});
                  });
  }
  static kube::EventTarget target_of(const json::Value& claim) {
    kube::EventTarget target;
    target.api_version = "v1";
    target.kind = "PersistentVolumeClaim";
    target.ns = key_of(claim).ns;
    target.name = name_of(claim);
    target.uid = std::string(json::string_at(claim, {"metadata", "uid"}));
    return target;
  }
  // The volume first: a claim that says it is bound is never looked at again.
  void write_in_turn(kube::Write first, std::vector<kube::Write> rest,
                     std::move_only_function<void(Result<void>)> done) {
    write_all({std::move(first)}, [weak = weak_from_this(), rest = std::move(rest),
                                   done = std::move(done)](Result<void> written) mutable {
      auto self = weak.lock();
      if (!self) return;
      if (!written) return done(std::move(written));
      self->write_all(std::move(rest), std::move(done));
    });
  }
  static void add_bound(std::vector<kube::Write>& writes, const kube::Key& claim,
                        const json::Value& volume) {
    writes.push_back(patch_of(kube::resources::persistent_volumes, {"", name_of(volume)},
                              phase_patch("Bound"), "status"));
    writes.push_back(patch_of(kube::resources::persistent_volume_claims, claim,
                              claim_bound_status(volume), "status"));
  }

  void sweep_later() {
    client.executor().post_after(kSweepPeriod, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->sweep();
    });
  }
  void sweep() {
    if (!std::exchange(unswept, false)) return sweep_later();
    client.list(kube::resources::persistent_volumes, {},
                [self = shared_from_this()](Result<kube::List> volumes) {
                  if (!volumes) {
                    self->unswept = true;
                    return self->sweep_later();
                  }
                  auto all = std::make_shared<std::vector<json::Value>>(parse_all(*volumes));
                  self->client.list(kube::resources::persistent_volume_claims, {},
                                    [self, all](Result<kube::List> claims) {
                                      if (claims)
                                        self->look_after(std::move(*all), parse_all(*claims));
                                      else
                                        self->unswept = true;
                                      self->sweep_later();
                                    });
                });
  }
  void look_after(std::vector<json::Value> volumes, const std::vector<json::Value>& claims) {
    std::unordered_set<std::string_view> alive;
    for (const json::Value& claim : claims)
      alive.insert(json::string_at(claim, {"metadata", "uid"}));
    for (const json::Value& volume : volumes) look_after_volume(volume, alive);
    std::vector<const json::Value*> unbound;
    std::vector<json::Value> left_over;                // that no volume fits
    std::unordered_set<std::string_view> waiting{""};  // whose volumes may be theirs
    for (const json::Value& claim : claims) {
      if (!is_to_be_bound(claim)) {
        if (is_waiting(claim)) left_over.push_back(claim);
        continue;
      }
      unbound.push_back(&claim);
      waiting.insert(json::string_at(claim, {"metadata", "uid"}));
    }
    std::erase_if(volumes, [&](const json::Value& volume) {
      return !waiting.contains(json::string_at(volume, {"spec", "claimRef", "uid"}));
    });
    std::size_t left = kBindsPerSweep;
    for (const json::Value* claim : unbound) {
      auto fitting = match_volume(*claim, volumes);
      if (!fitting) {
        if (is_waiting(*claim)) left_over.push_back(*claim);
        continue;
      }
      if (left-- == 0) {
        unswept = true;
        break;
      }
      json::Value& volume = volumes[*fitting];
      volume.as_object()["spec"].as_object()["claimRef"] = volume_claim_ref(*claim);
      bind(*claim, volume);
    }
    if (!left_over.empty()) look_after_unbound(std::move(left_over));
  }
  static bool is_waiting(const json::Value& claim) {
    return json::string_at(claim, {"spec", "volumeName"}).empty() &&
           json::string_at(claim, {"metadata", "deletionTimestamp"}).empty();
  }
  // Volumes for those that want theirs at once, and a word for those that wait.
  void look_after_unbound(std::vector<json::Value> unbound) {
    client.list(kube::resources::storage_classes, {},
                [weak = weak_from_this(), unbound = std::move(unbound)](Result<kube::List> list) {
                  auto self = weak.lock();
                  if (!self) return;
                  if (!list) {
                    self->unswept = true;
                    return;
                  }
                  std::vector<json::Value> classes = parse_all(*list);
                  for (const json::Value& claim : unbound) self->look_after_unbound(claim, classes);
                });
  }
  void look_after_unbound(const json::Value& claim, const std::vector<json::Value>& classes) {
    const std::string wanted = class_of(claim);
    auto found = std::ranges::find_if(
        classes, [&](const json::Value& one) { return name_of(one) == wanted; });
    if (wanted.empty())
      return tell(claim, "Normal", "FailedBinding",
                  "no persistent volumes available for this claim and no storage class is set");
    if (found == classes.end())
      return tell(claim, "Warning", "ProvisioningFailed",
                  "storageclass.storage.k8s.io \"" + wanted + "\" not found");
    if (json::string_at(*found, {"volumeBindingMode"}) == "WaitForFirstConsumer")
      return tell(claim, "Normal", "WaitForFirstConsumer",
                  "waiting for first consumer to be created before binding");
    const std::string by(json::string_at(*found, {"provisioner"}));
    tell(claim, "Normal", "ExternalProvisioning",
         "Waiting for a volume to be created either by the external provisioner '" + by +
             "' or manually by the system administrator. If volume creation is delayed, please "
             "verify that the "
             "provisioner is running and correctly registered.");
    if (by != kLocalPathProvisioner) return;
    auto again = again_unless_done("provision a volume");
    make_volume(claim, *found, [again = std::move(again)](const Result<ClaimVolume>& made) mutable {
      again(made ? Result<void>() : std::unexpected(made.error()));
    });
  }
  // Once for each reason: a sweep comes with every change of any claim.
  void tell(const json::Value& claim, const char* type, const char* reason,
            const std::string& message) {
    std::string uid(json::string_at(claim, {"metadata", "uid"}));
    if (told.size() >= kMostTold) told.clear();
    if (std::exchange(told[std::move(uid)], reason) != reason)
      binder.record(target_of(claim), type, reason, message);
  }
  // Claims of our own class get their volume when their first pod comes.
  static bool is_to_be_bound(const json::Value& claim) {
    if (json::string_at(claim, {"metadata", "annotations", kBindCompleted}) == "yes") return false;
    if (!json::string_at(claim, {"spec", "volumeName"}).empty()) return true;
    const json::Value* wanted = json::find_path(claim, {"spec", "storageClassName"});
    return wanted && json::string_at(claim, {"spec", "storageClassName"}) != kLocalPathClass;
  }
  void bind(const json::Value& claim, const json::Value& volume) {
    json::Object spec, patch;
    spec["claimRef"] = volume_claim_ref(claim);
    patch["spec"] = std::move(spec);
    std::vector<kube::Write> writes;
    writes.push_back(patch_of(kube::resources::persistent_volume_claims, key_of(claim),
                              claim_binding(name_of(volume), "")));
    add_bound(writes, key_of(claim), volume);
    write_in_turn(
        patch_of(kube::resources::persistent_volumes, {"", name_of(volume)}, std::move(patch)),
        std::move(writes), again_unless_done("bind a volume"));
  }
  // A failure is tried again by the next sweep: no change in the API may bring one about.
  std::move_only_function<void(Result<void>)> again_unless_done(const char* what) {
    return [weak = weak_from_this(), what](const Result<void>& done) {
      auto self = weak.lock();
      if (done || !self) return;
      log_warn("agent", what, {{"error", done.error().message}});
      self->unswept = true;
    };
  }
  void look_after_volume(const json::Value& volume,
                         const std::unordered_set<std::string_view>& claims) {
    std::string phase(json::string_at(volume, {"status", "phase"}));
    const json::Value* ref = json::find_path(volume, {"spec", "claimRef"});
    if (!ref || !ref->is_object() || json::string_at(*ref, {"uid"}).empty()) {
      if (phase != "Available") set_phase(volume, "Available");
      return;
    }
    if (claims.contains(json::string_at(*ref, {"uid"}))) return;
    if (options.in_use(std::string(json::string_at(*ref, {"namespace"})),
                       std::string(json::string_at(*ref, {"name"})))) {
      unswept = true;  // nobody tells when its pod has ended
      return;
    }
    bool ours = json::string_at(volume, {"metadata", "annotations", kProvisionedBy}) ==
                kLocalPathProvisioner;
    if (ours && json::string_at(volume, {"spec", "persistentVolumeReclaimPolicy"}) == "Delete")
      return reclaim(volume);
    if (phase != "Released") set_phase(volume, "Released");
  }
  void set_phase(const json::Value& volume, const char* phase) {
    write_all({patch_of(kube::resources::persistent_volumes, {"", name_of(volume)},
                        phase_patch(phase), "status")},
              again_unless_done("set a volume's phase"));
  }
  // The files first: a volume that is gone from the API has no one to remember them.
  void reclaim(const json::Value& volume) {
    std::string path(json::string_at(volume, {"spec", "hostPath", "path"}));
    if (!path.starts_with(options.directory + "/")) {
      if (json::string_at(volume, {"status", "phase"}) != "Failed") set_phase(volume, "Failed");
      return;
    }
    options.remove(path, [weak = weak_from_this(), name = name_of(volume)](Result<void> removed) {
      auto self = weak.lock();
      if (!self) return;
      if (!removed) return self->again_unless_done("remove a volume's files")(removed);
      kube::Write write;
      write.verb = kube::Write::Verb::remove;
      write.resource = kube::resources::persistent_volumes;
      write.key = {"", name};
      // Released first: a bound volume is protected.
      self->write_all({patch_of(kube::resources::persistent_volumes, write.key,
                                phase_patch("Released"), "status"),
                       std::move(write)},
                      self->again_unless_done("remove a volume"));
    });
  }

  ClaimStoreOptions options;
  kube::Client& client;
  kube::EventRecorder binder, provisioner;
  std::unordered_map<std::string, std::string> told;  // the last reason, by claim
  kube::Informer<Stirred> volumes, claims;
  bool unswept = true;  // something has changed since the last sweep
};

ClaimStore::ClaimStore(ClaimStoreOptions options, kube::Client& client)
    : state_(std::make_shared<State>(std::move(options), client)) {}
ClaimStore::~ClaimStore() = default;

void ClaimStore::start() {
  kube::Write write;
  write.resource = kube::resources::storage_classes;
  write.key = {"", kLocalPathClass};
  write.body = local_path_class();
  state_->write_all({std::move(write)}, [state = state_](Result<void> made) {
    if (!made)
      log_warn("agent", "make the storage class local-path", {{"error", made.error().message}});
    state->volumes.start();
    state->claims.start();
    state->sweep_later();
  });
}

void ClaimStore::resolve(const model::Pod& pod,
                         std::move_only_function<void(Result<Claims>)> done) {
  struct Pending {
    Claims claims;
    std::optional<Error> error;
    std::size_t left = 0;
    std::move_only_function<void(Result<Claims>)> done;
  };
  auto pending = std::make_shared<Pending>();
  const std::size_t count = claim_names(pod).size();
  if (count == 0) return done(Claims{});
  pending->left = count;
  pending->done = std::move(done);
  for (const json::Value& one : pod.spec.volumes) {
    const std::string name = claim_behind(pod, one);
    if (name.empty()) continue;
    const bool own = json::object_at(one, {"ephemeral"}) != nullptr;
    state_->resolve_one({pod.metadata.ns, name}, own ? std::optional(pod.metadata) : std::nullopt,
                        [pending, name](Result<ClaimVolume> volume) {
                          if (volume)
                            pending->claims.emplace(name, std::move(*volume));
                          else
                            pending->error = volume.error();
                          if (--pending->left > 0) return;
                          if (pending->error)
                            return pending->done(std::unexpected(*pending->error));
                          pending->done(std::move(pending->claims));
                        });
  }
}

}  // namespace hekla::agent
