/* ------------------------------------------------------------------------------------------------
 * Streams [5.2].
 */

hidden byte x_ok;
hidden short x_i;

/* Sets x_ok: whether the op at the head of stream `s` waits for no other stream [5.4]. */
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

/* Starts the op at the head of stream `s`. */
inline begin(s) {
  begun[s] = true;
  if
  :: actor_collective[head[s]] != NONE -> started[actor_collective[head[s]]]++
  :: actor_role[head[s]] == GROUP -> start_calls(head[s])
  :: else
  fi
}

/* Starts the op at the head of stream `s` if possible. Requires a device with unlimited slots. */
inline start(s) {
  see_other_streams(s);
  if
  :: x_ok -> begin(s)
  :: else
  fi
}

#define needs_slot(s) (actor_role[head[s]] == OP || actor_role[head[s]] == GROUP)
/* For op `a` on stream `s` of a device: whether it is in the launch order, whether it is in a
 * hardware queue, and whether it leaves the queue when it starts. */
#define in_order(s, a) (device_order[stream_device[s]] != 0 && actor_role[a] == GROUP && \
                        (device_order[stream_device[s]] != 3 || actor_collects[a]))
#define in_queue(s, a) (stream_hardware_queue[s] != NONE && \
                        (device_holds[stream_device[s]] || actor_role[a] != RECORD))
#define leaves_at_start(s, a) (!device_holds[stream_device[s]] && actor_role[a] != WAIT)

/* Takes a kernel slot for the op at the head of stream `s`, and removes the op from queues. */
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

/* Starts the ops that can start on device `d`, in launch order [5.3]. Some devices may give a slot
 * to any of several ops; the slot is then offered to each. */
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

/* Frees the kernel slot of an ending op, while the op is still at the head of stream `s`. */
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

/* Moves the next entry to the head of stream `s`. */
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

/* Ends the op at the head of stream `s`. */
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
  /* Other streams may have waited for this op, and its device may have a free slot. */
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

/* Finishes call `c`. */
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
 * Host threads [3, 9.1]. `t` is a thread, and `a` is its current actor.
 */

/* Moves a thread of order program to its next op. */
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

/* Does the steps between communicator initialization and launch. */
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
        :: head[synchronized[h_i]] == NONE  /* an empty stream needs no mark */
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

/* Adds the rank of thread `t` to the initialization that the thread needs [3.3]. */
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

/* Continues with the communicators that the op needs, from need[t] on. */
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

/* Takes the oldest message of the inbox and counts it. The receiver becomes the current actor. */
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

#define LOOK c_code { look(); }

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

/* Whether the op ends by itself: no members, no calls, and for a wait, the event has fired. */
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
  :: d_step { sender[c] != NONE && call_steps[sender[c]] > 0 &&
              held[c] + call_steps[sender[c]] <= 8 ->  /* it fits into the buffer */
              held[c] = held[c] + call_steps[sender[c]];
              running[sender[c]] = true;
              sender[c] = NONE }
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
                 receiver[call_channel[c]] = NONE;
                 held[call_channel[c]] = held[call_channel[c]] - call_steps[c]
              :: call_kind[c] == SEND && receiver[call_channel[c]] == NONE ->
                 mailbox[call_channel[c]]!sort_of(c), call_steps[c]
              :: else
              fi;
              finish_call(c);
              r_call = 0 }
  od
}


init {
  short z;
  d_step {
    c_code { read_tables(); };
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
       :: call_kind[z] == RECEIVE || call_eager[z] || call_steps[z] > 0 -> run call(z)
       :: else
       fi;
       z++
    :: else -> break
    od;
    z = 0
  }
  timeout ->
  c_code { come_to_rest(now.left == 0 && !now.any_mismatch); }
}
