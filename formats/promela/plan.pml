/* A plan in all its orders, for SPIN: docs/explanation/check.md says what the steps are, docs/reference/rules.md (the
 * numbers in brackets) what they do. Any time is forgotten: what may happen may happen next.
 *
 * What stands before this text decides what is explored:
 *   - nothing: the tables are read at run time from the file that PIPESIM_PLAN names. This is compiled
 *     once, for small plans; pan says at its end how many states of rest it has found.
 *   - the tables of one plan (formats/promela/promela_writer.hpp): pan finds an assertion violated if the plan
 *     can come to rest with work left, or with calls that do not fit.
 *
 * Tables are hidden: no part of the state, since nothing changes them. So are the variables for which
 * each step has use of its own. What ends, and each thread, is a process whose steps are d_steps.
 * All of them look at what all share, so nothing is there for partial-order reduction: -DNOREDUCE.
 */

#ifndef PLAN
#define NUMBER byte
#define NONE 255
#define THREADS 8
#define STREAMS 8
#define ACTORS 32
#define INPUTS 32
#define PROGRAM 128
#define REGISTERS 32
#define EDGES 32
#define COLLECTIVES 8
#define MEMBERS 32
#define COMMUNICATORS 8
#define RANKS_IN 24
#define STREAMS_IN 64
#define NEEDS 64
#define AFTERS 24
#define DEPENDENTS 24
#define DEVICES 4
#define HARDWARE_QUEUES 8
#define ROOM 24
#define SYNCHRONIZED 32
#define SIGNALS 8
#define LOCKS 8
#define CALLS 32
#define CHANNELS 16
#define SORTS 192
#define MAILBOX 8
#define INBOX 20
#define QUEUE 20

hidden NUMBER threads;
hidden NUMBER streams;
hidden NUMBER actors;
hidden NUMBER collectives;
hidden NUMBER communicators;
hidden NUMBER calls;
hidden NUMBER channels;
hidden short acts;
hidden NUMBER thread_program[THREADS];
hidden short thread_acts[THREADS];
hidden short thread_acts_end[THREADS];
hidden NUMBER program[PROGRAM];
hidden short stream_limit[STREAMS];
hidden NUMBER actor_thread[ACTORS];
hidden NUMBER actor_stream[ACTORS];
hidden NUMBER actor_role[ACTORS];
hidden NUMBER actor_limit[ACTORS];
hidden NUMBER actor_items[ACTORS];
hidden NUMBER actor_blocking[ACTORS];
hidden NUMBER actor_starts[ACTORS];
hidden NUMBER actor_collective[ACTORS];
hidden NUMBER actor_object[ACTORS];
hidden NUMBER actor_times[ACTORS];
hidden NUMBER actor_inputs[ACTORS];
hidden NUMBER actor_inputs_end[ACTORS];
hidden NUMBER actor_registers[ACTORS];
hidden NUMBER actor_registers_end[ACTORS];
hidden NUMBER actor_behind[ACTORS];
hidden NUMBER actor_afters[ACTORS];
hidden NUMBER actor_afters_end[ACTORS];
hidden NUMBER after_actor[AFTERS];
hidden NUMBER after_ahead[AFTERS];
hidden NUMBER stream_dependents[STREAMS];
hidden NUMBER stream_dependents_end[STREAMS];
hidden NUMBER dependents[DEPENDENTS];
hidden NUMBER stream_device[STREAMS];
hidden NUMBER stream_hardware_queue[STREAMS];
hidden short device_resident[DEVICES];
hidden NUMBER device_order[DEVICES];
hidden NUMBER device_holds[DEVICES];
hidden NUMBER device_free[DEVICES];
hidden NUMBER actor_collects[ACTORS];
hidden NUMBER actor_needs[ACTORS];
hidden NUMBER actor_needs_end[ACTORS];
hidden NUMBER actor_streams[ACTORS];
hidden NUMBER actor_streams_end[ACTORS];
hidden NUMBER actor_calls[ACTORS];
hidden NUMBER actor_calls_end[ACTORS];
hidden NUMBER inputs[INPUTS];
hidden NUMBER register_producer[REGISTERS];
hidden NUMBER register_slots[REGISTERS];
hidden NUMBER register_acts[REGISTERS];
hidden NUMBER register_drain[REGISTERS];
hidden NUMBER register_in_place[REGISTERS];
hidden NUMBER register_edges[REGISTERS];
hidden NUMBER register_edges_end[REGISTERS];
hidden NUMBER edge_register[EDGES];
hidden NUMBER edge_consumer[EDGES];
hidden NUMBER edge_acts[EDGES];
hidden NUMBER edge_data_at_launch[EDGES];
hidden NUMBER edge_ack_at_launch[EDGES];
hidden NUMBER edge_in_place[EDGES];
hidden NUMBER collective_members[COLLECTIVES];
hidden NUMBER collective_members_end[COLLECTIVES];
hidden NUMBER member_actor[MEMBERS];
hidden NUMBER communicator_exists[COMMUNICATORS];
hidden NUMBER communicator_waits[COMMUNICATORS];
hidden NUMBER communicator_ranks[COMMUNICATORS];
hidden NUMBER communicator_ranks_end[COMMUNICATORS];
hidden NUMBER communicator_streams[COMMUNICATORS];
hidden NUMBER communicator_streams_end[COMMUNICATORS];
hidden NUMBER stream_of_communicator[STREAMS_IN];
hidden NUMBER need_communicator[NEEDS];
hidden NUMBER need_rank[NEEDS];
hidden NUMBER synchronized[SYNCHRONIZED];
hidden NUMBER call_actor[CALLS];
hidden NUMBER call_kind[CALLS];
hidden NUMBER call_eager[CALLS];
hidden NUMBER call_communicator[CALLS];
hidden NUMBER call_rank[CALLS];
hidden NUMBER call_channel[CALLS];
hidden NUMBER call_chain[CALLS];
hidden NUMBER call_stage[CALLS];
hidden NUMBER call_signature[CALLS];
hidden NUMBER call_sorts[CALLS];
hidden NUMBER sorts[SORTS];

c_decl {
\#include <stdio.h>
\#include <stdlib.h>
\#include <string.h>
}

c_code {
  extern double nstates; /* of pan */
  static unsigned long rests_completed, rests_hung, most_states;
  static int gave_up;

  struct table { const char *name; void *at; int wide; int room; };
  #define NUMBERS(name) { #name, &name, 0, 1 }
  #define SHORTS(name) { #name, &name, 1, 1 }
  #define TABLE(name) { #name, name, 0, (int)(sizeof(name) / sizeof(name[0])) }
  #define WIDE_TABLE(name) { #name, name, 1, (int)(sizeof(name) / sizeof(name[0])) }
  static struct table all_tables[] = {
    NUMBERS(threads), NUMBERS(streams), NUMBERS(actors), NUMBERS(collectives),
    NUMBERS(communicators), NUMBERS(calls), NUMBERS(channels), SHORTS(acts),
    TABLE(thread_program), WIDE_TABLE(thread_acts), WIDE_TABLE(thread_acts_end), TABLE(program),
    WIDE_TABLE(stream_limit), TABLE(actor_thread), TABLE(actor_stream), TABLE(actor_role),
    TABLE(actor_limit), TABLE(actor_items), TABLE(actor_blocking), TABLE(actor_starts),
    TABLE(actor_collective), TABLE(actor_object), TABLE(actor_times), TABLE(actor_inputs),
    TABLE(actor_inputs_end), TABLE(actor_registers), TABLE(actor_registers_end),
    TABLE(actor_behind), TABLE(actor_afters), TABLE(actor_afters_end), TABLE(after_actor),
    TABLE(after_ahead), TABLE(stream_dependents), TABLE(stream_dependents_end), TABLE(dependents),
    TABLE(stream_device), TABLE(stream_hardware_queue), WIDE_TABLE(device_resident),
    TABLE(device_order), TABLE(device_holds), TABLE(device_free), TABLE(actor_collects),
    TABLE(actor_needs), TABLE(actor_needs_end), TABLE(actor_streams), TABLE(actor_streams_end),
    TABLE(actor_calls), TABLE(actor_calls_end), TABLE(inputs), TABLE(register_producer),
    TABLE(register_slots), TABLE(register_acts), TABLE(register_drain), TABLE(register_in_place),
    TABLE(register_edges), TABLE(register_edges_end), TABLE(edge_register), TABLE(edge_consumer),
    TABLE(edge_acts), TABLE(edge_data_at_launch), TABLE(edge_ack_at_launch), TABLE(edge_in_place),
    TABLE(collective_members), TABLE(collective_members_end), TABLE(member_actor),
    TABLE(communicator_exists), TABLE(communicator_waits), TABLE(communicator_ranks),
    TABLE(communicator_ranks_end), TABLE(communicator_streams), TABLE(communicator_streams_end),
    TABLE(stream_of_communicator), TABLE(need_communicator), TABLE(need_rank),
    TABLE(synchronized), TABLE(call_actor), TABLE(call_kind), TABLE(call_eager),
    TABLE(call_communicator), TABLE(call_rank), TABLE(call_channel), TABLE(call_chain),
    TABLE(call_stage), TABLE(call_signature), TABLE(call_sorts), TABLE(sorts),
  };

  static void refuse(const char *why, const char *what) {
    fprintf(stderr, "plan.pml: %s: %s\n", why, what);
    exit(2);
  }

  static void say_what_was_found(void) {
    printf("orders: completed %lu hung %lu states %.0f%s\n", rests_completed, rests_hung, nstates,
           gave_up ? " gave up" : "");
  }

  /* Reads the lines `hidden TYPE NAME = N;` and `hidden TYPE NAME[SIZE] = {N, ...};`. */
  static void read_tables(void) {
    const char *path = getenv("PIPESIM_PLAN");
    const char *most = getenv("PIPESIM_MOST_STATES");
    FILE *file = path ? fopen(path, "r") : NULL;
    static char line[1 << 16];
    if (!file) refuse("no such file", path ? path : "(PIPESIM_PLAN is not set)");
    most_states = most ? strtoul(most, NULL, 10) : 0;
    while (fgets(line, sizeof line, file)) {
      char name[64];
      char *next = strchr(line, '=');
      int i = 0;
      int t = 0;
      const int known = (int)(sizeof all_tables / sizeof all_tables[0]);
      if (sscanf(line, "hidden %*s %63[a-z_]", name) != 1 || !next) continue;
      for (t = 0; t < known && strcmp(all_tables[t].name, name) != 0; ++t) { }
      if (t == known) refuse("no such table", name);
      for (next += strcspn(next, "0123456789"); *next; next += strcspn(next, "0123456789")) {
        const long value = strtol(next, &next, 10);
        if (i == all_tables[t].room) refuse("the plan is too large", name);
        if (value > (all_tables[t].wide ? 32767 : 255)) refuse("a number is too large", name);
        if (all_tables[t].wide) {
          ((short *)all_tables[t].at)[i++] = (short)value;
        } else {
          ((unsigned char *)all_tables[t].at)[i++] = (unsigned char)value;
        }
      }
    }
    fclose(file);
    atexit(say_what_was_found);
  }

  static void come_to_rest(int completed) {
    if (completed) ++rests_completed; else ++rests_hung;
  }

  static void look(void) {
    if (most_states == 0 || nstates < (double)most_states) return;
    gave_up = 1;
    exit(3);
  }
}
#endif

/* Roles, as sim/plan.hpp numbers them. */
#define OP 0
#define GROUP 1
#define RECORD 2
#define WAIT 3
#define WORK 4
#define SYNCHRONIZE 5
#define AWAIT 6
#define SET 7
#define LOCK 8
#define UNLOCK 9
#define CREATE 10

/* Kinds of calls. */
#define COLLECTIVE_CALL 0
#define SEND 1
#define RECEIVE 2

/* What a thread is about: free, or blocked in the act of actor at[t]. */
#define FREE 0
#define STARVED 1       /* outside input never comes */
#define CREATING 2      /* a communicator */
#define QUEUING 3       /* for a place in the launch queue */
#define COMPLETING 4    /* a blocking launch */
#define SYNCHRONIZING 5
#define AWAITING 6
#define LOCKING 7

/* A message in an inbox: a start message is the number of its actor. */
#define DATA(e) (ACTORS + (e))
#define ACK(e) (ACTORS + EDGES + (e))
#define is_start(m) ((m) < ACTORS)
#define is_ack(m) ((m) >= ACTORS + EDGES)
#define edge_of_data(m) ((m) - ACTORS)
#define edge_of_ack(m) ((m) - ACTORS - EDGES)

/* What stands in a stream: an act is the number of its actor; the others are marks. */
#define ACK_MARK(e) (ACTORS + (e))
#define CREATION_MARK(c) (ACTORS + EDGES + (c))
#define SYNCHRONIZE_MARK(t) (ACTORS + EDGES + COMMUNICATORS + (t))
#define is_act(i) ((i) < ACTORS)
#define is_ack_mark(i) ((i) >= ACTORS && (i) < ACTORS + EDGES)
#define is_creation_mark(i) ((i) >= ACTORS + EDGES && (i) < ACTORS + EDGES + COMMUNICATORS)

/* ------------------------------------------------------------------------------------------------
 * The state.
 */

short left;                       /* acts that are not done */
NUMBER launched[ACTORS];
NUMBER done[ACTORS];
bool ready[ACTORS];               /* follows from the others [3.1] */
NUMBER received[EDGES];           /* data messages that the consumer has counted */
NUMBER acknowledged[EDGES];       /* slots, as the producer has counted */
NUMBER returned[REGISTERS];       /* slots that all edges have acknowledged */

byte mode[THREADS];
NUMBER at[THREADS];               /* arrival: where it is; program: whose act is next; or NONE */
short next_act[THREADS];          /* program: index in `program` */
NUMBER need[THREADS];             /* which communicator it is about [3.3], or what it awaits */
bool place[THREADS];              /* is kept for it in the launch queue, or the lock is its own */
NUMBER marks_of_thread[THREADS];
chan inbox[THREADS] = [INBOX] of { NUMBER };

NUMBER head[STREAMS];             /* the actor of the act at the head, or NONE */
bool begun[STREAMS];              /* the act at the head has started */
NUMBER head_need[STREAMS];        /* of a wait: how often its event must have fired; of an act that
                                     stays behind a stream: how many acts of that must be done */
chan rest[STREAMS] = [QUEUE] of { NUMBER, NUMBER };
NUMBER unfinished[STREAMS];
short launched_on[STREAMS];       /* acts, since the start */
short done_on[STREAMS];
chan line[STREAMS] = [THREADS] of { NUMBER };

/* Of a device with limited room: the streams of the acts that were launched and have not started, of
 * those in a hardware queue, and of those in the launch order. */
chan not_begun[DEVICES] = [ROOM] of { NUMBER };
chan hardware_queue[HARDWARE_QUEUES] = [ROOM] of { NUMBER };
chan launch_order[DEVICES] = [ROOM] of { NUMBER };
NUMBER resident[DEVICES];
bool offered[STREAMS];             /* the act at the head may start as soon as a slot is free */

NUMBER started[COLLECTIVES];      /* members of the instance that is under way */

bool exists[COMMUNICATORS];
bool arrived[RANKS_IN];           /* at the creation */
NUMBER arrivals[COMMUNICATORS];
NUMBER marks_of_creation[COMMUNICATORS];

NUMBER recorded[SIGNALS];
NUMBER fired[SIGNALS];
NUMBER holder[LOCKS];             /* a thread, or NONE */
chan lock_line[LOCKS] = [THREADS] of { NUMBER };

NUMBER in_round[COMMUNICATORS];   /* ranks that have arrived in the round */
NUMBER first_call[COMMUNICATORS];
bool mismatched[COMMUNICATORS];
NUMBER call_in_round[RANKS_IN];
bool running[CALLS];              /* an eager send, or a receive that has its message */
NUMBER calls_left[ACTORS];
NUMBER stage_left[CALLS];         /* of a chain, which its first call stands for */
bool any_mismatch;                /* of a round, or a message */
chan mailbox[CHANNELS] = [MAILBOX] of { NUMBER };  /* of each message its sort */
NUMBER sender[CHANNELS];          /* active, not eager and without a receive, or NONE */
NUMBER receiver[CHANNELS];        /* active and without a message, or NONE */

/* ------------------------------------------------------------------------------------------------
 * Readiness, messages and registers [3.1, 4, 5.1]. Each inline has scratch variables of its own.
 */

hidden byte f_ok;
hidden short f_i;

/* Sees whether the next act of actor `a` is ready. */
inline refresh(a) {
  f_ok = launched[a] < actor_limit[a];
  f_i = actor_inputs[a];
  do
  :: f_ok && f_i < actor_inputs_end[a] ->
     f_ok = received[inputs[f_i]] > launched[a] / edge_acts[inputs[f_i]];
     f_i++
  :: else -> break
  od;
  f_i = actor_registers[a];
  do
  :: f_ok && f_i < actor_registers_end[a] ->
     if
     :: register_edges[f_i] == register_edges_end[f_i] || launched[a] % register_acts[f_i] != 0
     :: else ->
        if
        :: register_drain[f_i] > 0 ->
           if
           :: launched[a] % register_drain[f_i] == 0 ->
              f_ok = returned[f_i] == launched[a] / register_acts[f_i]
           :: else ->
              f_ok = launched[a] / register_acts[f_i] - returned[f_i] < register_slots[f_i]
           fi
        :: else ->
           f_ok = launched[a] / register_acts[f_i] - returned[f_i] < register_slots[f_i]
        fi
     fi;
     f_i++
  :: else -> break
  od;
  ready[a] = f_ok;
  f_i = 0;
  f_ok = 0
}

hidden short c_least;
hidden short c_i;
hidden short c_register;
hidden short caused;  /* by what was just counted: the edge of an in-place acknowledgement, or NONE */

/* Counts message `m` [4.3]. */
inline count(m) {
  caused = NONE;
  if
  :: is_start(m)
  :: is_ack(m) ->
     acknowledged[edge_of_ack(m)]++;
     c_register = edge_register[edge_of_ack(m)];
     c_least = acknowledged[edge_of_ack(m)];
     c_i = register_edges[c_register];
     do
     :: c_i < register_edges_end[c_register] ->
        if
        :: acknowledged[c_i] < c_least -> c_least = acknowledged[c_i]
        :: else
        fi;
        c_i++
     :: else -> break
     od;
     if
     :: c_least > returned[c_register] ->
        returned[c_register] = c_least;
        caused = register_in_place[c_register];
        refresh(register_producer[c_register])
     :: else
     fi
  :: else ->
     received[edge_of_data(m)]++;
     refresh(edge_consumer[edge_of_data(m)])
  fi
}

hidden short message;
hidden short to_thread;

/* Counting a message may cause an acknowledgement, which is sent at once [4.4]. */
inline send_what_is_caused() {
  if
  :: caused == NONE -> message = NONE
  :: else ->
     if
     :: edge_ack_at_launch[caused] || (head[actor_stream[edge_consumer[caused]]] == NONE &&
                                       len(rest[actor_stream[edge_consumer[caused]]]) == 0) ->
        message = ACK(caused)
     :: else ->
        rest[actor_stream[edge_consumer[caused]]]!ACK_MARK(caused), 0;
        message = NONE
     fi
  fi
}

/* Delivers `message` and what it causes. */
inline deliver_message() {
  do
  :: message == NONE -> break
  :: else ->
     if
     :: is_ack(message) ->
        to_thread = actor_thread[register_producer[edge_register[edge_of_ack(message)]]]
     :: else -> to_thread = actor_thread[edge_consumer[edge_of_data(message)]]
     fi;
     if
     :: thread_program[to_thread] -> count(message); send_what_is_caused()
     :: else -> inbox[to_thread]!message; message = NONE
     fi
  od
}

inline deliver(m) {
  message = m;
  deliver_message()
}

hidden short s_register;
hidden short s_edge;
hidden short s_i;

/* Sends what leaves at the launch of act `k` of actor `a`, or what leaves at its end. */
inline send_messages(a, k, at_launch) {
  s_register = actor_registers[a];
  do
  :: s_register < actor_registers_end[a] ->
     if
     :: (k + 1) % register_acts[s_register] == 0 ->
        s_edge = register_edges[s_register];
        do
        :: s_edge < register_edges_end[s_register] ->
           if
           :: edge_data_at_launch[s_edge] == at_launch -> deliver(DATA(s_edge))
           :: else
           fi;
           s_edge++
        :: else -> break
        od
     :: else
     fi;
     s_register++
  :: else -> break
  od;
  s_i = actor_inputs[a];
  do
  :: s_i < actor_inputs_end[a] ->
     s_edge = inputs[s_i];
     if
     :: edge_ack_at_launch[s_edge] == at_launch && !edge_in_place[s_edge] &&
        (k + 1) % edge_acts[s_edge] == 0 -> deliver(ACK(s_edge))
     :: else
     fi;
     s_i++
  :: else -> break
  od
}

/* ------------------------------------------------------------------------------------------------
 * Calls [9.3 to 9.5].
 */

/* Of the message of a send, or of that which a receive is for: count, type and tag of its act. */
#define sort_of(c) sorts[call_sorts[c] + done[call_actor[c]]]

/* Receive `c` gets a message of a sort. */
inline match(sort, c) {
  if
  :: sort != sort_of(c) -> any_mismatch = true
  :: else
  fi
}

hidden short k_sort;

inline activate(c) {
  if
  :: call_kind[c] == COLLECTIVE_CALL ->
     if
     :: in_round[call_communicator[c]] == 0 -> first_call[call_communicator[c]] = c
     :: else ->
        if
        :: call_signature[c] != call_signature[first_call[call_communicator[c]]] ->
           mismatched[call_communicator[c]] = true;
           any_mismatch = true
        :: else
        fi
     fi;
     call_in_round[call_rank[c]] = c;
     in_round[call_communicator[c]]++
  :: call_kind[c] == SEND ->
     if
     :: call_eager[c] -> running[c] = true
     :: else ->
        sender[call_channel[c]] = c;
        if
        :: receiver[call_channel[c]] != NONE -> match(sort_of(c), receiver[call_channel[c]])
        :: else
        fi
     fi
  :: else ->
     if
     :: len(mailbox[call_channel[c]]) > 0 ->
        mailbox[call_channel[c]]?k_sort;
        match(k_sort, c);
        running[c] = true
     :: else ->
        receiver[call_channel[c]] = c;
        if
        :: sender[call_channel[c]] != NONE -> match(sort_of(sender[call_channel[c]]), c)
        :: else
        fi
     fi
  fi
}

hidden short g_call;

inline start_calls(a) {
  calls_left[a] = actor_calls_end[a] - actor_calls[a];
  g_call = actor_calls[a];
  do
  :: g_call < actor_calls_end[a] ->
     if
     :: call_chain[g_call] != NONE && call_stage[g_call] == 0 -> stage_left[call_chain[g_call]]++
     :: else
     fi;
     g_call++
  :: else -> break
  od;
  g_call = actor_calls[a];
  do
  :: g_call < actor_calls_end[a] ->
     if
     :: call_chain[g_call] != NONE && call_stage[g_call] > 0
     :: else -> activate(g_call)
     fi;
     g_call++
  :: else -> break
  od
}

hidden short n_chain;
hidden short n_stage;

/* Call `c`, of a chain, is done: if it is the last of its stage, the next one begins. */
inline next_stage(c) {
  n_chain = call_chain[c];
  stage_left[n_chain]--;
  if
  :: stage_left[n_chain] == 0 ->
     n_stage = call_stage[c] + 1;
     g_call = actor_calls[call_actor[c]];
     do
     :: g_call < actor_calls_end[call_actor[c]] ->
        if
        :: call_chain[g_call] == n_chain && call_stage[g_call] == n_stage ->
           stage_left[n_chain]++;
           activate(g_call)
        :: else
        fi;
        g_call++
     :: else -> break
     od
  :: else
  fi;
  n_chain = 0;
  n_stage = 0
}

/* ------------------------------------------------------------------------------------------------
 * Streams [5.2].
 */

hidden byte x_ok;
hidden short x_i;

/* Whether the act at the head of stream `s` need not wait for other streams [5.4]: x_ok. */
inline see_other_streams(s) {
  x_ok = actor_behind[head[s]] == NONE || done_on[actor_behind[head[s]]] >= head_need[s];
  x_i = actor_afters[head[s]];
  do
  :: x_ok && x_i < actor_afters_end[head[s]] ->
     x_ok = done[after_actor[x_i]] > done[head[s]] + after_ahead[x_i];
     x_i++
  :: else -> break
  od
}

/* The act at the head of stream `s` starts. */
inline begin(s) {
  begun[s] = true;
  if
  :: actor_collective[head[s]] != NONE -> started[actor_collective[head[s]]]++
  :: actor_role[head[s]] == GROUP -> start_calls(head[s])
  :: else
  fi
}

/* It does if it may. Only on a device with room for all. */
inline start(s) {
  see_other_streams(s);
  if
  :: x_ok -> begin(s)
  :: else
  fi
}

#define needs_slot(s) (actor_role[head[s]] == OP || actor_role[head[s]] == GROUP)
/* Of act `a` on stream `s` of a device: whether it stands in the launch order, and in a hardware
 * queue, and whether it leaves that when it starts. */
#define in_order(s, a) (device_order[stream_device[s]] != 0 && actor_role[a] == GROUP && \
                        (device_order[stream_device[s]] != 3 || actor_collects[a]))
#define in_queue(s, a) (stream_hardware_queue[s] != NONE && \
                        (device_holds[stream_device[s]] || actor_role[a] != RECORD))
#define leaves_at_start(s, a) (!device_holds[stream_device[s]] && actor_role[a] != WAIT)

/* The act at the head of stream `s` takes its room. */
inline take_room(s) {
  not_begun[stream_device[s]]??eval(s);
  if
  :: needs_slot(s) -> resident[stream_device[s]]++
  :: else
  fi;
  if
  :: in_queue(s, head[s]) && leaves_at_start(s, head[s]) ->
     hardware_queue[stream_hardware_queue[s]]?eval(s)
  :: else
  fi;
  if
  :: in_order(s, head[s]) && device_order[stream_device[s]] == 1 ->
     launch_order[stream_device[s]]?eval(s)
  :: else
  fi
}

hidden short d_best;
hidden short d_i;
hidden short d_stream;

/* What may start on device `d` does, one after the other: of several the one launched first [5.3].
 * Which of several takes a slot is open on some devices: there it is offered one. */
inline dispatch(d) {
  do
  :: d_best = NONE;
     d_i = len(not_begun[d]);
     do
     :: d_i > 0 ->
        not_begun[d]?d_stream;
        not_begun[d]!d_stream;
        d_i--;
        if
        :: d_best == NONE && head[d_stream] != NONE && !begun[d_stream] &&
           (!in_queue(d_stream, head[d_stream]) ||
            hardware_queue[stream_hardware_queue[d_stream]]?[eval(d_stream)]) &&
           (!in_order(d_stream, head[d_stream]) || launch_order[d]?[eval(d_stream)]) &&
           (!needs_slot(d_stream) || device_free[d] || resident[d] < device_resident[d]) ->
           see_other_streams(d_stream);
           if
           :: x_ok && needs_slot(d_stream) && device_free[d] -> offered[d_stream] = true
           :: else -> d_best = (x_ok -> d_stream : NONE)
           fi
        :: else
        fi
     :: else -> break
     od;
     if
     :: d_best == NONE -> break
     :: else ->
        take_room(d_best);
        begin(d_best)
     fi
  od
}

/* An act on stream `s`, which is its head still, gives back its room: before it has left. */
inline free_room(s) {
  if
  :: stream_device[s] == NONE
  :: else ->
     if
     :: needs_slot(s) -> resident[stream_device[s]]--
     :: else
     fi;
     if
     :: in_queue(s, head[s]) && !leaves_at_start(s, head[s]) ->
        hardware_queue[stream_hardware_queue[s]]?eval(s)
     :: else
     fi;
     if
     :: in_order(s, head[s]) && device_order[stream_device[s]] >= 2 ->
        launch_order[stream_device[s]]?eval(s)
     :: else
     fi
  fi
}

hidden short v_item;
hidden short v_need;
hidden short v_i;

/* What was the head of stream `s` has left it. */
inline advance(s) {
  head[s] = NONE;
  head_need[s] = 0;
  begun[s] = false;
  do
  :: head[s] != NONE || len(rest[s]) == 0 -> break
  :: else ->
     rest[s]?v_item, v_need;
     if
     :: is_act(v_item) ->
        head[s] = v_item;
        head_need[s] = v_need;
        if
        :: stream_device[s] == NONE -> start(s)
        :: else
        fi
     :: is_ack_mark(v_item) -> deliver(ACK(v_item - ACTORS))
     :: is_creation_mark(v_item) ->
        v_i = v_item - ACTORS - EDGES;
        marks_of_creation[v_i]--;
        if
        :: marks_of_creation[v_i] == 0 -> exists[v_i] = true
        :: else
        fi
     :: else -> marks_of_thread[v_item - ACTORS - EDGES - COMMUNICATORS]--
     fi
  od;
  v_item = 0
}

hidden short e_actor;
hidden short e_i;
hidden short e_stream;
hidden short e_k;
hidden short e_thread;

/* The act at the head of stream `s` ends. */
inline end_act(s) {
  e_actor = head[s];
  e_k = done[e_actor];
  done[e_actor]++;
  done_on[s]++;
  left--;
  free_room(s);
  head[s] = NONE;
  send_messages(e_actor, e_k, 0);
  if
  :: actor_role[e_actor] == RECORD -> fired[actor_object[e_actor]]++
  :: else
  fi;
  if
  :: len(line[s]) > 0 -> line[s]?e_thread; place[e_thread] = true
  :: else -> unfinished[s]--
  fi;
  advance(s);
  /* Others may have waited for it, and there may be room on its device. */
  e_i = stream_dependents[s];
  do
  :: e_i <= stream_dependents_end[s] ->
     e_stream = (e_i < stream_dependents_end[s] -> dependents[e_i] : s);
     if
     :: head[e_stream] != NONE && !begun[e_stream] && stream_device[e_stream] == NONE ->
        start(e_stream)
     :: (head[e_stream] != NONE && !begun[e_stream] || e_stream == s) &&
        stream_device[e_stream] != NONE -> dispatch(stream_device[e_stream])
     :: else
     fi;
     e_i++
  :: else -> break
  od;
  e_i = 0
}

/* Call `c` is done. */
inline finish_call(c) {
  if
  :: call_chain[c] != NONE -> next_stage(c)
  :: else
  fi;
  calls_left[call_actor[c]]--;
  if
  :: calls_left[call_actor[c]] == 0 -> end_act(actor_stream[call_actor[c]])
  :: else
  fi
}

/* ------------------------------------------------------------------------------------------------
 * Host threads [3, 9.1]. `t` is a thread and `a` the actor that it is at.
 */

/* The thread goes on after an act of order program. */
inline next_of_program(t) {
  next_act[t]++;
  if
  :: next_act[t] < thread_acts_end[t] -> at[t] = program[next_act[t]]
  :: else -> at[t] = NONE
  fi
}

inline finish_host_step(t, a) {
  launched[a]++;
  done[a]++;
  left--;
  mode[t] = FREE;
  need[t] = 0;
  refresh(a);
  next_of_program(t)
}

hidden short l_actor;
hidden short l_k;
hidden short l_need;
hidden short l_stream;

inline launch(t) {
  l_actor = at[t];
  l_k = launched[l_actor];
  launched[l_actor]++;
  refresh(l_actor);
  send_messages(l_actor, l_k, 1);
  l_need = 0;
  if
  :: actor_role[l_actor] == RECORD -> recorded[actor_object[l_actor]]++
  :: actor_role[l_actor] == WAIT -> l_need = recorded[actor_object[l_actor]]
  :: actor_behind[l_actor] != NONE -> l_need = launched_on[actor_behind[l_actor]]
  :: else
  fi;
  launched_on[actor_stream[l_actor]]++;
  l_stream = actor_stream[l_actor];
  if
  :: head[l_stream] == NONE -> head[l_stream] = l_actor; head_need[l_stream] = l_need
  :: else -> rest[l_stream]!l_actor, l_need
  fi;
  if
  :: stream_device[l_stream] != NONE ->
     not_begun[stream_device[l_stream]]!l_stream;
     if
     :: in_queue(l_stream, l_actor) -> hardware_queue[stream_hardware_queue[l_stream]]!l_stream
     :: else
     fi;
     if
     :: in_order(l_stream, l_actor) -> launch_order[stream_device[l_stream]]!l_stream
     :: else
     fi;
     dispatch(stream_device[l_stream])
  :: stream_device[l_stream] == NONE && len(rest[l_stream]) == 0 -> start(l_stream)
  :: else
  fi;
  if
  :: actor_blocking[l_actor] -> mode[t] = COMPLETING
  :: else ->
     mode[t] = FREE;
     if
     :: thread_program[t] -> next_of_program(t)
     :: else
     fi
  fi
}

hidden short h_i;

/* All that is between the creation of communicators and the launch. */
inline come_to_launch(t) {
  if
  :: actor_role[at[t]] < WORK ->
     if
     :: unfinished[actor_stream[at[t]]] < stream_limit[actor_stream[at[t]]] &&
        len(line[actor_stream[at[t]]]) == 0 ->
        unfinished[actor_stream[at[t]]]++;
        launch(t)
     :: else -> line[actor_stream[at[t]]]!t; mode[t] = QUEUING
     fi
  :: actor_role[at[t]] == SYNCHRONIZE ->
     h_i = actor_streams[at[t]];
     do
     :: h_i < actor_streams_end[at[t]] ->
        if
        :: head[synchronized[h_i]] == NONE  /* nothing stands behind nothing */
        :: else ->
           rest[synchronized[h_i]]!SYNCHRONIZE_MARK(t), 0;
           marks_of_thread[t]++
        fi;
        h_i++
     :: else -> break
     od;
     mode[t] = SYNCHRONIZING
  :: actor_role[at[t]] == AWAIT ->
     need[t] = (actor_times[at[t]] == NONE -> recorded[actor_object[at[t]]] : actor_times[at[t]]);
     mode[t] = AWAITING
  :: actor_role[at[t]] == LOCK ->
     if
     :: holder[actor_object[at[t]]] == NONE -> holder[actor_object[at[t]]] = t; place[t] = true
     :: else -> lock_line[actor_object[at[t]]]!t
     fi;
     mode[t] = LOCKING
  :: actor_role[at[t]] == SET -> fired[actor_object[at[t]]]++; finish_host_step(t, at[t])
  :: actor_role[at[t]] == UNLOCK ->
     if
     :: len(lock_line[actor_object[at[t]]]) > 0 ->
        lock_line[actor_object[at[t]]]?h_i;
        holder[actor_object[at[t]]] = h_i;
        place[h_i] = true
     :: else -> holder[actor_object[at[t]]] = NONE
     fi;
     finish_host_step(t, at[t])
  :: else -> finish_host_step(t, at[t])
  fi
}

hidden short n_communicator;
hidden short n_i;

/* The rank of thread `t` arrives at the creation that the thread needs [3.3]. */
inline arrive(t) {
  n_communicator = need_communicator[need[t]];
  if
  :: arrived[need_rank[need[t]]]
  :: else ->
     arrived[need_rank[need[t]]] = true;
     arrivals[n_communicator]++;
     if
     :: arrivals[n_communicator] ==
        communicator_ranks_end[n_communicator] - communicator_ranks[n_communicator] ->
        n_i = communicator_streams[n_communicator];
        do
        :: communicator_waits[n_communicator] && n_i < communicator_streams_end[n_communicator] ->
           if
           :: head[stream_of_communicator[n_i]] == NONE
           :: else ->
              rest[stream_of_communicator[n_i]]!CREATION_MARK(n_communicator), 0;
              marks_of_creation[n_communicator]++
           fi;
           n_i++
        :: else -> break
        od;
        exists[n_communicator] = marks_of_creation[n_communicator] == 0
     :: else
     fi
  fi
}

/* Goes on with the communicators that the act needs, from need[t] on. */
inline create_and_launch(t) {
  do
  :: need[t] < actor_needs_end[at[t]] && exists[need_communicator[need[t]]] -> need[t]++
  :: else -> break
  od;
  if
  :: need[t] < actor_needs_end[at[t]] -> arrive(t); mode[t] = CREATING
  :: else -> need[t] = 0; come_to_launch(t)
  fi
}

inline enter(t) {
  if
  :: launched[at[t]] >= actor_items[at[t]] -> mode[t] = STARVED
  :: else -> need[t] = actor_needs[at[t]]; create_and_launch(t)
  fi
}

hidden short i_message;

/* Takes the oldest message of the inbox and counts it; the thread is at its receiver then. */
inline take_message(t) {
  inbox[t]?i_message;
  if
  :: is_start(i_message) -> at[t] = i_message
  :: is_ack(i_message) -> at[t] = register_producer[edge_register[edge_of_ack(i_message)]]
  :: else -> at[t] = edge_consumer[edge_of_data(i_message)]
  fi;
  count(i_message);
  send_what_is_caused();
  deliver_message();
  i_message = 0
}

/* ------------------------------------------------------------------------------------------------
 * The processes.
 */

#ifdef PLAN
#define LOOK skip
#else
#define LOOK c_code { look(); }
#endif

#define is_ready(t) (at[t] != NONE && ready[at[t]])

proctype thread(NUMBER t) {
  end: do
  :: d_step { mode[t] == FREE && is_ready(t) -> LOOK; enter(t) }
  :: d_step { mode[t] == FREE && !is_ready(t) && len(inbox[t]) > 0 -> LOOK; take_message(t) }
  :: d_step { mode[t] == CREATING && exists[need_communicator[need[t]]] -> create_and_launch(t) }
  :: d_step { mode[t] == QUEUING && place[t] -> place[t] = false; launch(t) }
  :: d_step { mode[t] == COMPLETING && done[at[t]] == launched[at[t]] ->
              mode[t] = FREE;
              if
              :: thread_program[t] -> next_of_program(t)
              :: else
              fi }
  :: d_step { (mode[t] == SYNCHRONIZING && marks_of_thread[t] == 0) ||
              (mode[t] == AWAITING && fired[actor_object[at[t]]] >= need[t]) ||
              (mode[t] == LOCKING && place[t]) ->
              place[t] = false;
              finish_host_step(t, at[t]) }
  od
}

/* What runs alone: no members, no calls; a wait only once its event has fired. */
#define ends_alone(s) (begun[s] && actor_collective[head[s]] == NONE && \
                       actor_role[head[s]] != GROUP && \
                       (actor_role[head[s]] != WAIT || \
                        fired[actor_object[head[s]]] >= head_need[s]))

proctype stream(NUMBER s) {
  end: do
  :: d_step { ends_alone(s) -> LOOK; end_act(s) }
  :: d_step { offered[s] && resident[stream_device[s]] < device_resident[stream_device[s]] ->
              LOOK;
              offered[s] = false;
              take_room(s);
              begin(s);
              dispatch(stream_device[s]);
              skip /* a loop cannot end a d_step */ }
  od
}

hidden short m_i;

proctype collective(NUMBER c) {
  end: do
  :: d_step { started[c] == collective_members_end[c] - collective_members[c] ->
              LOOK;
              started[c] = 0;
              m_i = collective_members[c];
              do
              :: m_i < collective_members_end[c] ->
                 end_act(actor_stream[member_actor[m_i]]);
                 m_i++
              :: else -> break
              od;
              m_i = 0 }
  od
}

hidden short r_call;

proctype round(NUMBER c) {
  end: do
  :: d_step { in_round[c] == communicator_ranks_end[c] - communicator_ranks[c] && !mismatched[c] ->
              LOOK;
              in_round[c] = 0;
              first_call[c] = NONE;
              m_i = communicator_ranks[c];
              do
              :: m_i < communicator_ranks_end[c] ->
                 r_call = call_in_round[m_i];
                 call_in_round[m_i] = NONE;
                 finish_call(r_call);
                 m_i++
              :: else -> break
              od;
              m_i = 0 }
  od
}

hidden short r_other;

proctype pair(NUMBER c) {
  end: do
  :: d_step { sender[c] != NONE && receiver[c] != NONE ->
              LOOK;
              r_call = sender[c];
              r_other = receiver[c];
              sender[c] = NONE;
              receiver[c] = NONE;
              finish_call(r_call);
              finish_call(r_other);
              r_other = 0 }
  od
}

proctype call(NUMBER c) {
  end: do
  :: d_step { running[c] ->
              LOOK;
              running[c] = false;
              if
              :: call_kind[c] == SEND && receiver[call_channel[c]] != NONE ->
                 match(sort_of(c), receiver[call_channel[c]]);
                 running[receiver[call_channel[c]]] = true;
                 receiver[call_channel[c]] = NONE
              :: call_kind[c] == SEND && receiver[call_channel[c]] == NONE ->
                 mailbox[call_channel[c]]!sort_of(c)
              :: else
              fi;
              finish_call(c);
              r_call = 0 }
  od
}


init {
  short z;
  d_step {
#ifndef PLAN
    c_code { read_tables(); };
#endif
    left = acts;
    z = 0;
    do
    :: z < STREAMS -> head[z] = NONE; z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < CHANNELS -> sender[z] = NONE; receiver[z] = NONE; z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < RANKS_IN -> call_in_round[z] = NONE; z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < LOCKS -> holder[z] = NONE; z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < COMMUNICATORS -> exists[z] = communicator_exists[z]; first_call[z] = NONE; z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < THREADS ->
       at[z] = NONE;
       next_act[z] = thread_acts[z];
       if
       :: z < threads && next_act[z] < thread_acts_end[z] -> at[z] = program[next_act[z]]
       :: else
       fi;
       z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < actors ->
       refresh(z);
       if
       :: actor_starts[z] && !thread_program[actor_thread[z]] -> inbox[actor_thread[z]]!z
       :: else
       fi;
       z++
    :: else -> break
    od;
    z = 0
  }
  atomic {
    do
    :: z < threads -> run thread(z); z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < streams -> run stream(z); z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < collectives -> run collective(z); z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < communicators && calls > 0 -> run round(z); z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < channels -> run pair(z); z++
    :: else -> break
    od;
    z = 0;
    do
    :: z < calls ->
       if
       :: call_kind[z] == RECEIVE || call_eager[z] -> run call(z)
       :: else
       fi;
       z++
    :: else -> break
    od;
    z = 0
  }
  timeout ->
#ifdef PLAN
  assert(left == 0 && !any_mismatch)
#else
  c_code { come_to_rest(now.left == 0 && !now.any_mismatch); }
#endif
}
