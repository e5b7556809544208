// 1F1B in SimGrid: one actor per stage, which computes on its own host and sends to its neighbors
// through mailboxes. Forwards of 1 ms, backwards of 2 ms. Prints the simulated time in seconds.
//
//   simgrid_one_f_one_b STAGES MICRO_BATCHES --cfg=network/model:Constant
//       --cfg=network/latency-factor:0
//
// bench/peers/run passes these settings. With them, transfers take no time and SimGrid computes no
// shares of bandwidth, so this network model is its cheapest.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace {

namespace s4u = simgrid::s4u;

constexpr double kFlopsPerSecond = 1e9;
constexpr double kForward = 1e6;
constexpr double kBackward = 2e6;

s4u::Mailbox* mailbox(const char* what, int stage) {
  return s4u::Mailbox::by_name(what + std::to_string(stage));
}

/// The work of one stage. Each stage has a mailbox per direction, except at the ends.
class Stage {
 public:
  Stage(int stage, int stages, int micro_batches)
      : ahead_(std::min(stages - 1 - stage, micro_batches)), micro_batches_(micro_batches) {
    const bool first = stage == 0;
    const bool last = stage == stages - 1;
    activation_in_ = first ? nullptr : mailbox("activation", stage);
    activation_out_ = last ? nullptr : mailbox("activation", stage + 1);
    gradient_in_ = last ? nullptr : mailbox("gradient", stage);
    gradient_out_ = first ? nullptr : mailbox("gradient", stage - 1);
  }

  void operator()() const {
    for (int i = 0; i < ahead_; ++i) forward();
    for (int i = ahead_; i < micro_batches_; ++i) {
      forward();
      backward();
    }
    for (int i = 0; i < ahead_; ++i) backward();
  }

 private:
  void forward() const { compute(activation_in_, kForward, activation_out_); }
  void backward() const { compute(gradient_in_, kBackward, gradient_out_); }

  // Receives, computes and sends; the send continues in the background, like a buffered send.
  static void compute(s4u::Mailbox* in, double flops, s4u::Mailbox* out) {
    static int payload = 0;
    if (in != nullptr) in->get<int>();
    s4u::this_actor::execute(flops);
    if (out != nullptr) out->put_init(&payload, 0)->detach();
  }

  int ahead_;
  int micro_batches_;
  s4u::Mailbox* activation_in_;
  s4u::Mailbox* activation_out_;
  s4u::Mailbox* gradient_in_;
  s4u::Mailbox* gradient_out_;
};

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  const int stages = argc == 3 ? std::atoi(argv[1]) : 0;
  const int micro_batches = argc == 3 ? std::atoi(argv[2]) : 0;
  if (stages < 1 || micro_batches < 1) {
    std::fprintf(stderr, "usage: simgrid_one_f_one_b STAGES MICRO_BATCHES [--cfg=...]\n");
    return 2;
  }
  s4u::NetZone* zone = s4u::create_full_zone("cluster");
  for (int i = 0; i < stages; ++i) {
    const std::string name = "stage" + std::to_string(i);
    s4u::Host* host = zone->create_host(name, kFlopsPerSecond)->seal();
    s4u::Actor::create(name, host, Stage(i, stages, micro_batches));
  }
  zone->seal();
  engine.run();
  std::printf("%.9f\n", s4u::Engine::get_clock());
  return 0;
}
