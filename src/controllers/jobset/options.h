// How the JobSet controller is told to be.
#pragma once

#include <string>

namespace hekla::controllers::jobset {

struct Options {
  // Gangs: "volcano" makes PodGroups that the scheduler of this name admits; "" and "none": none.
  std::string gang_scheduler = "volcano";

  bool has_gangs() const { return !gang_scheduler.empty() && gang_scheduler != "none"; }
};

}  // namespace hekla::controllers::jobset
