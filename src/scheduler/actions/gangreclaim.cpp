// gangreclaim: makes room for a whole gang at once by evicting pods of other queues, whole gangs
// if need be. Arguments: allowWholeBundle (true), maxDomains (8: so many
// hypernodes are tried for a gang with a hard wish about the network).
#include "scheduler/session/action.h"
#include "scheduler/session/gang_eviction.h"

namespace hekla::scheduler {

namespace {

void execute_gangreclaim(Session& session, const Arguments& arguments) {
  GangEviction(session, Eviction::Kind::reclaim, "gangreclaim", arguments).run();
}

}  // namespace

extern const ActionInfo action_gangreclaim;
const ActionInfo action_gangreclaim{
    "gangreclaim", "makes room for a whole gang: what other queues hold beyond their due",
    execute_gangreclaim, "allowWholeBundle maxDomains"};

}  // namespace hekla::scheduler
