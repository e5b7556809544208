#include "features/diagnose/join_reports.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

std::string notes_of(const std::string& text) {
  formats::JoinReports reports;
  formats::each_log_line(text, [&](const formats::LogLine& line) { reports.take(line); });
  std::vector<models::OutsideText> notes;
  reports.add_notes(notes);
  std::string result;
  for (const std::string& note : notes) result += note.substr(0, note.find(": ")) + "\n";
  return result;
}

}  // namespace

TEST_CASE("a port that is in use is named, in old and new logs", "[formats][join_reports]") {
  const std::string note = "Rank 0 could not open port 29500, which is in use\n";
  CHECK(notes_of("torch.distributed.DistNetworkError: The server socket has failed to listen on "
                 "any local network address. port: 29500, useIpv6: false, code: -98, name: "
                 "EADDRINUSE, message: address already in use\n") == note);
  CHECK(notes_of("[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 "
                 "(errno: 98 - Address already in use).\n"
                 "[W socket.cpp:426] [c10d] The server socket has failed to bind to 0.0.0.0:29500 "
                 "(errno: 98 - Address already in use).\n") == note);
  CHECK(notes_of("The server socket has failed to listen on any local network address. port: 80, "
                 "code: -13, name: EACCES, message: permission denied\n")
            .empty());
}

TEST_CASE("an address at which nobody listens is named once", "[formats][join_reports]") {
  for (const char* line :
       {"DistNetworkError: The client socket has timed out after 20000ms while trying to connect "
        "to (node0, 29500).",
        "[W socket.cpp:601] [c10d] The client socket has failed to connect to [node0]:29500 "
        "(errno: 111 - Connection refused).",
        "The client socket has failed to connect to any network address of (node0, 29500).",
        "[c10d] TCP client failed to connect/validate to host node0:29500 - timed out (try=1, "
        "timeout=20000ms): Connection refused"}) {
    INFO(line);
    CHECK(notes_of(std::string(line) + "\n" + line + "\n") == "Nobody answered at node0:29500\n");
  }
  CHECK(notes_of("timed out while trying to connect to the cluster, it seems\n").empty());
}

TEST_CASE("the number of ranks that joined", "[formats][join_reports]") {
  CHECK(notes_of("torch.distributed.DistStoreError: Timed out after 61 seconds waiting for "
                 "clients. 2/3 clients joined.\n") == "2 of 3 ranks have joined\n");
  CHECK(notes_of("Timed out waiting for clients. 3/3 clients joined.\n").empty());
}
