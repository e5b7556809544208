// The keys of `ops` of a schedule: the ops of a layer.
#include "formats/scenario/keys.hpp"

namespace pipesim::formats::keys {
namespace {

constexpr Key kStageOpsRows[] = {
    {"forward", "[stage_compute|stage_call]+", "Ops of the forward of one layer", "required"},
    {"backward", "[stage_compute|stage_call]+", "Ops of its backward", "required"},
    {"overlapped", "'megatron'|[name]",
     "Order in which a rank launches the ops of a forward and a backward that overlap: "
     "Megatron-LM's, or a list with each op once (`F.attention`, `B.combine`)",
     "in turn"},
};

constexpr Key kStageComputeRows[] = {
    {"compute", "name", "Name of an op on stream `compute`"},
    {"takes", "time|[time|[time]]", "Duration", "0"},
    {"weight_grad", "on/off",
     "Of a backward: on: the gradient of weights. The next op does not wait for it, and schedules "
     "that split the backward have it in `W`",
     "off"},
};

constexpr Key kStageCallRows[] = {
    {"call", "'all_gather'|'all_reduce'|'all_to_all'|'reduce_scatter'|'ring_exchange'",
     "The collective, or one exchange with the neighbors in a ring, which runs beside the next op"},
    {"over", "name", "Its group, or a communicator of `named`", "required"},
    {"order", "'batch'|'send_first'|'recv_first'",
     "Of a `ring_exchange`: its send and recv in one group, or one after the other", "`batch`"},
    {"name", "name", "Name of the op", "that of the call"},
    {"bytes", "size|[size|[size]]", "Size of the data; with a `cluster`, the time follows from it"},
    {"takes", "time|[time|[time]]", "Duration", "0"},
};

}  // namespace

constinit const KeyTable kStageOps{"stage_ops", "'ops'", "What a layer does, op by op",
                                   kStageOpsRows};
constinit const KeyTable kStageCompute{"stage_compute",   "an op", "An op of a layer that computes",
                                       kStageComputeRows, {},      1};
constinit const KeyTable kStageCall{
    "stage_call", "an op", "An op of a layer that is a collective", kStageCallRows, {}, 1};

}  // namespace pipesim::formats::keys
