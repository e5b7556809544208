// Detection of the format of evidence from the beginning of a file. The samples look as the
// runtimes write them.
#include "features/diagnose/evidence_format.hpp"

#include <set>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

std::string format_of(std::string_view text) {
  const app::EvidenceFormat* format = app::recognised_format(text);
  return format == nullptr ? "none" : format->name;
}

}  // namespace

TEST_CASE("the beginning of evidence says its format", "[app][evidence_format]") {
  CHECK(format_of(R"({"version":"2.9","pg_config":{}})") == "flight-recorder");
  CHECK(format_of("\x80\x02}q\x01") == "flight-recorder");
  CHECK(format_of("node0:980:1265 [0] NCCL INFO comm 0x55 rank 0 nranks 4 - Init START\n") ==
        "nccl-log");
  CHECK(format_of("I0622 10:00:00.000000  77 kernel.cpp:30] before: F0\n") == "oneflow");
  CHECK(format_of("Process 7: python train.py\nPython v3.10.12\n\n"
                  "Thread 7 (idle): \"MainThread\"\n") == "stacks");
  CHECK(format_of("src_op_name,dst_op_name,src_parallel_desc\n") == "boxing");
  CHECK(format_of("Communicators... (0.00s)\n") == "ras");
  CHECK(format_of("all_reduce(input_sizes=[[64]], state=started)\n") == "flight-recorder");
  CHECK(format_of("<html>\n<h2>Memberships</h2>\n") == "nccl-log");
  CHECK(format_of(R"({"nccl_version":"2.28","communicators":[]})") == "ras");
  CHECK(format_of(R"({"pipesim_facts": 1, "version": "0.1.0"})") == "facts");
}

TEST_CASE("of several formats, the one with the surest mark counts", "[app][evidence_format]") {
  CHECK(format_of("loss 2.3\nbefore: x\n[rank0]: last enqueued NCCL work: 9\n") == "nccl-log");
  CHECK(format_of("Thread 7 (idle)\nI0622 kernel.cpp:30] before: F0\n") == "oneflow");
  CHECK(format_of("before: x\nThread 7 (idle)\n") == "stacks");
  CHECK(format_of("before: x\n") == "oneflow");
}

TEST_CASE("other content has no format", "[app][evidence_format]") {
  CHECK(format_of("") == "none");
  CHECK(format_of("hello\n") == "none");
  CHECK(format_of("{\"a\": 1}") == "none");
}

TEST_CASE("formats have different names, and readers if they show calls",
          "[app][evidence_format]") {
  std::set<std::string> names;
  for (const app::EvidenceFormat& format : app::evidence_formats()) {
    CHECK(names.insert(format.name).second);
    CHECK(app::find_evidence_format(format.name) == &format);
    CHECK((format.read != nullptr) == (format.shows == app::Shows::kCalls));
  }
  CHECK(app::find_evidence_format("logs") == nullptr);
  CHECK(app::evidence_formats().front().name == "flight-recorder");
}
