"use strict";

// The timeline: lanes of slices, and next to each lane its stuck ops. Each zoom redraws only the
// visible part. Labels stay crisp and never overlap, and a large run is as fast as a small one.

const RANK_GAP = 10;  // pixels between ranks
const AXIS = 40;
const TINY = 2.5;     // narrower slices are merged
const MANY_LANES = 48;
const RANKS_OF_A_STEP = 32;  // ranks per step of the buttons next to the filter
const WORK = new Set(["forward", "backward", "weight", "overlapped", "compute"]);

class Timeline {
  constructor(frame, run, page) {
    this.frame = frame;
    this.run = run;
    this.page = page;
    this.ranks = null;          // visible ranks; null: all
    this.unfolded = new Set();  // ranks that represent others, if these others are visible
    // Whether all lanes are shown. With many lanes, only the most important ones are shown at
    // first.
    this.everyLane = run.lanes.length <= MANY_LANES;
    this.copies = new Map();    // unfolded rank -> the rank that represented it
    this.lanes = this.chosenLanes();
    this.selection = null;
    this.focus = null;          // {lane, item}
    this.printing = false;
    this.drawSoon = 0;
    this.anyStuck = run.lanes.some((lane) => lane.stuck.length > 0);
    frame.innerHTML = `<div class="axis"><svg aria-hidden="true"></svg></div>
      <div class="lanes"><svg role="img" aria-label="The lanes of the timeline"></svg></div>`;
    [this.axis, this.body] = frame.querySelectorAll("svg");
    // Events long after the last progress are only described in words: a watchdog ends a job after
    // minutes.
    const end = run.end_ns > 2 * run.rest_ns && run.rest_ns > 0 ? run.rest_ns : run.end_ns;
    this.whole = {from: 0, to: Math.max(1, end * (run.at_rest ? 1.05 : 1.01))};
    this.window = {...this.whole};
    this.items = new Map(run.lanes.map((lane) => [lane, this.itemsOf(lane)]));
    this.listen();
    this.draw();
    this.beginAtHang();
  }

  // Scrolls to the hang or the first death, which users look for first.
  beginAtHang() {
    const dead = this.run.deaths.map(([rank]) => this.lanes.find((lane) => lane.rank === rank))[0];
    const lanes = this.run.cycle.map((wait) => wait.from.stuckIn || wait.from.lane);
    const rows = [...lanes, dead].map((lane) => this.rows.get(lane)).filter((y) => y !== undefined);
    if (rows.length > 0) this.revealRows(rows);
    this.draw();
  }

  // Returns the items of a lane that the keyboard visits: slices, then stuck ops without a slice.
  itemsOf(lane) {
    const items = lane.slices.map((slice) => ({op: slice.op, slice}));
    const open = new Set(lane.slices.filter((slice) => !slice.done).map((slice) => slice.op));
    for (const op of lane.stuck) {
      if (!open.has(op)) items.push({op, slice: null});
    }
    return items;
  }

  // Whether a lane is important: it computes, has an unfinished op on a stream, or has a stuck op of
  // the cycle.
  tellsMost(lane) {
    return lane.slices.some((slice) => WORK.has(slice.kind) || (!slice.done && !lane.thread)) ||
        lane.stuck.some((op) => op.onCycle);
  }

  chosenLanes() {
    const ofRank = this.run.lanes.filter((lane) => this.ranks === null ? this.isUnfolded(lane) : this.ranks.has(lane.rank));
    ofRank.sort((a, b) => a.rank - b.rank || a.index - b.index);
    if (this.everyLane) return ofRank;
    const chosen = ofRank.filter((lane) => this.tellsMost(lane));
    return chosen.length > 0 ? chosen : ofRank;
  }

  // Whether a lane is visible: a folded rank is visible only if the rank that represents it is in
  // `unfolded`.
  isUnfolded(lane) {
    return !this.copies.has(lane.rank) || this.unfolded.has(this.copies.get(lane.rank));
  }

  /** Adds the lanes of folded ranks, until the timeline has more than MAX_LANES lanes. */
  giveLanes(ranks) {
    const MAX_LANES = 4096;
    // Adds the lanes of a few ranks even above this limit.
    const few = (ranks.size ?? ranks.length) <= RANKS_OF_A_STEP;
    for (const rank of ranks) {
      if (!this.run.shownBy.has(rank)) continue;
      if (this.run.lanes.length > MAX_LANES && !few) {
        this.page.tellLeftOut("There are too many ranks to unfold them all: choose some above.");
        break;
      }
      this.copies.set(rank, this.run.shownBy.get(rank));
      const before = this.run.lanes.length;
      unfoldRank(this.run, rank);
      for (const lane of this.run.lanes.slice(before)) this.items.set(lane, this.itemsOf(lane));
    }
  }

  /** Shows or hides the folded ranks that the rank of `lane` represents. */
  toggleCopies(lane) {
    if (!this.unfolded.delete(lane.rank)) {
      this.giveLanes(lane.alike);
      this.unfolded.add(lane.rank);
    }
    this.filter(this.ranks);
  }

  /** Shows or hides all folded ranks. Returns whether these ranks are now visible. */
  toggleAllCopies() {
    const folded = this.run.lanes.filter((lane) => lane.alike && !this.unfolded.has(lane.rank));
    if (folded.length === 0) {
      this.unfolded.clear();
    } else {
      for (const lane of folded) {
        this.giveLanes(lane.alike);
        this.unfolded.add(lane.rank);
      }
    }
    this.filter(this.ranks);
    return folded.length > 0;
  }

  // Returns "rank 3", with the number of ranks if it represents several; "3" in a narrow picture.
  rankText(lane) {
    const count = lane.alike && this.ranks === null && !this.unfolded.has(lane.rank) ? ` \u00d7${lane.alike.length}` : "";
    return `${this.left < 120 ? "" : "rank "}${lane.rank}${count}`;
  }

  /** Switches between all lanes and the most important ones. Returns whether all lanes are visible
      now. */
  toggleLanes() {
    this.everyLane = !this.everyLane;
    this.filter(this.ranks);
    return this.everyLane;
  }

  // ---- layout

  layout() {
    const dense = this.lanes.length > MANY_LANES;
    this.lane = dense ? 19 : 26;  // height of a lane
    this.high = dense ? 15 : 20;  // height of a slice within the lane
    const ranks = new Set(this.lanes.map((lane) => lane.rank)).size;
    this.gap = ranks === this.lanes.length ? 0 : RANK_GAP;
    this.width = this.printing ? 960 : Math.max(280, this.frame.clientWidth - 2);
    this.left = Math.round(Math.min(190, Math.max(86, this.width * 0.16)));
    const stuck = this.anyStuck ? Math.min(380, Math.max(104, this.width * 0.34)) : 6;
    this.right = Math.round(this.width - stuck);
    this.rows = new Map();
    let y = 20;  // leaves space for an arrow above the first lane
    let rank = null;
    for (const lane of this.lanes) {
      if (rank !== null && lane.rank !== rank) y += this.gap;
      this.rows.set(lane, y);
      rank = lane.rank;
      y += this.lane;
    }
    this.height = y + 6;
  }

  x(time) {
    const {from, to} = this.window;
    return this.left + (time - from) / (to - from) * (this.right - this.left);
  }

  timeAt(x) {
    const {from, to} = this.window;
    return from + (x - this.left) / (this.right - this.left) * (to - from);
  }

  // Returns the chips of a lane's stuck ops that fit; a selected op is always among them.
  chips(lane) {
    const x0 = this.right + 14;
    const x1 = this.width - 4;
    const wanted = (op) => (this.selection && this.selection.ops.includes(op)) ||
        (this.focus && this.focus.lane === lane && this.focus.item.op === op);
    const ops = [...lane.stuck].sort((a, b) => wanted(b) - wanted(a));
    const chips = [];
    let x = x0;
    for (const op of ops) {
      const left = lane.stuckCount - chips.length - 1;
      const space = x1 - x - (left > 0 ? 34 : 0);
      const text = (op.cycleNumber ? `${op.cycleNumber}: ` : "") + op.label;
      const strong = op.onCycle || op.isRoot;
      const fits = measureText(text, strong) + 12 <= space;
      if (!fits && chips.length > 0) break;
      const shown = fits ? text : fitText(text, space - 12, strong);
      const width = Math.max(12, Math.min(space, measureText(shown, strong) + 12));
      chips.push({op, x, width, text: shown});
      x += width + 4;
    }
    return {chips, more: lane.stuckCount - chips.length, end: x};
  }

  /** Returns the place of an op at which arrows begin and end; null if the op is not visible. */
  anchor(op) {
    const lane = op.stuckIn || op.lane;
    if (!lane || !this.rows.has(lane)) return null;
    const y = this.rows.get(lane) + this.high / 2 + 2;
    if (op.stuckIn) {
      const {chips, end} = this.chips(lane);
      const chip = chips.find((item) => item.op === op);
      return chip ? {x: chip.x + chip.width / 2, y} : {x: end + 8, y};
    }
    if (!op.slice) return null;
    const middle = (this.x(op.slice.begin) + this.x(op.slice.end)) / 2;
    return {x: Math.min(this.right, Math.max(this.left, middle)), y};
  }

  // ---- drawing

  soon() {
    if (this.drawSoon) return;
    this.drawSoon = requestAnimationFrame(() => {
      this.drawSoon = 0;
      this.draw();
    });
  }

  draw() {
    this.layout();
    const top = this.printing ? 0 : this.frame.scrollTop - this.lane - AXIS;
    const bottom = this.printing ? Infinity : this.frame.scrollTop + this.frame.clientHeight + this.lane;
    const seen = this.lanes.filter((lane) => {
      const y = this.rows.get(lane);
      return y >= top && y <= bottom;
    });
    this.sizeOf(this.axis, AXIS);
    this.axis.innerHTML = this.axisText();
    this.sizeOf(this.body, this.height);
    const rest = this.run.at_rest ? this.x(this.run.rest_ns) : Infinity;
    let text = `<defs>${PATTERNS}</defs>`;
    if (rest < this.right) {
      const x = Math.max(this.left, rest);
      text += `<rect class="rest" x="${x}" y="0" width="${this.right - x}" height="${this.height}" fill="url(#p-rest)"/>`;
    }
    for (const lane of seen) text += this.laneText(lane);
    if (rest >= this.left && rest <= this.right) {
      text += `<line class="moment" x1="${rest}" x2="${rest}" y1="0" y2="${this.height}"/>`;
    }
    text += this.deathsText(seen) + this.marksText() + this.arrowsText();
    this.body.innerHTML = text;
    if (this.lanes.length === 0) {
      this.body.innerHTML = `<text x="${this.left}" y="22">Nothing ran on these ranks.</text>`;
      this.sizeOf(this.body, 40);
    }
  }

  // Sets the size of a picture. A printed picture is as wide as the paper.
  sizeOf(svg, height) {
    svg.setAttribute("width", this.printing ? "100%" : this.width);
    svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    if (this.printing) svg.removeAttribute("height");
    else svg.setAttribute("height", height);
  }

  /** Returns the positions of at most about `most` ticks, with labels that have space and do not
      cross the line at the end of the run. */
  ticks(most) {
    const {from, to} = this.window;
    const step = tickStep(to - from, most);
    const ticks = [];
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = this.x(time);
      const label = timeText(Math.round(time));
      const half = measureText(label) / 2;
      const fits = x - half >= this.left - 4 && x + half <= this.right + 4 && Math.abs(x - this.endLine()) > half + 2;
      ticks.push({x, label: fits ? label : ""});
    }
    return ticks;
  }

  /** Returns the x of the line at the end of a run that hangs, else infinity. */
  endLine() {
    return this.run.at_rest ? this.x(this.run.rest_ns) : Infinity;
  }

  axisText() {
    let text = `<text class="head" x="4" y="32">rank, stream</text>`;
    // A narrow axis has so few ticks that none may have space for its label; then takes more ticks.
    const most = Math.max(1, Math.floor((this.right - this.left) / (this.width < 600 ? 64 : 96)));
    let ticks = [];
    for (let more = 0; more < 4 && !ticks.some((tick) => tick.label); ++more) ticks = this.ticks(most + more);
    for (const {x, label} of ticks) {
      text += `<line x1="${x}" x2="${x}" y1="34" y2="${AXIS}"/>`;
      if (label) text += `<text x="${x}" y="31" text-anchor="middle">${label}</text>`;
    }
    text += `<line x1="${this.left}" x2="${this.right}" y1="${AXIS - 0.5}" y2="${AXIS - 0.5}"/>`;
    if (this.run.at_rest) {
      const rest = this.x(this.run.rest_ns);
      const label = fitText(`no further progress after ${timeText(this.run.rest_ns)}`, this.right - 8, true);
      if (rest >= this.left && rest <= this.right) {
        text += `<line class="moment" x1="${rest}" x2="${rest}" y1="16" y2="${AXIS}"/>`;
        const half = measureText(label, true) / 2;
        const x = Math.max(half + 4, Math.min(this.right - half, rest));
        text += `<text class="moment-text" x="${x}" y="12" text-anchor="middle">${label}</text>`;
      }
    }
    if (this.anyStuck) {
      const space = this.width - this.right - 18;
      text += `<text class="head" x="${this.right + 14}" y="32">${fitText("waiting at the end", space) || "waiting"}</text>`;
    }
    return text;
  }

  laneText(lane) {
    const y = this.rows.get(lane);
    const index = this.lanes.indexOf(lane);
    const first = index === 0 || this.lanes[index - 1].rank !== lane.rank;
    const rank = this.rankText(lane);
    const rankWidth = Math.max(this.left < 120 ? 0 : 58, measureText(`${rank} `, true) + 6);
    let text = first && index > 0 && this.gap > 0
      ? `<line class="between" x1="0" x2="${this.width}" y1="${y - this.gap / 2 - 1}" y2="${y - this.gap / 2 - 1}"/>`
      : "";
    if (first) {
      const folds = lane.alike && this.ranks === null ? ` data-fold="${lane.index}"` : "";
      const missing = this.run.missing.has(lane.rank) ? " guilty" : "";
      text += `<text class="rank${missing}" x="4" y="${y + this.high / 2 + 6}"${folds}>${rank}</text>`;
      if (missing) text += this.missingText(lane, y);
    }
    const name = fitText(lane.thread ? `${lane.name} (host)` : lane.name, this.left - rankWidth - 8);
    text += `<text class="lane" x="${rankWidth}" y="${y + this.high / 2 + 6}">${escaped(name)}</text>`;
    text += `<line class="track" x1="${this.left}" x2="${this.right}" y1="${y + this.high + 3}" y2="${y + this.high + 3}"/>`;
    return text + this.slicesText(lane, y + 2) + this.chipsText(lane, y + 2);
  }

  // Returns the mark of a rank that other ranks wait for in vain.
  missingText(lane, y) {
    const count = this.lanes.filter((other) => other.rank === lane.rank).length;
    let text = `<rect class="guilt" x="0" y="${y}" width="3" height="${count * this.lane - 4}"/>`;
    if (lane.stuck.length > 0) return text;
    const space = this.width - this.right - 18;
    const whole = this.run.missing.get(lane.rank);
    // A narrow window drops the rank, whose number is at the left of the row.
    const cut = measureText(whole, true) <= space ? whole : fitText(whole.replace(/^rank \d+ /, ""), space, true);
    text += `<text class="label guilty" x="${this.right + 14}" y="${y + this.high / 2 + 6}">${escaped(cut)}</text>`;
    return text;
  }

  slicesText(lane, y) {
    const {from, to} = this.window;
    const slices = lane.slices;
    let low = 0;
    for (let high = slices.length; low < high;) {
      const middle = (low + high) >> 1;
      if (slices[middle].drawEnd < from) low = middle + 1;
      else high = middle;
    }
    let text = "";
    let many = null;
    const add = (slice) => {
      const name = kindClass(slice.kind, slice.shade);
      many.kinds.set(name, (many.kinds.get(name) || 0) + slice.drawEnd - slice.begin);
    };
    const flush = () => {
      if (!many) return;
      const width = Math.max(1, many.end - many.begin);
      // The kind with the most time sets the color.
      const kind = [...many.kinds].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
      text += `<rect class="slice many thin ${kind}" x="${many.begin}" y="${y}" width="${width}" height="${this.high}"
        data-lane="${lane.index}" data-first="${many.first}" data-count="${many.count}"/>`;
      many = null;
    };
    for (let i = low; i < slices.length && slices[i].begin <= to; ++i) {
      const slice = slices[i];
      const begin = Math.max(this.left, this.x(slice.begin));
      const end = Math.min(this.right, this.x(slice.drawEnd));
      if (end - begin < TINY) {
        // Merges narrow slices. A single narrow slice keeps its color, and has a minimum width.
        if (many && begin - many.end < 1) {
          many.end = Math.max(many.end, end);
          ++many.count;
          add(slice);
          continue;
        }
        flush();
        const next = slices[i + 1];
        if (next && this.x(next.begin) - end < 1 && this.x(next.drawEnd) - this.x(next.begin) < TINY) {
          many = {begin, end: Math.max(end, begin + 1), first: i, count: 1, kinds: new Map()};
          add(slice);
        } else {
          text += this.sliceText(slice, i, begin, Math.max(end, begin + 1.5), y);
        }
        continue;
      }
      flush();
      text += this.sliceText(slice, i, begin, end, y);
    }
    flush();
    return text;
  }

  sliceText(slice, index, begin, end, y) {
    const where = `data-lane="${slice.lane.index}" data-slice="${index}"`;
    const more = `${where} ${slice.op.onCycle || slice.op.isRoot ? 'data-cycle=""' : ""} ${slice.done ? "" : 'data-open=""'}`;
    const work = Math.min(end, Math.max(begin, this.x(slice.drawWork)));
    let text = "";
    if (work - begin > 0.5) {
      text += `<rect class="slice waiting w-${slice.kind}" x="${begin}" y="${y}" width="${work - begin}" height="${this.high}" ${more}/>
        <rect class="overlay" x="${begin}" y="${y}" width="${work - begin}" height="${this.high}" fill="url(#p-wait)"/>`;
    }
    if (end - work > 0.5 || work - begin <= 0.5) {
      text += kindRect(slice.kind, work, y, Math.max(1, end - work), this.high, more, slice.shade);
    }
    const widest = end - work >= work - begin ? [work, end] : [begin, work];
    // The line at the end of the run crosses ops that hang; their labels are left of it.
    if (!slice.done && widest[0] < this.endLine()) widest[1] = Math.min(widest[1], this.endLine());
    const space = widest[1] - widest[0] - 5;
    const short = slice.op.microBatch > 0 ? `${slice.op.microBatch}` : "";
    const forms = slice.count > 1 ? [counted(slice.count, "op"), `${slice.count}`] : [slice.op.label, short];
    const label = forms.find((item) => item !== "" && measureText(item) <= space);
    if (label) {
      const onWait = widest[0] < work && work > begin;
      text += `<text class="label ${onWait ? "on-wait" : `t-${slice.kind}${slice.shade > 0 ? ` s-${slice.shade}` : ""}`}" x="${(widest[0] + widest[1]) / 2}" y="${y + this.high / 2 + 4}"
        text-anchor="middle">${escaped(label)}</text>`;
    }
    return text;
  }

  chipsText(lane, y) {
    if (lane.stuck.length === 0) return "";
    const {chips, more, end} = this.chips(lane);
    let text = "";
    for (const chip of chips) {
      const cycle = chip.op.onCycle || chip.op.isRoot ? "cycle" : "";
      text += `<rect class="chip ${cycle}" x="${chip.x}" y="${y}" width="${chip.width}" height="${this.high}" rx="4" data-op="${chip.op.index}"/>
        <text class="label chip-text ${cycle}" x="${chip.x + chip.width / 2}" y="${y + this.high / 2 + 4}" text-anchor="middle">${escaped(chip.text)}</text>`;
    }
    if (more > 0) {
      text += `<text class="more" x="${end + 2}" y="${y + this.high / 2 + 4}" data-more="${lane.index}">+${more}</text>`;
    }
    return text;
  }

  deathsText(seen) {
    let text = "";
    for (const [rank, time, what] of this.run.deaths) {
      const x = this.x(time);
      const lanes = seen.filter((lane) => lane.rank === rank);
      if (x < this.left || x > this.right || lanes.length === 0) continue;
      const y0 = this.rows.get(lanes[0]);
      const y1 = this.rows.get(lanes[lanes.length - 1]) + this.lane;
      text += `<line class="death" x1="${x}" x2="${x}" y1="${y0}" y2="${y1}" data-death="${escaped(what)}"/>
        <path class="death" d="M${x - 5} ${y0 + 3}l10 10m0 -10l-10 10" data-death="${escaped(what)}"/>`;
    }
    return text;
  }

  // Returns the outlines of the selection and of the focus.
  marksText() {
    let text = "";
    const outline = (box, name) => {
      if (!box) return;
      text += `<rect class="${name}" x="${box.x - 1.5}" y="${box.y - 1.5}" width="${box.width + 3}" height="${this.high + 3}" rx="3"/>`;
    };
    if (this.selection) {
      for (const op of this.selection.ends) for (const box of this.boxes(op)) outline(box, "end-mark");
      for (const op of this.selection.ops) for (const box of this.boxes(op)) outline(box, "selected-mark");
    }
    if (this.focus) {
      const {lane, item} = this.focus;
      outline(item.slice ? this.sliceBox(item.slice) : this.chipBox(lane, item.op), "focus-mark");
    }
    return text;
  }

  boxes(op) {
    const boxes = [];
    if (op.slice) boxes.push(this.sliceBox(op.slice));
    if (op.stuckIn) boxes.push(this.chipBox(op.stuckIn, op));
    return boxes;
  }

  sliceBox(slice) {
    if (!this.rows.has(slice.lane)) return null;
    const begin = Math.max(this.left, this.x(slice.begin));
    const end = Math.min(this.right, this.x(slice.drawEnd));
    if (end < this.left || begin > this.right) return null;
    return {x: begin, y: this.rows.get(slice.lane) + 2, width: Math.max(1.5, end - begin)};
  }

  chipBox(lane, op) {
    if (!this.rows.has(lane)) return null;
    const chip = this.chips(lane).chips.find((item) => item.op === op);
    return chip ? {x: chip.x, y: this.rows.get(lane) + 2, width: chip.width} : null;
  }

  arrowsText() {
    if (!this.selection) return "";
    let text = "";
    for (const wait of this.selection.waits) {
      if (!wait.to) continue;
      const from = this.anchor(wait.from);
      const to = this.anchor(wait.to);
      if (!from || !to) continue;
      // The arrow starts and ends above or below its lanes, so that it covers no labels in these
      // lanes.
      const down = to.y > from.y;
      const edge = this.high / 2 + 2;
      const y0 = from.y + (to.y === from.y || !down ? -edge : edge);
      const y1 = to.y + (to.y === from.y || down ? -edge : edge);
      const bend = to.y === from.y ? -22 : (y1 - y0) / 2;
      const c0 = y0 + bend;
      const c1 = to.y === from.y ? y1 + bend : y1 - bend;
      text += `<path class="wait-arrow" d="M${from.x} ${y0}C${from.x} ${c0} ${to.x} ${c1} ${to.x} ${y1}" marker-end="url(#arrow)"/>`;
    }
    return text;
  }

  // ---- moving

  fit() {
    this.window = {...this.whole};
    this.soon();
  }

  zoom(factor, at = null) {
    const {from, to} = this.window;
    const centre = at === null ? (from + to) / 2 : at;
    const length = Math.min(this.whole.to * 1.2, Math.max(10, (to - from) / factor));
    const share = (centre - from) / (to - from);
    this.window = {from: centre - share * length, to: centre + (1 - share) * length};
    this.keepInside();
    this.soon();
  }

  /** Shows the time just before the last progress. */
  showEnd() {
    const end = this.run.rest_ns;
    const length = Math.max(10, end * 0.2);
    this.window = {from: end - length, to: end + length * 0.1};
    this.keepInside();
    this.soon();
  }

  move(pixels) {
    const time = pixels / (this.right - this.left) * (this.window.to - this.window.from);
    this.window.from += time;
    this.window.to += time;
    this.keepInside();
    this.soon();
  }

  keepInside() {
    const length = this.window.to - this.window.from;
    const most = Math.max(this.whole.to, this.run.end_ns);
    const from = Math.max(-length * 0.1, Math.min(this.window.from, most - length * 0.5));
    this.window = {from, to: from + length};
  }

  /** Moves and scrolls to the ops; to the first op if not all fit. */
  reveal(ops) {
    this.layout();
    const slices = ops.filter((op) => op.slice && !op.stuckIn).map((op) => op.slice);
    if (slices.length > 0) this.revealTimes(slices);
    const rows = ops.map((op) => this.rows.get(op.stuckIn || op.lane)).filter((y) => y !== undefined);
    if (rows.length > 0) this.revealRows(rows);
    this.draw();
  }

  revealTimes(slices) {
    const begin = Math.min(...slices.map((slice) => slice.begin));
    const end = Math.max(...slices.map((slice) => slice.end));
    const {from, to} = this.window;
    const overlaps = slices.every((slice) => slice.end > from && slice.begin < to);
    if (overlaps && !(begin < from && end < to) && !(begin > from && end > to)) return;
    const length = Math.max(to - from, (end - begin) * 1.2);
    const middle = (begin + end) / 2;
    this.window = {from: middle - length / 2, to: middle + length / 2};
    this.keepInside();
  }

  revealRows(rows) {
    const top = Math.min(...rows);
    const bottom = Math.max(...rows) + this.lane;
    const space = this.frame.clientHeight - AXIS;
    const at = this.frame.scrollTop;
    if (top >= at && bottom <= at + space) return;
    // If not all rows fit, shows the first row.
    const wanted = bottom - top <= space ? (top + bottom - space) / 2 : rows[0] - 20;
    this.frame.scrollTop = Math.max(0, wanted);
  }

  // ---- interaction

  listen() {
    const frame = this.frame;
    new ResizeObserver(() => this.soon()).observe(frame);
    frame.addEventListener("scroll", () => this.soon());
    frame.addEventListener("wheel", (event) => this.onWheel(event), {passive: false});
    frame.addEventListener("pointermove", (event) => this.onMove(event));
    frame.addEventListener("pointerdown", (event) => this.onDown(event));
    for (const name of ["pointerup", "pointercancel"]) {
      frame.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    }
    frame.addEventListener("pointerleave", () => this.page.hideTooltip());
    frame.addEventListener("click", (event) => this.onClick(event));
    frame.addEventListener("keydown", (event) => this.onKey(event));
    frame.addEventListener("blur", () => {
      this.focus = null;
      this.soon();
    });
    this.pointers = new Map();
    this.moved = false;
  }

  onWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const x = event.clientX - this.frame.getBoundingClientRect().left;
      this.zoom(Math.exp(-event.deltaY / 300), this.timeAt(x));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.move(event.deltaX || event.deltaY);
    }
  }

  onDown(event) {
    if (event.button !== 0) return;
    this.pointers.set(event.pointerId, event.clientX);
    if (this.pointers.size === 1) {
      this.startX = event.clientX;
      this.moved = false;
    }
  }

  onMove(event) {
    const last = this.pointers.get(event.pointerId);
    if (last === undefined) {
      if (event.pointerType !== "touch") this.onHover(event);
      return;
    }
    if (!this.moved && Math.abs(event.clientX - this.startX) < 4) return;
    if (!this.moved) {
      this.moved = true;
      this.frame.setPointerCapture(event.pointerId);
      this.page.hideTooltip();
    }
    if (this.pointers.size === 1) {
      this.move(last - event.clientX);
    } else {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const before = Math.abs(last - other);
      const after = Math.abs(event.clientX - other);
      if (before > 8 && after > 8) {
        const left = this.frame.getBoundingClientRect().left;
        this.zoom(after / before, this.timeAt((event.clientX + other) / 2 - left));
      }
    }
    this.pointers.set(event.pointerId, event.clientX);
  }

  /** Returns the item below the mouse: {slice}, {op}, {many}, {text} or null. */
  thingAt(target) {
    const data = target.dataset || {};
    if (data.slice !== undefined) return {slice: this.run.lanes[data.lane].slices[data.slice]};
    if (data.op !== undefined) return {op: this.run.ops[data.op]};
    if (data.count !== undefined) {
      const first = Number(data.first);
      return {many: this.run.lanes[data.lane].slices.slice(first, first + Number(data.count))};
    }
    if (data.more !== undefined) return {lane: this.run.lanes[data.more]};
    if (data.fold !== undefined) return {folded: this.run.lanes[data.fold]};
    if (data.death !== undefined) return {text: data.death};
    return null;
  }

  onHover(event) {
    const thing = this.thingAt(event.target);
    const text = thing ? this.tooltip(thing) : null;
    if (text) this.page.showTooltip(text, event.clientX, event.clientY);
    else this.page.hideTooltip();
  }

  tooltip(thing) {
    if (thing.text) return escaped(thing.text);
    if (thing.slice && thing.slice.count > 1) {
      const {begin, end, count, op} = thing.slice;
      return `<b>${counted(count, "op")}</b> from ${timeText(begin)} to ${timeText(end)}, first <b>${escaped(op.name)}</b>: too many to show one by one`;
    }
    if (thing.slice) return this.page.opTooltip(thing.slice.op, thing.slice);
    if (thing.op) return this.page.opTooltip(thing.op);
    if (thing.folded) {
      const others = ranksText(new Set(thing.folded.alike.filter((rank) => rank !== thing.folded.rank)));
      return `Ranks that do the same at the same times: <b>${escaped(others.length > 200 ? `${others.slice(0, 200)}\u2026` : others)}</b>. Click to show or hide them.`;
    }
    if (thing.lane) {
      return `<b>${counted(thing.lane.stuckCount, "op")}</b> wait in this lane. The table of waits lists them.`;
    }
    const from = thing.many[0].begin;
    const to = thing.many[thing.many.length - 1].end;
    const count = thing.many.reduce((sum, slice) => sum + slice.count, 0);
    return `<b>${counted(count, "op")}</b> from ${timeText(from)} to ${timeText(to)}: zoom in to see them`;
  }

  onClick(event) {
    if (this.moved) return;
    const thing = this.thingAt(event.target);
    if (!thing) return;
    const op = thing.op || (thing.slice && thing.slice.count === 1 && thing.slice.op);
    if (op) this.page.select({op});
    if (thing.many) {
      const length = thing.many[thing.many.length - 1].end - thing.many[0].begin;
      this.window = {from: thing.many[0].begin - length * 0.1, to: thing.many[0].begin + length * 1.1};
      this.soon();
    }
    if (thing.folded) this.toggleCopies(thing.folded);
    if (thing.lane) this.page.setRanks(new Set([thing.lane.rank]));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key;
    if (event.shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) {
      this.move(key === "ArrowLeft" ? -80 : 80);
    } else if (key === "ArrowLeft" || key === "ArrowRight") {
      this.step(key === "ArrowLeft" ? -1 : 1);
    } else if (key === "ArrowUp" || key === "ArrowDown") {
      this.changeLane(key === "ArrowUp" ? -1 : 1);
    } else if (key === "Home" || key === "End") {
      this.toEnd(key === "Home");
    } else if (key === "Enter" || key === " ") {
      if (this.focus) this.page.select({op: this.focus.item.op});
    } else if (key === "+" || key === "=") {
      this.zoom(1.5);
    } else if (key === "-") {
      this.zoom(1 / 1.5);
    } else if (key === "0") {
      this.fit();
    } else {
      return;
    }
    event.preventDefault();
  }

  // Returns the item that the keyboard visits first: the first op of the cycle, or of the timeline.
  begin() {
    const first = this.run.cycle.length > 0 ? this.run.cycle[0].from : null;
    const lane = first && this.rows.has(first.lane) ? first.lane : this.lanes[0];
    if (!lane) return null;
    const items = this.items.get(lane);
    return {lane, item: items.find((item) => item.op === first) || items[0]};
  }

  step(by) {
    if (!this.focus) return this.setFocus(this.begin());
    const {lane, item} = this.focus;
    const items = this.items.get(lane);
    const next = items[items.indexOf(item) + by];
    if (next) this.setFocus({lane, item: next});
  }

  changeLane(by) {
    if (!this.focus) return this.setFocus(this.begin());
    const {lane, item} = this.focus;
    const next = this.lanes[this.lanes.indexOf(lane) + by];
    if (!next) return;
    const items = this.items.get(next);
    const middle = item.slice ? (item.slice.begin + item.slice.end) / 2 : Infinity;
    const distance = (other) => {
      if (!other.slice) return middle === Infinity ? 0 : Number.MAX_VALUE;
      if (middle === Infinity) return Number.MAX_VALUE;
      return Math.abs((other.slice.begin + other.slice.end) / 2 - middle);
    };
    const best = items.reduce((a, b) => distance(b) < distance(a) ? b : a);
    this.setFocus({lane: next, item: best});
  }

  toEnd(first) {
    if (!this.focus) this.setFocus(this.begin());
    if (!this.focus) return;
    const items = this.items.get(this.focus.lane);
    this.setFocus({lane: this.focus.lane, item: first ? items[0] : items[items.length - 1]});
  }

  setFocus(focus) {
    this.focus = focus;
    if (!focus) return;
    this.reveal([focus.item.op]);
    this.page.say(this.page.describe(focus.item.op));
  }

  mark(selection) {
    this.selection = selection.ops.length > 0 ? selection : null;
    const lanes = [...selection.ops, ...selection.ends].map((op) => op.stuckIn || op.lane);
    const hidden = lanes.some((lane) => lane && !this.lanes.includes(lane));
    if (hidden && !this.everyLane) this.page.showEveryLane();
    if (this.selection) this.reveal([...selection.ops, ...selection.ends]);
    else this.soon();
  }

  filter(ranks) {
    this.ranks = ranks;
    if (ranks !== null) this.giveLanes(ranks);
    this.lanes = this.chosenLanes();
    this.focus = null;
    this.draw();
  }

  /** Shows all lanes and times for printing. Returns a function that restores the view. */
  forPrint() {
    const window = {...this.window};
    this.window = {...this.whole};
    this.printing = true;
    this.draw();
    return () => {
      this.printing = false;
      this.window = window;
      this.draw();
    };
  }
}
