#include "features/sweep/shard.hpp"

#include <map>
#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;
using formats::Shard;

namespace {

using Variables = std::map<std::string, std::string>;

struct Found {
  std::optional<Shard> shard;
  std::string problem;
};

Found shard(const std::string& text, const Variables& variables = {}) {
  Found found;
  const auto environment = [&](const char* name) -> const char* {
    const auto variable = variables.find(name);
    return variable == variables.end() ? nullptr : variable->second.c_str();
  };
  found.shard = app::parse_shard(text, environment, found.problem);
  return found;
}

}  // namespace

TEST_CASE("a shard has a number and a total", "[app][shard]") {
  CHECK(shard("1/1").shard == Shard{1, 1});
  CHECK(shard("3/64").shard == Shard{3, 64});
  for (const char* text :
       {"", "3", "0/4", "5/4", "/4", "3/", "-1/4", "1/4/2", "a/b", "1/9999999"}) {
    CAPTURE(text);
    CHECK(shard(text).problem == "invalid value '" + std::string(text) +
                                     "' for '--shard': expected I/N with I from 1 to N, or auto");
  }
}

TEST_CASE("MPI and Slurm say which shard a process is", "[app][shard]") {
  const Variables slurm = {{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}};
  CHECK(shard("auto", slurm).shard == Shard{6, 8});
  CHECK(shard("auto", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).shard == Shard{1, 2});
  // mpirun in a Slurm job: each node has one task, which starts several processes.
  Variables both = slurm;
  both["OMPI_COMM_WORLD_RANK"] = "1";
  both["OMPI_COMM_WORLD_SIZE"] = "16";
  CHECK(shard("auto", both).shard == Shard{2, 16});
  CHECK(shard("auto").problem == "--shard auto: not started by MPI or Slurm; use --shard I/N");
  CHECK(shard("auto", {{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}).problem ==
        "--shard auto: PMI_RANK=2 and PMI_SIZE=2 contradict each other");
  CHECK(shard("auto", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_ARRAY_TASK_ID", "7"}})
            .problem ==
        "--shard auto does not know the size of a Slurm job array: use --shard "
        "$SLURM_ARRAY_TASK_ID/N");
}
