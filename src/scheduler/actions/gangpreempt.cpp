// gangpreempt: makes room for a whole gang at once by evicting pods of its own queue, whole gangs
// if need be. Arguments: allowWholeBundle (true), maxDomains (8: so many
// hypernodes are tried for a gang with a hard wish about the network).
#include "scheduler/session/action.h"
#include "scheduler/session/gang_eviction.h"

namespace hekla::scheduler {

namespace {

void execute_gangpreempt(Session& session, const Arguments& arguments) {
  GangEviction(session, Eviction::Kind::preempt, "gangpreempt", arguments).run();
}

}  // namespace

extern const ActionInfo action_gangpreempt;
const ActionInfo action_gangpreempt{"gangpreempt",
                                    "makes room for a whole gang: less important pods of its queue",
                                    execute_gangpreempt, "allowWholeBundle maxDomains"};

}  // namespace hekla::scheduler
