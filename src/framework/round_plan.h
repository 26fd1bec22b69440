// One round of the runtime: from an outcome to the writes that make the difference, and from their
// results to events. For kind_controller.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/claims.h"
#include "framework/kind_description.h"

namespace hekla::framework {

struct Step {
  enum class What { claim, object, removal, edit, create, change, status } what = What::create;
  kube::Write write;
  kube::Resource resource = {};  // of the child
  kube::Key key = {};
  std::string reason = {};  // of a removal
  std::shared_ptr<const ChildWords> words = nullptr;
  bool shared = false;             // with others that want the same child
  std::uint64_t applied_hash = 0;  // of a body that was applied, else 0
};

// What the result of a step leads to.
struct Settled {
  std::vector<EventText> events;
  std::optional<std::string> refusal;  // the server does not want the child
  std::optional<Error> error;
};
Settled settle_step(const Step& step, const kube::WriteResult& result,
                    const kube::Resource& owner_resource, const model::ObjectMeta& owner);

// How the server writes what one object's controller has applied. A quantity may come back in
// another spelling; without this a round would apply it again and again.
class AppliedForms {
 public:
  // `answer` is the object as the server wrote it.
  void note(const Step& applied, const kube::Object& answer);
  // Whether the live object is just the server's form of a body with this hash.
  bool is_form_of(const Step& wanted, const AnyObject& live, const json::Value& body);

 private:
  struct Form {
    std::uint64_t wanted = 0;
    std::uint64_t version = 0;          // that the server answered with
    std::optional<std::uint64_t> live;  // hash of its form, once it was needed
  };
  std::map<std::string, Form> forms_;
};

class RoundPlan {
 public:
  // The arguments outlive it.
  RoundPlan(const KindDescription& kind, const std::vector<OwnedCache>& owned,
            const AnyObject& object)
      : kind_(kind), owned_(owned), object_(object) {}

  // First: the writes of claims begin the batch. For the View; good for the plan's life.
  const std::map<std::string, View::Claims>& claim_children();
  // `after_refusal`: the object's last creation was refused.
  void carry_out(Outcome& outcome, const kube::CacheSet& caches, bool finalizing,
                 bool after_refusal, AppliedForms& forms);

  std::vector<Step> steps;
  std::vector<Event> events, events_with_status;
  std::optional<Error> failure;

 private:
  const OwnedCache& owned_cache(const kube::Resource& resource) const;
  void plan_child(const Child& child, const kube::CacheSet& caches, AppliedForms& forms);
  void make(const Child& child, const OwnedKind& kind, Step step);
  void compare(const Child& child, const Held& cache, const model::ObjectMeta& live, Step step,
               AppliedForms& forms);
  void taken(const Child& child, const kube::Key& key, const ChildWords& words);
  void remove(const Removal& removal);
  void prune(const std::vector<Child>& children);
  bool may_create(const OwnedKind& kind);
  // Controlled by the object, or adopted in this round.
  bool is_own(const kube::Resource& resource, const model::ObjectMeta& live) const;

  const KindDescription& kind_;
  const std::vector<OwnedCache>& owned_;
  const AnyObject& object_;
  std::map<std::string, View::Claims> claims_;
  bool after_refusal_ = false;
  std::map<const OwnedKind*, std::size_t> created_;
};

}  // namespace hekla::framework
