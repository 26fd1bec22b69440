// The names of what belongs to a job.
#pragma once

#include <string>

#include "base/result.h"
#include "model/volcano.h"

namespace hekla::controllers {

std::string pod_name(const std::string& job, const std::string& task, std::int32_t index);
// `<job>-<uid>`.
std::string pod_group_name(const model::VcJob& job);
// The DNS name of a role's pod inside the job's headless service: the template's hostname and
// subdomain win over `<pod>.<job>`.
std::string pod_host(const model::VcJob& job, const model::TaskSpec& task, std::int32_t index);
// `<pod>.<subdomain>` for every replica; a template with a hostname has one host for all.
std::vector<std::string> role_hosts(const model::VcJob& job, const model::TaskSpec& task);

// Plugins that list every host of a job refuse one with more: such a list fits into no ConfigMap.
constexpr std::int64_t kHostsMax = 65'536;
Result<void> check_hosts(const model::VcJob& job);

// Twelve characters of [0-9a-z] that are always the same for the same text, so that a round that is
// repeated makes the same objects again. Volcano draws them at random.
std::string stable_suffix(const std::string& text);

const model::TaskSpec* find_task(const model::VcJob& job, const std::string& name);

}  // namespace hekla::controllers
