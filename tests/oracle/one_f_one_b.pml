/* 1F1B by hand: S stages, M micro-batches, channels that hold C messages (0: rendezvous).
 * GREEDY: the first stage does all forwards first, which needs room for what the others send back.
 * PAIRED: in the steady state a stage sends in one direction and receives from the same neighbour at
 * once, as Megatron-LM does. Nothing here comes from pipesim: tests/oracle/families_test.cpp makes the
 * same thing as a plan.
 */
#ifndef S
#define S 4
#endif
#ifndef M
#define M 6
#endif
#ifndef C
#define C 1
#endif

chan activation[S] = [C] of { bit };  /* from stage s to s + 1 */
chan gradient[S] = [C] of { bit };    /* from stage s + 1 to s */

inline receive_activation(s) { if :: s > 0 -> activation[s - 1]?_ :: else fi }
inline receive_gradient(s) { if :: s < S - 1 -> gradient[s]?_ :: else fi }
inline send_activation(s) { if :: s < S - 1 -> activation[s]!0 :: else fi }
inline send_gradient(s) { if :: s > 0 -> gradient[s - 1]!0 :: else fi }

#ifdef PAIRED
/* Both, in the order in which they can be done. */
inline forward_out_backward_in(s) {
  if
  :: s < S - 1 ->
     if
     :: activation[s]!0 -> gradient[s]?_
     :: gradient[s]?_ -> activation[s]!0
     fi
  :: else
  fi
}

inline backward_out_forward_in(s) {
  if
  :: s > 0 ->
     if
     :: gradient[s - 1]!0 -> activation[s - 1]?_
     :: activation[s - 1]?_ -> gradient[s - 1]!0
     fi
  :: else
  fi
}
#endif

#ifdef GREEDY
#define warm_up(s) ((s) > 0 && S - 1 - (s) < M -> S - 1 - (s) : M)
#else
#define warm_up(s) (S - 1 - (s) < M -> S - 1 - (s) : M)
#endif

proctype stage(byte s) {
  byte forwards;
  byte backwards;
  for (forwards : 0 .. warm_up(s) - 1) {
    receive_activation(s);
    send_activation(s)
  }
#ifdef PAIRED
  if
  :: forwards < M -> receive_activation(s)
  :: else
  fi;
  do
  :: forwards < M ->
     forwards++;
     forward_out_backward_in(s);
     if
     :: forwards < M -> backward_out_forward_in(s)
     :: else -> send_gradient(s)
     fi;
     backwards++
  :: else -> break
  od;
  do
  :: backwards < M -> receive_gradient(s); send_gradient(s); backwards++
  :: else -> break
  od
#else
  do
  :: backwards < M ->
     if
     :: forwards < M -> receive_activation(s); send_activation(s); forwards++
     :: else
     fi;
     receive_gradient(s);
     send_gradient(s);
     backwards++
  :: else -> break
  od
#endif
}

init {
  byte s;
  atomic {
    do
    :: s < S -> run stage(s); s++
    :: else -> break
    od
  }
}
