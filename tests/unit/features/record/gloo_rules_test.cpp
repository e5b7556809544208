// Waits under gloo's rules, in small records. Each job was run with gloo of torch 2.13, and behaved
// as this test expects.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "tests/support/catch.hpp"
#include "tests/support/record.hpp"

#include "features/record/free_order.hpp"
#include "features/record/record_doubts.hpp"
#include "features/record/record_scenario.hpp"

using namespace pipesim;
using testing::answer_of;
using testing::is_proved;
using testing::record_of;

namespace {

const std::string kEnd = "{\"end\": \"finished\"}\n";
const std::string kGroup =
    "{\"def\": \"g1\", \"group\": \"1\", \"ranks\": [0, 1], \"backend\": \"gloo\"}\n"
    "{\"new_group\": \"g1\", \"key\": 1}\n";

const testing::Settings kConnected = {{"lazy", "off"}, {"reading", "real"}};

// Builds the record of one rank, and numbers collectives, sends and recvs as the recorder does.
class Rank {
 public:
  explicit Rank(std::string group = "g0", std::string before = "")
      : group_(std::move(group)), text_(std::move(before)) {}

  Rank& collective(const std::string& op, int root = -1, std::size_t bytes = 400,
                   const std::string& how = "\"sync\": true") {
    return call(op, ++collectives_, bytes,
                (root < 0 ? "" : "\"root\": " + std::to_string(root) + ", ") + how);
  }
  Rank& broadcast(int root) { return collective("broadcast", root); }
  /// Takes the number of a collective that this rank never joins.
  Rank& skip() {
    ++collectives_;
    return *this;
  }
  /// Adds an asynchronous call, which returns at once.
  Rank& start(const std::string& op, int root, int work) {
    return collective(op, root, 400, "\"w\": " + std::to_string(work));
  }
  Rank& wait(int work) {
    text_ += "{\"wait\": " + std::to_string(work) + "}\n";
    return *this;
  }
  Rank& send(int to, std::size_t bytes = 400, const std::string& more = "") {
    return message("send", to, bytes, more);
  }
  Rank& recv(int from, std::size_t bytes = 400, const std::string& more = "") {
    return message("recv", from, bytes, more);
  }
  Rank& all_to_all(const std::string& to, const std::string& from) {
    return collective("all_to_all", -1, 0,
                      "\"to\": [" + to + "], \"from\": [" + from + "], \"sync\": true");
  }

  std::string text() const { return before_end(""); }
  std::string before_end(const std::string& more) const { return text_ + more + kEnd; }

 private:
  Rank& message(const std::string& op, int peer, std::size_t bytes, const std::string& more) {
    return call(op, ++messages_, bytes,
                "\"peer\": " + std::to_string(peer) + (more.empty() ? ", \"sync\": true" : more));
  }
  Rank& call(const std::string& op, int number, std::size_t bytes, const std::string& keys) {
    text_ += "{\"call\": \"" + op + "\", \"g\": \"" + group_ +
             "\", \"n\": " + std::to_string(number) + ", ";
    if (op != "barrier") {
      text_ += "\"type\": \"float32\", \"bytes\": " + std::to_string(bytes) + ", ";
    }
    text_ += keys + "}\n";
    return *this;
  }

  std::string group_;
  std::string text_;
  int collectives_ = 0;
  int messages_ = 0;
};

sim::Answer answer(const std::vector<Rank>& ranks) {
  std::vector<std::string> texts;
  for (const Rank& rank : ranks) texts.push_back(rank.text());
  return answer_of(record_of("gloo", texts), "own");
}

bool completes(const std::vector<Rank>& ranks) { return answer(ranks) == sim::Answer::kProved; }
bool hangs(const std::vector<Rank>& ranks) { return answer(ranks) == sim::Answer::kHangCertain; }

}  // namespace

TEST_CASE("gloo's broadcast waits for its ancestors and children in a binomial tree",
          "[formats][gloo_rules]") {
  // In a broadcast of four ranks, ranks 1 and 2 are children of the root, and rank 3 is a child of
  // rank 1.
  const Rank cast = Rank().broadcast(0);
  CHECK(completes({Rank().broadcast(0).send(3), cast, cast, Rank().recv(0).broadcast(0)}));
  CHECK(hangs({Rank().broadcast(0).send(1), Rank().recv(0).broadcast(0), cast, cast}));
  // Rank 2 needs its parent, and only its parent needs rank 2.
  CHECK(completes({cast, Rank().broadcast(0).send(3), cast, Rank().broadcast(0).recv(1)}));
  CHECK(completes({cast, Rank().recv(2).broadcast(0), Rank().send(1).broadcast(0), cast}));
  CHECK(completes({cast, Rank().recv(2).broadcast(0), Rank().broadcast(0).send(1), cast}));
  CHECK(hangs({Rank().recv(2).broadcast(0), cast, Rank().broadcast(0).send(0), cast}));
}

TEST_CASE("gloo's gather and scatter wait for the root, and the root for all",
          "[formats][gloo_rules]") {
  for (const char* op : {"gather", "scatter"}) {
    CAPTURE(op);
    CHECK(completes({Rank().collective(op, 0), Rank().collective(op, 0).send(2),
                     Rank().recv(1).collective(op, 0)}));
    CHECK(hangs({Rank().collective(op, 0).send(2), Rank().collective(op, 0),
                 Rank().recv(0).collective(op, 0)}));
    CHECK(hangs({Rank().recv(1).collective(op, 0), Rank().collective(op, 0).send(0),
                 Rank().collective(op, 0)}));
  }
}

TEST_CASE("gloo runs two collectives of a group side by side", "[formats][gloo_rules]") {
  // Ranks 0 and 1 start broadcasts from rank 2, then make a broadcast from rank 0. The last
  // broadcast must end first: rank 2 waits for a send that rank 1 makes after it.
  const auto job = [](int firsts) {
    std::vector<Rank> ranks(3);
    for (int rank : {0, 1, 2}) {
      Rank& of = ranks[static_cast<std::size_t>(rank)];
      if (rank == 2) of.recv(1);
      for (int i = 0; i < firsts; ++i) {
        if (rank == 2) of.broadcast(2);
        if (rank != 2) of.start("broadcast", 2, i);
      }
      if (rank == 2) of.broadcast(0);
      if (rank != 2) of.start("broadcast", 0, firsts).wait(firsts);
      if (rank == 1) of.send(2);
      for (int i = 0; i < firsts && rank != 2; ++i) of.wait(i);
    }
    return ranks;
  };
  CHECK(completes(job(1)));
  CHECK(hangs(job(2)));  // both workers of ranks 0 and 1 wait for rank 2
}

TEST_CASE("a barrier of gloo waits for the collectives before it", "[formats][gloo_rules]") {
  const auto job = [](bool waits) {
    Rank first;
    first.start("broadcast", 1, 1).collective("barrier");
    Rank second;
    if (waits) second.broadcast(1).collective("barrier");
    if (!waits) second.start("all_reduce", -1, 1).collective("barrier");
    return std::vector<Rank>{first, second};
  };
  CHECK(completes(job(true)));
  CHECK(hangs(job(false)));  // an all_reduce never matches a broadcast
}

TEST_CASE("gloo matches collectives by their number", "[formats][gloo_rules]") {
  Rank reduce_first;
  reduce_first.collective("all_reduce").broadcast(0);
  CHECK(hangs({reduce_first, Rank().broadcast(0).collective("all_reduce")}));
  // gloo's reduce_scatter is an all_reduce of the whole input, so it matches an all_reduce.
  CHECK(completes({Rank().collective("all_reduce"), Rank().collective("reduce_scatter")}));
}

TEST_CASE("messages have the numbers of collectives, and none of their rules",
          "[formats][gloo_rules]") {
  CHECK(completes(
      {Rank().collective("all_reduce").send(1), Rank().collective("reduce_scatter").recv(0)}));
  // The broadcast ends although its ranks pass 400 and 800 bytes; the message fits.
  const auto broadcast = [](std::size_t bytes) { return Rank().collective("broadcast", 0, bytes); };
  CHECK(answer({broadcast(400).send(1, 100), broadcast(800).recv(0, 100)}) ==
        sim::Answer::kMismatch);
  CHECK(hangs({broadcast(400).send(1, 600), broadcast(800).recv(0, 500)}));
}

TEST_CASE("a rank that skips a number never joins that collective", "[formats][gloo_rules]") {
  const auto reduce = [](Rank rank) { return rank.collective("all_reduce"); };
  CHECK(completes({reduce(Rank().skip()), reduce(Rank().skip())}));
  CHECK(hangs({reduce(Rank().skip()), reduce(Rank())}));
  CHECK(hangs({reduce(Rank().skip()), reduce(Rank().start("all_reduce", -1, 1).wait(1))}));
  CHECK(hangs({reduce(reduce(Rank()).skip().skip()), reduce(reduce(reduce(Rank())))}));
}

TEST_CASE("ranks leave a reduce of few elements early", "[formats][gloo_rules]") {
  const auto early = [](std::size_t bytes, std::size_t ranks) {
    const auto reduce = [&](Rank rank) { return rank.collective("reduce", 0, bytes); };
    std::vector<std::string> texts(ranks, reduce(Rank()).text());
    texts.front() = reduce(Rank().recv(static_cast<int>(ranks) - 1)).text();
    texts.back() = reduce(Rank()).send(0).text();
    const models::Record record = record_of("gloo", texts);
    CHECK(answer_of(record, "own") == sim::Answer::kHangCertain);
    const auto found = models::with_early_reduces(record, models::RecordRules::kGloo);
    if (found) CHECK(is_proved(*found, "own"));
    CHECK_FALSE(models::with_early_reduces(record, models::RecordRules::kNccl));
    return found.has_value();
  };
  // Sizes in bytes of float32, from the ring in gloo/reduce.cc, computed with another program.
  CHECK(early(4, 3));
  CHECK(early(8, 3));
  CHECK_FALSE(early(12, 3));
  CHECK(early(16, 4));
  CHECK_FALSE(early(20, 4));
  CHECK(early(24, 5));
  CHECK_FALSE(early(28, 5));
  CHECK(early(44, 5));
  CHECK_FALSE(early(52, 5));
  CHECK_FALSE(early(4, 2));
  CHECK(early(std::size_t{17} << 20, 8));  // a segment has at most 1 MiB
  CHECK_FALSE(early(std::size_t{16} << 20, 8));
}

TEST_CASE("a reduce of few elements does not hide other hangs", "[formats][gloo_rules]") {
  const Rank reduce = Rank().collective("reduce", 0, 4);
  const models::Record record = record_of(
      "gloo", {Rank().collective("reduce", 0, 4).recv(1).text(), reduce.text(), reduce.text()});
  const auto early = models::with_early_reduces(record, models::RecordRules::kGloo);
  REQUIRE(early);
  CHECK_FALSE(is_proved(*early, "own"));
}

TEST_CASE("calls without elements", "[formats][gloo_rules]") {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    CAPTURE(op);
    CHECK(completes({Rank().collective(op, -1, 0).send(1), Rank().recv(0).collective(op, -1, 0)}));
  }
  CHECK(hangs({Rank().collective("broadcast", 0, 0).send(1),
               Rank().recv(0).collective("broadcast", 0, 0)}));
  // gloo also sends empty parts.
  CHECK(hangs(
      {Rank().all_to_all("0, 0", "0, 0").send(1), Rank().recv(0).all_to_all("0, 0", "0, 0")}));
  CHECK(hangs(
      {Rank().all_to_all("4, 0", "4, 0").send(1), Rank().recv(0).all_to_all("0, 4", "0, 4")}));
  CHECK(hangs(
      {Rank().all_to_all("0, 0", "0, 0").send(1), Rank().recv(0).collective("all_to_all", -1, 0)}));
  // One rank passes elements, the other rank passes none: the empty call returns at once, and the
  // next call of its rank has another sequence number.
  CHECK(hangs({Rank().collective("all_reduce"), Rank().collective("all_reduce", -1, 0)}));
  CHECK(hangs({Rank().collective("all_reduce").collective("barrier"),
               Rank().collective("all_reduce", -1, 0).collective("all_reduce")}));
}

TEST_CASE("gloo does not compare sizes and types", "[formats][gloo_rules]") {
  CHECK(answer({Rank().send(1, 4).collective("barrier"),
                Rank().recv(0, 16).collective("barrier")}) == sim::Answer::kMismatch);
  // A send larger than its recv kills the receiver's process, so the sender hangs.
  CHECK(hangs({Rank().send(1, 16).collective("barrier"), Rank().recv(0, 4).collective("barrier")}));
  // Returns the answer for calls with root 0, given each rank's number of bytes.
  const auto outcome = [](const char* op, const std::vector<std::size_t>& bytes) {
    std::vector<Rank> ranks;
    for (const std::size_t size : bytes) {
      ranks.push_back(Rank().collective(op, 0, size).collective("barrier"));
    }
    return answer(ranks);
  };
  for (const char* op : {"broadcast", "scatter"}) {
    CAPTURE(op);
    CHECK(outcome(op, {16, 32}) == sim::Answer::kMismatch);
    CHECK(outcome(op, {0, 16}) == sim::Answer::kMismatch);
    CHECK(outcome(op, {32, 16}) == sim::Answer::kHangCertain);
  }
  CHECK(outcome("gather", {16, 32}) == sim::Answer::kHangCertain);
  CHECK(outcome("gather", {32, 16}) == sim::Answer::kMismatch);
  CHECK(hangs({Rank().collective("all_gather", -1, 16), Rank().collective("all_gather", -1, 32)}));
  // In a broadcast's tree, rank 3 is a child of rank 1, and rank 2 a child of the root.
  CHECK(outcome("broadcast", {16, 16, 32, 32}) == sim::Answer::kMismatch);
  CHECK(outcome("broadcast", {16, 32, 16, 16}) == sim::Answer::kHangCertain);
  CHECK(outcome("scatter", {16, 32, 16, 16}) == sim::Answer::kMismatch);
}

TEST_CASE("many pending calls of gloo", "[formats][gloo_rules]") {
  const auto doubt = [](const std::string& op, std::size_t calls) {
    const int root = op == "broadcast" ? 0 : -1;
    Rank rank;
    for (std::size_t i = 0; i < calls; ++i) rank.start(op, root, static_cast<int>(i));
    for (std::size_t i = 0; i < calls; ++i) rank.wait(static_cast<int>(i));
    const auto record = record_of("gloo", {rank.text(), rank.text()});
    CHECK(is_proved(record, "own"));
    return models::record_doubts(record, models::RecordRules::kOwn, {}).hang;
  };
  CHECK(doubt("broadcast", 32).empty());
  CHECK_FALSE(doubt("broadcast", 33).empty());  // the calls may end in any order
  CHECK(doubt("all_reduce", 100).empty());
}

TEST_CASE("gloo waits for the stream of a device's tensors", "[formats][gloo_rules]") {
  // Rank 0's NCCL all_reduce waits for rank 1, which first makes a gloo call.
  const std::string nccl =
      "{\"call\": \"all_reduce\", \"g\": \"g0\", \"n\": 1, \"bytes\": 4, \"sync\": true}\n";
  const auto job = [&](const std::string& how, bool barrier) {
    Rank first("g1", kGroup + nccl);
    Rank second("g1", kGroup);
    for (Rank* rank : {&first, &second}) {
      const std::string keys = (rank == &first ? how : "") + "\"w\": 8";
      rank->collective("all_reduce", -1, 4, keys);
      if (barrier) rank->collective("barrier", -1, 0, "\"w\": 9").wait(9);
      if (!barrier) rank->wait(8);
    }
    return record_of("nccl", {first.text(), second.before_end(nccl)});
  };
  const auto proved = [](const models::Record& record) {
    return is_proved(record, "own", kConnected);
  };
  CHECK(proved(job("", false)));
  CHECK_FALSE(proved(job("\"on_device\": true, ", false)));
  // An asynchronous barrier waits for the all_reduce before it, so the answers are the same.
  CHECK(proved(job("", true)));
  CHECK_FALSE(proved(job("\"on_device\": true, ", true)));
}

TEST_CASE("a message that nobody waits for ends with its process", "[formats][gloo_rules]") {
  const std::string forgotten = ", \"w\": 9";
  const Rank idle = Rank().collective("barrier");
  CHECK(completes({Rank().send(1, 4, forgotten).collective("barrier"), idle}));
  CHECK(completes({Rank().recv(1, 4, forgotten).collective("barrier"), idle}));
  CHECK(hangs({Rank().send(1, 4, forgotten).wait(9).collective("barrier"), idle}));
  // The first send is received, and the host waits for the second send.
  CHECK(hangs({Rank().send(1, 4, forgotten).send(1, 4), Rank().recv(0, 4)}));
  CHECK(completes({Rank().send(1, 4).send(1, 4, forgotten), Rank().recv(0, 4)}));
}

TEST_CASE("a recv from any source at the end of a record that hangs", "[formats][gloo_rules]") {
  const std::string rest = "{\"end\": \"cut\", \"why\": \"rest\"}\n";
  const std::string barrier = "{\"call\": \"barrier\", \"g\": \"g0\", \"n\": 1, \"sync\": true}\n";
  const std::string recv =
      "{\"call\": \"recv\", \"g\": \"g0\", \"n\": 1, \"peer\": 1, \"any\": true, "
      "\"bytes\": 4, \"sync\": true}\n";
  auto record = record_of("gloo", {recv + rest, barrier + rest, barrier + rest});
  CHECK(answer_of(record, "own") == sim::Answer::kHangCertain);
  // The record does not name the sender, so any rank can be the sender.
  models::add_later_calls(record);
  for (const std::size_t rank : {1U, 2U}) {
    const models::RecordEntry& last = record.ranks[rank].entries.back();
    CHECK(last.operation == models::Operation::kSend);
    CHECK(last.peer == 0);
    CHECK_FALSE(last.any_source);
  }
}

TEST_CASE("each group keeps its backend", "[formats][gloo_rules]") {
  // An NCCL job with a gloo group, whose sends and recvs match by tag.
  const auto program = [](bool sends, const std::vector<int>& tags) {
    Rank rank("g1", kGroup);
    for (const int tag : tags) {
      const std::size_t bytes = 16 * static_cast<std::size_t>(tag);
      const std::string more =
          ", \"tag\": " + std::to_string(tag) + ", \"w\": " + std::to_string(tag);
      if (sends) rank.send(1, bytes, more);
      if (!sends) rank.recv(0, bytes, more);
    }
    return rank.wait(1).wait(2).text();
  };
  const auto record = record_of("nccl", {program(true, {1, 2}), program(false, {2, 1})});
  CHECK(is_proved(record, "own"));
  CHECK(is_proved(record, "gloo"));
  CHECK_FALSE(is_proved(record, "nccl"));
}

TEST_CASE("pending calls of groups with one description", "[formats][gloo_rules]") {
  // The second group is named "tp 2", and so must not be the channel beside it.
  std::string groups;
  for (const char* number : {"1", "2"}) {
    groups += fmt::format(
        "{{\"def\": \"g{0}\", \"group\": \"{0}\", \"ranks\": [0, 1], \"backend\": \"gloo\", "
        "\"desc\": \"tp\"}}\n{{\"new_group\": \"g{0}\", \"key\": {0}}}\n",
        number);
  }
  Rank rank("g2", groups);
  rank.start("all_reduce", -1, 1).start("all_reduce", -1, 2).wait(1).wait(2);
  CHECK(is_proved(record_of("gloo", {rank.text(), rank.text()}), "own"));
}

TEST_CASE("the halves of a group with two backends do not know each other",
          "[formats][gloo_rules]") {
  // Rank 0 makes an all_reduce on the device, then a barrier of hosts; rank 1 makes these calls in
  // the opposite order.
  const std::string half =
      "{\"def\": \"g1\", \"group\": \"0\", \"ranks\": [0, 1], \"backend\": \"gloo\"}\n";
  const std::string reduce =
      "{\"call\": \"all_reduce\", \"g\": \"g0\", \"n\": 1, \"bytes\": 4, \"sync\": true}\n";
  const auto barrier = [](const std::string& group, int number) {
    return "{\"call\": \"barrier\", \"g\": \"" + group + "\", \"n\": " + std::to_string(number) +
           ", \"sync\": true}\n";
  };
  const auto job = [&](const std::string& first, const std::string& second) {
    return record_of("nccl", {half + reduce + first + kEnd, half + second + reduce + kEnd});
  };
  CHECK(is_proved(job(barrier("g1", 1), barrier("g1", 1)), "own", kConnected));
  CHECK_FALSE(is_proved(job(barrier("g0", 2), barrier("g0", 1)), "own", kConnected));
}
