/* A model of all interleavings of a plan, for SPIN. docs/explanation/check.md lists the steps, and
 * docs/reference/rules.md (the numbers in brackets) defines them. The model has no time: any
 * enabled step can come next.
 *
 * The model is compiled once, for small plans. It reads the tables of a plan at run time from the
 * file that PIPESIM_PLAN names (tests/oracle/promela_writer.hpp). At its end, pan prints the number
 * of quiescent states.
 *
 * Tables are hidden: they never change, so they are not part of the state. The scratch variables of
 * single steps are hidden as well. Each thread, and each thing that ends, is a process of d_steps.
 * All steps use shared data, so partial-order reduction saves nothing: -DNOREDUCE.
 */

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
hidden NUMBER call_steps[CALLS];
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
    TABLE(synchronized), TABLE(call_actor), TABLE(call_kind), TABLE(call_eager), TABLE(call_steps),
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

  /* Reads the lines `NAME = N, ...`; `-` is NONE. */
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
      if (sscanf(line, "%63[a-z_]", name) != 1 || !next) continue;
      for (t = 0; t < known && strcmp(all_tables[t].name, name) != 0; ++t) { }
      if (t == known) refuse("no such table", name);
      for (next += strcspn(next, "-0123456789"); *next; next += strcspn(next, "-0123456789")) {
        const int none = *next == '-';
        const long value = none ? 255 : strtol(next, &next, 10);
        next += none;
        if (i == all_tables[t].room) refuse("the plan is too large", name);
        if (value > (all_tables[t].wide ? 32767 : 254 + none)) refuse("a number is too large", name);
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

/* Roles, with the numbers of sim/plan.hpp. */
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

/* The mode of a thread: free, or blocked in the op of actor at[t]. */
#define FREE 0
#define STARVED 1       /* outside input never comes */
#define CREATING 2      /* waits for a communicator */
#define QUEUING 3       /* waits for a place in the launch queue */
#define COMPLETING 4    /* waits in a blocking launch */
#define SYNCHRONIZING 5
#define AWAITING 6
#define LOCKING 7

/* Messages in an inbox. A start message is the number of its actor. */
#define DATA(e) (ACTORS + (e))
#define ACK(e) (ACTORS + EDGES + (e))
#define is_start(m) ((m) < ACTORS)
#define is_ack(m) ((m) >= ACTORS + EDGES)
#define edge_of_data(m) ((m) - ACTORS)
#define edge_of_ack(m) ((m) - ACTORS - EDGES)

/* Entries of a stream. An op is the number of its actor; the other entries are marks. */
#define ACK_MARK(e) (ACTORS + (e))
#define CREATION_MARK(c) (ACTORS + EDGES + (c))
#define SYNCHRONIZE_MARK(t) (ACTORS + EDGES + COMMUNICATORS + (t))
#define is_act(i) ((i) < ACTORS)
#define is_ack_mark(i) ((i) >= ACTORS && (i) < ACTORS + EDGES)
#define is_creation_mark(i) ((i) >= ACTORS + EDGES && (i) < ACTORS + EDGES + COMMUNICATORS)

/* ------------------------------------------------------------------------------------------------
 * The state.
 */

short left;                       /* ops that are not done */
NUMBER launched[ACTORS];
NUMBER done[ACTORS];
bool ready[ACTORS];               /* derived from the other variables [3.1] */
NUMBER received[EDGES];           /* data messages counted by the consumer */
NUMBER acknowledged[EDGES];       /* slots counted by the producer */
NUMBER returned[REGISTERS];       /* slots acknowledged by all edges */

byte mode[THREADS];
NUMBER at[THREADS];               /* arrival: its actor; program: the next actor; or NONE */
short next_act[THREADS];          /* program: index in `program` */
NUMBER need[THREADS];             /* communicator that it waits for [3.3], or the count it awaits */
bool place[THREADS];              /* whether it has a launch queue place, or holds the lock */
NUMBER marks_of_thread[THREADS];
chan inbox[THREADS] = [INBOX] of { NUMBER };

NUMBER head[STREAMS];             /* the actor of the op at the head, or NONE */
bool begun[STREAMS];              /* whether the op at the head has started */
NUMBER head_need[STREAMS];        /* for a wait: the required firings of its event; for an op that
                                     follows another stream: the ops of it that must be done */
chan rest[STREAMS] = [QUEUE] of { NUMBER, NUMBER };
NUMBER unfinished[STREAMS];
short launched_on[STREAMS];       /* ops since the start */
short done_on[STREAMS];
chan line[STREAMS] = [THREADS] of { NUMBER };

/* For a device with limited kernel slots: the streams of ops that were launched and have not
 * started, of ops in a hardware queue, and of ops in the launch order. */
chan not_begun[DEVICES] = [ROOM] of { NUMBER };
chan hardware_queue[HARDWARE_QUEUES] = [ROOM] of { NUMBER };
chan launch_order[DEVICES] = [ROOM] of { NUMBER };
NUMBER resident[DEVICES];
bool offered[STREAMS];             /* whether the op at the head can start once a slot is free */

NUMBER started[COLLECTIVES];      /* members that have entered the current instance */

bool exists[COMMUNICATORS];
bool arrived[RANKS_IN];           /* at the initialization */
NUMBER arrivals[COMMUNICATORS];
NUMBER marks_of_creation[COMMUNICATORS];

NUMBER recorded[SIGNALS];
NUMBER fired[SIGNALS];
NUMBER holder[LOCKS];             /* a thread, or NONE */
chan lock_line[LOCKS] = [THREADS] of { NUMBER };

NUMBER in_round[COMMUNICATORS];   /* ranks that have arrived in the current collective */
NUMBER first_call[COMMUNICATORS];
bool mismatched[COMMUNICATORS];
NUMBER call_in_round[RANKS_IN];
bool running[CALLS];              /* a send into a buffer, or a receive that has its data */
NUMBER calls_left[ACTORS];
NUMBER stage_left[CALLS];         /* of a chain, stored at its first call */
bool any_mismatch;                /* of a collective, or of a send and its receive */
chan mailbox[CHANNELS] = [MAILBOX] of { NUMBER, NUMBER };  /* sort and steps of each send */
NUMBER held[CHANNELS];            /* buffered steps */
NUMBER sender[CHANNELS];          /* an active send without a receive or buffer space, or NONE */
NUMBER receiver[CHANNELS];        /* an active receive without a send, or NONE */

/* ------------------------------------------------------------------------------------------------
 * Readiness, messages and registers [3.1, 4, 5.1]. Each inline has its own scratch variables.
 */

hidden byte f_ok;
hidden short f_i;

/* Updates whether the next op of actor `a` is ready. */
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
hidden short caused;  /* edge of the in-place acknowledgment after count(), or NONE */

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

/* Sends the acknowledgment that the counted message causes, if any [4.4]. */
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

/* Delivers `message`, and the messages that it causes. */
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

/* Sends the messages that op `k` of actor `a` sends at its launch, or at its end. */
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

/* The sort of a send or receive: count, type and tag of its op. */
#define sort_of(c) sorts[call_sorts[c] + done[call_actor[c]]]

/* Compares a send of a sort with its receive `c`. */
inline match(sort, c) {
  if
  :: sort != sort_of(c) -> any_mismatch = true
  :: else
  fi
}

hidden short k_sort;
hidden short k_steps;

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
        mailbox[call_channel[c]]?k_sort, k_steps;
        match(k_sort, c);
        running[c] = true;
        held[call_channel[c]] = held[call_channel[c]] - k_steps;
        k_steps = 0
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

/* Finishes call `c` of a chain. After the last call of a stage, the next stage begins. */
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
