"use strict";

// The model of a run: the data from viz/page/html_page.cpp, with numbers resolved to names and rows
// to objects. The model does not use the page.

/** Formats a time like all reports: "43.6 us", in the largest unit that leaves at least 1. */
function timeText(ns) {
  const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3]];
  for (const [unit, size] of units) {
    if (Math.abs(ns) >= size) return `${Number((ns / size).toFixed(9))} ${unit}`;
  }
  return `${ns} ns`;
}

/** Formats bytes, rounded to a tenth: "1.5 GiB". */
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${Math.round(value * 10) / 10} ${units[unit]}`;
}

function counted(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Kinds of work in the order of the legend, each with a pattern for pages without color. */
const KINDS = {
  forward: "", backward: "rows", weight: "dots", overlapped: "grid", compute: "", collective: "columns",
  message: "slant", buffer: "dashes", control: "", host: "cross",
};

/** Reads the data of the page. */
function readRun(data) {
  const word = (index) => data.words[index];
  const ops = data.acts.map((row, index) => {
    const [actor, number, rank, stream, thread, microBatch, kind, stage, at, statement, alone] = row;
    const op = {
      index, number, rank, microBatch,
      actor: word(actor), stream: word(stream), thread: word(thread), kind: word(kind),
      stage: word(stage), at: word(at), statement: word(statement),
      waits: [], waiters: [],
      lane: null, slice: null,  // lane and slice in the timeline
      launchSlice: null,        // launch by its host thread, if the launch took time
      stuckIn: null,            // lane that ends with this stuck op
      onCycle: false,
      isRoot: false,            // whether the op waits for something that never happens
    };
    op.name = number === 0 ? op.actor : `${op.actor}#${number}`;  // 0: unknown number, in a real job
    op.label = alone ? op.actor : op.name;
    op.fullName = `rank ${rank} ${op.name}`;
    return op;
  });
  const waits = data.waits.map((row, index) => {
    const [from, to, sentence, toText, kind, number] = row;
    const wait = {
      index, number,  // number: position on the cycle from 1, or 0
      from: ops[from], to: to === null ? null : ops[to],
      sentence: word(sentence), toText: word(toText), kind: word(kind),
    };
    wait.from.waits.push(wait);
    if (wait.to) wait.to.waiters.push(wait);
    if (number > 0) {
      wait.from.onCycle = true;
      wait.from.cycleNumber = number;
    }
    return wait;
  });
  // Without a cycle, the roots cause the hang: waits for a rank or for the outside, not for an op.
  const cycle = waits.filter((wait) => wait.number > 0);
  for (const wait of waits) {
    wait.isRoot = cycle.length === 0 && wait.to === null;
    wait.from.isRoot = wait.from.isRoot || wait.isRoot;
  }
  const lanes = data.lanes.map((row, index) => {
    // `alike`: all ranks with equal lanes; the data has `alike` only for the first lane of a rank.
    const lane = {index, rank: row.rank, name: word(row.name), thread: row.thread, alike: row.alike || null};
    // `count`: number of consecutive ops in this slice; `op` is the first.
    lane.slices = row.slices.map(([op, begin, waiting, length, done, kind, shade = 0, count = 1]) => {
      const slice = {
        op: ops[op], lane, begin, workBegin: begin + waiting, end: begin + length,
        done: done === 1, kind: word(kind), shade, count,
      };
      // A stuck slice is drawn beyond the last event, without an end.
      const forEver = data.at_rest && !slice.done && slice.end === data.end_ns;
      slice.drawEnd = forEver ? Infinity : slice.end;
      slice.drawWork = forEver && slice.workBegin >= slice.end ? Infinity : slice.workBegin;
      // A launch is in the lane of its thread, the op itself in the lane of its stream.
      const isLaunch = slice.kind === "host" && slice.op.kind !== "host";
      if (isLaunch) {
        slice.op.launchSlice = slice;
      } else {
        slice.op.slice = slice;
        slice.op.lane = lane;
      }
      return slice;
    });
    lane.stuck = row.stuck.map((op) => ops[op]);
    lane.stuckCount = row.stuck_count;  // including ops that the page omits
    for (const op of lane.stuck) {
      op.stuckIn = lane;
      if (!op.lane) op.lane = lane;
    }
    return lane;
  });
  for (const op of ops) {
    if (!op.slice && op.launchSlice && !op.stuckIn) {
      op.slice = op.launchSlice;
      op.lane = op.launchSlice.lane;
    }
  }
  const shownBy = new Map();  // folded rank -> the rank that represents it
  for (const lane of lanes) {
    const before = lanes[lane.index - 1];
    if (before && before.rank === lane.rank) lane.alike = before.alike;
    for (const rank of lane.alike || []) if (rank !== lane.rank) shownBy.set(rank, lane.rank);
  }
  // Ranks that other ranks wait for in vain, except for dead ranks, which the page describes
  // elsewhere.
  const died = new Set(data.deaths.map(([rank]) => rank));
  const missing = new Map((data.guilty || []).filter(([rank]) => !died.has(rank)));
  return {...data, ops, waits, lanes, cycle, shownBy, missing};
}

/** Adds lanes for a folded rank at the end of `run.lanes`. */
function unfoldRank(run, rank) {
  const first = run.shownBy.get(rank);
  if (first === undefined) return;
  run.shownBy.delete(rank);
  const copies = new Map();  // original op -> its copy
  const opOf = (op) => {
    if (!copies.has(op)) {
      const copy = {...op, index: run.ops.length, rank, fullName: `rank ${rank} ${op.name}`, waits: [], waiters: []};
      run.ops.push(copy);
      copies.set(op, copy);
    }
    return copies.get(op);
  };
  const sliceOf = (slice, lane) => ({...slice, lane, op: opOf(slice.op)});
  const slices = new Map();
  const lanesOf = new Map();
  for (const lane of run.lanes.filter((item) => item.rank === first)) {
    const copy = {...lane, index: run.lanes.length, rank, alike: null};
    copy.slices = lane.slices.map((slice) => {
      slices.set(slice, sliceOf(slice, copy));
      return slices.get(slice);
    });
    copy.stuck = lane.stuck.map(opOf);
    lanesOf.set(lane, copy);
    run.lanes.push(copy);
  }
  for (const op of copies.values()) {
    op.slice = slices.get(op.slice) || null;
    op.launchSlice = slices.get(op.launchSlice) || null;
    op.lane = lanesOf.get(op.lane) || null;
    op.stuckIn = lanesOf.get(op.stuckIn) || null;
  }
}

/** Parses ranks such as "0, 4-7", of `count` ranks; null means all. Throws an Error with a
    message for the user. */
function parseRanks(text, count) {
  if (text.trim() === "" || text.trim() === "all") return null;
  const ranks = new Set();
  for (const part of text.split(/[,\s]+/).filter((item) => item !== "")) {
    const found = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!found) throw new Error(`'${part}' is not a rank`);
    const first = Number(found[1]);
    const last = found[2] === undefined ? first : Number(found[2]);
    if (last < first) throw new Error(`'${part}' goes backwards`);
    if (last >= count) throw new Error(`there is no rank ${last}, only 0 to ${count - 1}`);
    for (let rank = first; rank <= last; ++rank) ranks.add(rank);
  }
  return ranks;
}

/** Formats ranks as parseRanks reads them: "0, 4-7". */
function ranksText(ranks) {
  if (ranks === null) return "";
  const sorted = [...ranks].sort((a, b) => a - b);
  const parts = [];
  for (let i = 0; i < sorted.length;) {
    let end = i + 1;
    while (end < sorted.length && sorted[end] === sorted[end - 1] + 1) ++end;
    parts.push(end - i === 1 ? `${sorted[i]}` : `${sorted[i]}-${sorted[end - 1]}`);
    i = end;
  }
  return parts.join(", ");
}

/** Escapes text for HTML and SVG, including attributes. */
function escaped(text) {
  return String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
