#include "kube/leader_election.h"

#include "base/log.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::kube {
namespace {

// A Lease's holder, and which revision said it.
struct Held {
  std::string holder;
  std::int64_t transitions = 0;
  std::uint64_t revision = 0;
};

Held held_by(const Object& object) {
  Held held;
  held.revision = object.resource_version;
  if (Result<json::Value> lease = json::parse(*object.json)) {
    held.holder = json::string_at(*lease, {"spec", "holderIdentity"});
    held.transitions = json::int_at(*lease, {"spec", "leaseTransitions"});
  }
  return held;
}

}  // namespace

// Shared with the callbacks of calls in flight, which hold it weakly.
struct LeaderElection::State : std::enable_shared_from_this<State> {
  Client& client;
  LeaderElectionOptions options;
  std::function<void()> elected;
  std::function<void(std::string)> lost;
  bool leading = false, over = false;
  std::optional<Held> seen;  // the lease as last read
  MonoTime changed_at{};     // when we first saw that revision
  MonoTime renewed_at{};     // our last successful write
  std::string acquired;      // spec.acquireTime of our reign

  State(Client& c, LeaderElectionOptions o, std::function<void()> e,
        std::function<void(std::string)> l)
      : client(c), options(std::move(o)), elected(std::move(e)), lost(std::move(l)) {}

  MonoTime now() const { return client.executor().clock().mono(); }

  void try_again() {
    if (over) return;
    client.get(resources::leases, options.lease, [weak = weak_from_this()](Result<ObjectPtr> got) {
      if (auto self = weak.lock()) self->looked(std::move(got));
    });
  }

  // Looked at when the deadline comes, whether or not a call is still under way: it may hang for
  // longer than the lease lasts.
  void watch_deadline() {
    client.executor().post_after(
        options.renew_deadline, [weak = weak_from_this(), renewed = renewed_at] {
          auto self = weak.lock();
          if (!self || self->over || self->renewed_at != renewed) return;
          self->over = true;
          self->lost("the lease " + self->options.lease.ns + "/" + self->options.lease.name +
                     " could not be renewed within " +
                     model::format_go_duration(self->options.renew_deadline));
        });
  }

  void looked(Result<ObjectPtr> got) {
    if (over) return;
    if (!got) {
      if (got.error().code == Code::not_found) return write(std::nullopt);
      return wait("reading the lease failed", got.error());
    }
    Held held = held_by(**got);
    if (!seen || seen->revision != held.revision) {
      seen = held;
      changed_at = now();
    }
    bool ours = held.holder == options.identity;
    if (leading && !ours) {
      over = true;
      return lost(held.holder + " leads now");
    }
    bool abandoned = held.holder.empty() || now() - changed_at > options.lease_duration;
    if (ours || abandoned) return write(held);
    again_later();
  }

  void write(const std::optional<Held>& over_whom) {
    std::string time = model::format_rfc3339_micro(client.executor().clock().wall());
    bool ours = over_whom && over_whom->holder == options.identity;
    if (!ours || acquired.empty()) acquired = time;
    std::int64_t transitions = over_whom ? over_whom->transitions + (ours ? 0 : 1) : 0;
    json::Object metadata{{"name", options.lease.name}, {"namespace", options.lease.ns}};
    if (over_whom) metadata["resourceVersion"] = std::to_string(over_whom->revision);
    Write lease;
    lease.verb = over_whom ? Write::Verb::patch : Write::Verb::create;
    lease.resource = resources::leases;
    lease.key = options.lease;
    lease.body = json::Object{
        {"apiVersion", resources::leases.api_version()},
        {"kind", resources::leases.kind},
        {"metadata", std::move(metadata)},
        {"spec",
         json::Object{
             {"holderIdentity", options.identity},
             {"leaseDurationSeconds",
              std::chrono::duration_cast<std::chrono::seconds>(options.lease_duration).count()},
             {"acquireTime", acquired},
             {"renewTime", time},
             {"leaseTransitions", transitions}}}};
    client.write(std::move(lease), [weak = weak_from_this(), sent = now()](WriteResult written) {
      if (auto self = weak.lock()) self->wrote(std::move(written), sent);
    });
  }

  void wrote(WriteResult written, MonoTime sent) {
    if (over) return;
    if (!written) return wait("writing the lease failed", written.error());
    renewed_at = sent;  // the lease runs from then at the latest
    watch_deadline();
    if (*written) {
      seen = held_by(**written);
      changed_at = now();
    }
    if (!leading) {
      leading = true;
      log_info(
          "kube", "leading",
          {{"lease", options.lease.ns + "/" + options.lease.name}, {"identity", options.identity}});
      elected();
    }
    again_later();
  }

  // A lost race is no trouble.
  void wait(const char* what, const Error& error) {
    if (error.code != Code::conflict && error.code != Code::already_exists)
      log_warn("kube", what,
               {{"lease", options.lease.ns + "/" + options.lease.name}, {"error", error.message}});
    again_later();
  }

  void again_later() {
    client.executor().post_after(options.retry_period, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->try_again();
    });
  }

  void release(std::function<void()> done) {
    over = true;
    if (!leading || !seen) return done();
    Write lease;
    lease.verb = Write::Verb::patch;
    lease.resource = resources::leases;
    lease.key = options.lease;
    lease.body = json::Object{
        {"metadata", json::Object{{"resourceVersion", std::to_string(seen->revision)}}},
        {"spec", json::Object{{"holderIdentity", ""}}}};
    client.write(std::move(lease), [done = std::move(done)](const WriteResult&) { done(); });
  }
};

LeaderElection::LeaderElection(Client& client, LeaderElectionOptions options,
                               std::function<void()> elected,
                               std::function<void(std::string reason)> lost)
    : state_(std::make_shared<State>(client, std::move(options), std::move(elected),
                                     std::move(lost))) {}

LeaderElection::~LeaderElection() = default;

void LeaderElection::start() { state_->try_again(); }

void LeaderElection::release(std::function<void()> done) { state_->release(std::move(done)); }

}  // namespace hekla::kube
