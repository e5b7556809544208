"use strict";

// The page: creates all parts and shares their state, which is the selection, the visible ranks,
// the tooltip, and the announcements for screen readers.

const SHADES = 4;  // colors of pipeline work

class Page {
  constructor() {
    this.run = readRun(JSON.parse(document.getElementById("run-data").textContent));
    this.ranks = null;  // visible ranks; null: all
    this.none = {op: null, wait: null, ops: [], ends: [], waits: []};
    this.selection = this.none;
    this.tables = [];
    this.tell();
    this.addTheme();
    this.addCheck();
    this.addParts();
    this.addCycle();
    this.addTables();
    this.addTimeline();
    this.addGraph();
    this.addContents();
    this.addFilter();
    this.addSearch();
    this.addHelp();
    this.listen();
  }

  element(id) {
    return document.getElementById(id);
  }

  leftOut(where) {
    return this.run.left_out.filter((item) => item.where === where).map((item) => item.text);
  }

  // ---- texts

  tell() {
    const run = this.run;
    const verdict = this.element("verdict");
    const good = ["completed", "correct", "proved"].includes(run.verdict);
    const open = ["limit", "undecided"].includes(run.verdict);
    verdict.className = run.tone || (good ? "good" : open ? "open" : "bad");
    verdict.textContent = run.verdict;
    this.element("story").innerHTML = run.story.map((line) => `<p>${escaped(line)}</p>`).join("");
    const before = ["broken", "mismatches"];
    for (const section of run.sections) {
      const part = document.createElement("section");
      part.id = section.id;
      part.innerHTML = `<h2>${escaped(section.title)}</h2>
        <ul>${section.lines.map((line) => `<li>${escaped(line)}</li>`).join("")}</ul>`;
      this.element(before.includes(section.id) ? "sections-before" : "sections-after").append(part);
    }
    if (run.sources && run.sources.length > 0) {
      const part = document.createElement("section");
      part.id = "source";
      part.innerHTML = "<h2>Source</h2><p class=\"quiet\">The lines where the ranks are, as the files are now.</p>"
        + run.sources.map(([place, ranks, text]) => `<h3>${escaped(place)} <span class="quiet">${escaped(ranks)}</span></h3>
          <pre tabindex="0" role="region" aria-label="${escaped(place)}">${escaped(text)}</pre>`).join("");
      this.element("sections-after").prepend(part);
    }
    if (run.look_at.length + run.remedies.length > 0) {
      this.element("hints").hidden = false;
      const list = (lines) => lines.map((line) => `<li>${escaped(line)}</li>`).join("");
      this.element("look-at").innerHTML = list(run.look_at);
      this.element("remedies").innerHTML = list(run.remedies);
      if (run.remedies.length > 0) this.element("remedies-heading").textContent = run.remedies_heading;
    }
    if (run.report) {
      const part = document.createElement("section");
      part.id = "report";
      part.innerHTML = `<h2>The whole report</h2><pre tabindex="0">${escaped(run.report)}</pre>`;
      this.element("tables").after(part);
    }
    this.element("made").textContent = (run.made_by ? `Made by ${run.made_by}.` : "Made by pipesim.")
      + (run.fingerprint ? ` Fingerprint of the run: ${run.fingerprint}.` : "");
  }

  // ---- parts

  waitTable(id, waits, more) {
    const columns = [
      ["cycle", "cycle", (wait) => wait.number],
      ["rank", "rank", (wait) => wait.from.rank],
      ["op", "text", (wait) => wait.from.name],
      ["micro-batch", "cycle", (wait) => wait.from.microBatch],
      ["stream", "text", (wait) => wait.from.stream],
      ["state", "text", (wait) => wait.from.stage],
      ["waits", "text", (wait) => wait.sentence],
      ["kind", "text", (wait) => wait.kind],
      ["source", "text", (wait) => wait.from.at],
    ].filter(([name, type, value]) => type === "cycle" ? waits.some((wait) => value(wait) > 0)
      : name !== "source" || waits.some((wait) => value(wait) !== ""));
    return {
      id,
      columns: columns.map(([name, type]) => ({name, type})),
      rows: waits.map((wait) => columns.map(([, , value]) => value(wait))),
      items: waits,
      nameColumn: "op",
      select: (wait) => this.select({wait}, true),
      ranksOf: (row, wait) => wait.to ? [wait.from.rank, wait.to.rank] : [wait.from.rank],
      ...more,
    };
  }

  // Adds the lists, plots and tables of `sweep` and `diff`, which do not show a run.
  addParts() {
    const host = this.element("parts");
    for (const part of this.run.parts || []) {
      const section = partSection(part);
      const last = host.lastElementChild;
      if (part.beside && last) {
        const pair = document.createElement("div");
        pair.className = "pair";
        last.replaceWith(pair);
        pair.append(last, section);
      } else {
        host.append(section);
      }
      if (part.rows.length === 0) continue;
      this.tables.push(new SortTable(section.querySelector(".table-frame"), part, this));
    }
  }

  // Adds the results of `check`: the answer under each NCCL model, the assumptions, and the interleaving.
  addCheck() {
    const check = this.run.check;
    if (!check) return;
    const readings = this.element("readings");
    readings.hidden = check.readings.length === 0;
    const row = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
    readings.querySelector(".table-frame").innerHTML =
      `<table class="cards"><thead>${row(["NCCL model", "what it is", "answer", "default timing", "who waits for whom"], "th")}</thead>
       <tbody>${check.readings.map((cells) => row(cells, "td")).join("")}</tbody></table>`;
    const rests = this.element("rests-on");
    rests.hidden = check.rests_on.length === 0;
    rests.querySelector("ul").innerHTML = check.rests_on.map((line) => `<li>${escaped(line)}</li>`).join("");
    this.addSteps(check);
  }

  addSteps(check) {
    const section = this.element("steps");
    section.hidden = check.steps.length === 0;
    if (section.hidden) return;
    const note = section.querySelector(".left-out");
    note.textContent = this.leftOut("steps").join(" ");
    note.hidden = note.textContent === "";
    const list = section.querySelector("ol");
    list.start = check.first_step;
    list.innerHTML = check.steps.map((step, i) =>
      `<li role="option" id="step-${i}" aria-selected="false">${escaped(step)}</li>`).join("");
    const ops = new Map(this.run.ops.map((op) => [op.fullName, op]));
    let now = -1;
    const go = (to) => {
      list.children[now]?.setAttribute("aria-selected", "false");
      now = Math.max(0, Math.min(check.steps.length - 1, to));
      const step = list.children[now];
      step.setAttribute("aria-selected", "true");
      list.setAttribute("aria-activedescendant", step.id);
      list.scrollTop = step.offsetTop - list.offsetTop - list.clientHeight / 2;
      const found = /^rank (\d+): (.+#\d+)/.exec(check.steps[now]);
      const op = found && ops.get(`rank ${found[1]} ${found[2]}`);
      this.select(op ? {op} : {});
      this.say(`Step ${now + check.first_step}: ${check.steps[now]}`);
    };
    this.addTools(section.querySelector(".tools"), [
      ["First", "Go to the first step", () => go(0)],
      ["Previous", "Go to the step before", () => go(now - 1)],
      ["Next", "Go to the next step", () => go(now + 1)],
      ["Last", "Go to the last step", () => go(check.steps.length - 1)],
    ]);
    list.addEventListener("click", (event) => {
      const step = event.target.closest("li");
      if (step) go([...list.children].indexOf(step));
    });
    list.addEventListener("keydown", (event) => {
      const moves = {ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: check.steps.length - 1};
      if (!(event.key in moves)) return;
      event.preventDefault();
      go(moves[event.key]);
    });
  }

  addCycle() {
    if (this.run.cycle.length === 0) return;
    const section = this.element("cycle");
    section.hidden = false;
    section.querySelector("h2").textContent = this.run.cycle_heading;
    this.element("cycle-note").textContent = this.run.cycle_note;
    const frame = section.querySelector(".table-frame");
    this.tables.push(new SortTable(frame, this.waitTable("cycle", this.run.cycle, {sorts: false, ranksOf: null}), this));
  }

  addTables() {
    const host = this.element("tables");
    for (const table of this.run.tables) {
      if (table.id === "actors") this.addWaits(host);
      if (table.rows.length === 0) continue;
      const frame = tableSection(host, table.id, table.title, table.about, this.leftOut(table.id));
      this.tables.push(new SortTable(frame, {...table, ranksOf: (row) => [row[0]]}, this));
    }
  }

  addWaits(host) {
    if (this.run.waits.length === 0) return;
    const frame = tableSection(host, "waits", "All waits", "Ops that were blocked at the end, and what they wait for. "
      + "Select a row to see both ends in the pictures.", this.leftOut("waits"));
    this.tables.push(new SortTable(frame, this.waitTable("waits", this.run.waits), this));
  }

  addTimeline() {
    const frame = this.element("timeline-frame");
    const empty = this.run.lanes.length === 0;
    for (const text of this.leftOut("timeline")) {
      frame.insertAdjacentHTML("beforebegin", `<p class="left-out">${escaped(text)}</p>`);
    }
    this.timeline = new Timeline(frame, this.run, this);
    this.element("timeline").hidden = empty;
    const buttons = [["+", "Zoom in", () => this.timeline.zoom(1.5)],
                     ["\u2212", "Zoom out", () => this.timeline.zoom(1 / 1.5)],
                     ["All", "Show all of it", () => this.timeline.fit()]];
    if (this.run.at_rest) buttons.push(["The end", "Show the end of the run", () => this.timeline.showEnd()]);
    const tools = this.element("timeline").querySelector(".tools");
    this.addTools(tools, buttons);
    if (this.run.shownBy.size > 0) {
      this.addTools(tools, [["Unfold", "Show all ranks, or one of those that do the same", () => {
        button.textContent = this.timeline.toggleAllCopies() ? "Fold" : "Unfold";
      }]]);
      const button = tools.lastElementChild;
    }
    if (!this.timeline.everyLane) {
      this.addTools(tools, [["All streams", "Show all streams, or those that compute", () => this.showEveryLane(true)]]);
      this.laneButton = tools.lastElementChild;
    }
    this.addLegend();
  }

  /** Adds a note above the timeline about its omitted parts, once per text. */
  tellLeftOut(text) {
    const known = [...document.querySelectorAll("#timeline .left-out")].some((note) => note.textContent === text);
    if (known) return;
    this.element("timeline-frame").insertAdjacentHTML("beforebegin", `<p class="left-out">${escaped(text)}</p>`);
  }

  /** Shows all lanes of the timeline. With `toggle`, switches between all lanes and the most
      important ones. */
  showEveryLane(toggle = false) {
    if (this.timeline.everyLane && !toggle) return;
    const all = this.timeline.toggleLanes();
    this.laneButton.textContent = all ? "Computing only" : "All streams";
  }

  addLegend() {
    const kinds = new Set();
    let waits = false;
    for (const lane of this.run.lanes) {
      for (const slice of lane.slices) {
        if (slice.workBegin < slice.end || slice.workBegin === slice.begin) kinds.add(kindClass(slice.kind, slice.shade));
        waits = waits || slice.workBegin > slice.begin;
      }
    }
    const swatch = (inside) => `<svg width="28" height="16" aria-hidden="true">${inside}</svg>`;
    // Names of work per chunk, by CSS class; kinds without chunks have a single name.
    const names = new Map((this.run.shades || []).map(([kind, shade, name]) => [kindClass(kind, shade), name]));
    const parts = [];
    for (const kind of Object.keys(KINDS)) {
      for (let shade = 0; shade < SHADES; ++shade) {
        const key = kindClass(kind, shade);
        if (!kinds.has(key)) continue;
        const name = names.get(key) || this.run.kinds[kind];
        parts.push(`<span>${swatch(kindRect(kind, 1, 1, 26, 14, "", shade))} ${escaped(name)}</span>`);
      }
    }
    if (waits) {
      parts.push(`<span>${swatch(`<rect class="slice waiting" x="1" y="1" width="26" height="14"/>
        <rect class="overlay" x="1" y="1" width="26" height="14" fill="url(#p-wait)"/>`)} started, but waits</span>`);
    }
    if (this.run.lanes.some((lane) => lane.stuck.length > 0)) {
      parts.push(`<span>${swatch('<rect class="chip" x="1" y="1" width="26" height="14" rx="4"/>')} waits at the end</span>`);
    }
    if (this.run.cycle.length > 0) {
      parts.push(`<span>${swatch('<rect class="chip cycle" x="1" y="1" width="26" height="14" rx="4"/>')} on the cycle, with its number</span>`);
    } else if (this.run.waits.some((wait) => wait.isRoot)) {
      parts.push(`<span>${swatch('<rect class="chip cycle" x="1" y="1" width="26" height="14" rx="4"/>')} waits for what never happens</span>`);
    }
    if (this.run.deaths.length > 0) {
      parts.push(`<span>${swatch('<path class="death" d="M9 3l10 10m0 -10l-10 10"/>')} a rank died</span>`);
    }
    if (this.run.missing.size > 0) {
      parts.push(`<span>${swatch('<rect class="guilt" x="1" y="1" width="4" height="14"/>')} others wait for this rank in vain</span>`);
    }
    this.element("legend").innerHTML = parts.join("");
    const idle = this.element("idle");
    idle.hidden = !this.run.idle;
    idle.textContent = this.run.idle ? `Idle: ${this.run.idle}.` : "";
  }

  addGraph() {
    const section = this.element("graph");
    const note = section.querySelector(".left-out");
    const frame = this.element("graph-frame");
    note.hidden = note.textContent.trim() === "";
    section.hidden = note.hidden && !frame.querySelector("svg");
    if (!frame.querySelector("svg")) {
      frame.hidden = true;
      for (const part of section.querySelectorAll(".quiet, .tools")) part.hidden = true;
      return;
    }
    this.graph = new WaitGraph(frame, this.run, this);
    this.addTools(section.querySelector(".tools"), [
      ["+", "Zoom in", () => this.graph.panZoom.zoom(1.3)],
      ["\u2212", "Zoom out", () => this.graph.panZoom.zoom(1 / 1.3)],
      ["All", "Show all of it", () => this.graph.panZoom.fit()],
    ]);
  }

  addTools(host, buttons) {
    for (const [text, title, action] of buttons) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.title = title;
      if (text.length < 3) button.setAttribute("aria-label", title);
      button.addEventListener("click", action);
      host.append(button);
    }
  }

  addHelp() {
    const touch = window.matchMedia("(pointer: coarse)").matches;
    const text = touch ? "Drag sideways to move, two fingers move and zoom, a tap selects and shows both ends of its waits."
      : "Drag to move; Ctrl and the wheel, or + and \u2212, zoom; a click selects and shows both ends of its waits.";
    for (const place of document.querySelectorAll(".how")) place.textContent = text;
  }

  addContents() {
    const names = {readings: "NCCL models", steps: "Steps", broken: "What broke", mismatches: "Mismatched calls", cycle: "Cycle", source: "Source", differs: "Who differs", hints: "What to look at", roots: "Roots", graph: "Graph", timeline: "Timeline",
      ranks: "Ranks", schedule: "Schedule", memory: "Memory", waits: "Waits", actors: "Actors"};
    for (const part of this.run.parts || []) if (part.name) names[part.id] = part.name;
    const links = Object.entries(names)
      .filter(([id]) => this.element(id)?.tagName === "SECTION" && !this.element(id).hidden)
      .map(([id, name]) => `<a href="#${id}">${name}</a>`);
    this.element("contents").innerHTML = links.join(" ");
  }

  // ---- light and dark

  addTheme() {
    const button = this.element("theme");
    const root = document.documentElement;
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    let choice = null;
    // Some browsers have no storage for pages from files.
    try {
      choice = localStorage.getItem("pipesim-theme");
    } catch (error) {
      choice = null;
    }
    const show = () => {
      const now = choice || (dark.matches ? "dark" : "light");
      root.dataset.theme = now;
      button.textContent = now === "dark" ? "Light" : "Dark";
      button.title = now === "dark" ? "Change to a light page" : "Change to a dark page";
    };
    button.addEventListener("click", () => {
      choice = root.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("pipesim-theme", choice);
      } catch (error) {
        // Without storage, the choice lasts for this visit.
      }
      show();
    });
    dark.addEventListener("change", show);
    show();
  }

  // ---- visible ranks

  addFilter() {
    const MAX_BUTTONS = 16;
    const host = this.element("rank-buttons");
    const add = (text, ranks, title) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.title = title;
      button.addEventListener("click", () => ranks instanceof Function ? ranks() : this.setRanks(ranks));
      host.append(button);
      return button;
    };
    add("All", null, "Show all ranks");
    if (this.run.ranks > MAX_BUTTONS) {
      for (const [text, by, title] of [["\u2039", -1, "Show the ranks before"], ["\u203a", 1, "Show the next ranks"]]) {
        add(text, () => this.stepRanks(by), title).setAttribute("aria-label", title);
      }
    }
    const onCycle = new Set(this.run.cycle.map((wait) => wait.from.rank));
    if (onCycle.size > 0 && onCycle.size < this.run.ranks) add("Cycle", onCycle, "Show the ranks of the cycle");
    this.rankButtons = [];
    if (this.run.ranks > 1 && this.run.ranks <= MAX_BUTTONS) {
      for (let rank = 0; rank < this.run.ranks; ++rank) {
        this.rankButtons.push(add(`${rank}`, () => this.toggleRank(rank), `Show rank ${rank}, or leave it out again`));
      }
    }
    const input = this.element("rank-filter");
    const read = () => {
      try {
        this.setRanks(parseRanks(input.value, this.run.ranks), true);
        input.setCustomValidity("");
        input.removeAttribute("aria-invalid");
        this.element("ranks-help").textContent = "such as 0, 4-7";
      } catch (error) {
        input.setAttribute("aria-invalid", "true");
        this.element("ranks-help").textContent = error.message;
      }
    };
    input.addEventListener("input", read);
    this.element("filter").addEventListener("submit", (event) => {
      event.preventDefault();
      read();
    });
    this.element("filter").hidden = this.run.ranks < 2;
    this.showRanks();
  }

  // Adds the search: each Enter goes to the next op whose name, such as "rank 3 F2#1", line or stream
  // contains the text.
  addSearch() {
    if (this.run.parts) {
      this.addRowSearch();
      return;
    }
    const input = this.element("op-search");
    const found = this.element("op-found");
    let last = "";
    let at = -1;
    this.element("search").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = input.value.trim().toLowerCase();
      if (text === "") return;
      const rank = /^rank (\d+)\b/.exec(text);
      const number = rank ? Number(rank[1]) : -1;
      if (rank) this.timeline.giveLanes([number]);
      const ops = this.run.ops.filter((op) => (!rank || op.rank === number) && [op.fullName, op.at, op.stream].some((name) => (name || "").toLowerCase().includes(text)));
      if (ops.length === 0 && rank && number < this.run.ranks) {
        // The page lacks the ops of this rank, but can show its lanes.
        this.setRanks(new Set([number]));
        found.textContent = "none; the rank is shown";
        return;
      }
      at = text === last ? (at + 1) % Math.max(1, ops.length) : 0;
      last = text;
      found.textContent = ops.length === 0 ? "none" : `${at + 1} of ${ops.length}`;
      if (ops.length === 0) return;
      const op = ops[at];
      if (this.timeline.copies.has(op.rank) && this.ranks === null) this.setRanks(new Set([op.rank]));
      this.select({op}, true);
    });
    this.element("search").hidden = this.run.ops.length === 0;
  }

  // Adds the search of a page without ops: shows rows that contain all words.
  addRowSearch() {
    const input = this.element("op-search");
    input.placeholder = "row";
    input.title = "Words of a row, such as acc=3 or deadlock: other rows are left out";
    this.element("search").hidden = this.tables.length === 0;
    this.element("search").addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
      for (const table of this.tables) table.find(words);
      const shown = this.tables.reduce((sum, table) => sum + table.shown().length, 0);
      this.element("op-found").textContent = words.length === 0 ? "" : counted(shown, "row");
    });
  }

  /** Shows the ranks before or after the visible ranks; if all ranks are visible, the last or the
      first ranks. */
  stepRanks(by) {
    const last = Math.ceil(this.run.ranks / RANKS_OF_A_STEP) - 1;
    const now = this.ranks === null ? (by > 0 ? -1 : last + 1) : Math.floor(Math.min(...this.ranks) / RANKS_OF_A_STEP);
    const first = Math.max(0, Math.min(last, now + by)) * RANKS_OF_A_STEP;
    const count = Math.min(RANKS_OF_A_STEP, this.run.ranks - first);
    this.setRanks(new Set(Array.from({length: count}, (_, i) => first + i)));
  }

  toggleRank(rank) {
    const ranks = new Set(this.ranks === null ? [] : this.ranks);
    if (!ranks.delete(rank)) ranks.add(rank);
    this.setRanks(ranks.size === 0 ? null : ranks);
  }

  setRanks(ranks, typed = false) {
    this.ranks = ranks;
    if (!typed) this.element("rank-filter").value = ranksText(ranks);
    this.showRanks();
    this.timeline.filter(ranks);
    if (this.graph) this.graph.filter(ranks);
    for (const table of this.tables) table.filter(ranks);
  }

  showRanks() {
    this.rankButtons.forEach((button, rank) => {
      button.setAttribute("aria-pressed", this.ranks !== null && this.ranks.has(rank));
    });
  }

  // ---- selection

  /** Selects {op}, {wait} or nothing, and marks the selection in each part of the page. After a
      click in a table, also scrolls to a picture. */
  select(what, fromTable = false) {
    this.hideTooltip();
    if (what.op) {
      const waits = what.op.waits;
      this.selection = {op: what.op, wait: null, ops: [what.op], waits,
        ends: waits.map((wait) => wait.to).filter((op) => op !== null)};
    } else if (what.wait) {
      const {from, to} = what.wait;
      this.selection = {op: null, wait: what.wait, ops: to ? [from, to] : [from], ends: [], waits: [what.wait]};
    } else {
      this.selection = this.none;
    }
    this.showNeededRanks();
    const selection = this.selection;
    this.timeline.mark(selection);
    if (this.graph) this.graph.mark(selection);
    const waits = new Set(selection.waits);
    for (const table of this.tables) table.mark(waits);
    this.showSelection();
    if (fromTable) this.goToPicture();
  }

  showNeededRanks() {
    if (this.ranks === null) return;
    const needed = [...this.selection.ops, ...this.selection.ends].map((op) => op.rank);
    if (needed.every((rank) => this.ranks.has(rank))) return;
    this.setRanks(new Set([...this.ranks, ...needed]));
  }

  goToPicture() {
    const frames = [this.element("graph-frame"), this.element("timeline-frame")];
    const shown = frames.filter((frame) => frame.offsetParent !== null);
    const seen = shown.some((frame) => {
      const box = frame.getBoundingClientRect();
      const visible = Math.min(box.bottom, window.innerHeight) - Math.max(box.top, 0);
      return visible > Math.min(box.height, window.innerHeight) / 2;
    });
    if (!seen && shown.length > 0) shown[0].closest("section").scrollIntoView();
  }

  showSelection() {
    const panel = this.element("selection");
    const {op, wait} = this.selection;
    panel.hidden = !op && !wait;
    document.body.classList.toggle("has-selection", !panel.hidden);
    if (panel.hidden) return;
    panel.innerHTML = "";
    const add = (tag, text, name = "") => {
      const element = document.createElement(tag);
      element.textContent = text;
      element.className = name;
      panel.append(element, " ");
      return element;
    };
    const link = (text, click, name = "link") => {
      const button = add("button", text, name);
      button.type = "button";
      button.addEventListener("click", click);
      return button;
    };
    if (wait) {
      add("b", wait.number > 0 ? `Wait ${wait.number} of the cycle` : "Wait");
      link(wait.from.fullName, () => this.select({op: wait.from}));
      add("span", wait.sentence);
      if (wait.to) link(`\u2192 ${wait.to.fullName}`, () => this.select({op: wait.to}));
      add("span", `[${wait.kind}]`, "quiet");
      if (wait.number > 0) {
        const cycle = this.run.cycle;
        link("Previous", () => this.select({wait: cycle[(wait.number - 2 + cycle.length) % cycle.length]}), "small");
        link("Next", () => this.select({wait: cycle[wait.number % cycle.length]}), "small");
      }
    } else {
      add("b", op.fullName);
      add("span", this.facts(op).join(", "), "quiet");
      const MAX = 4;
      for (const [word, waits] of [["It", op.waits], ["Waiting for it:", op.waiters]]) {
        for (const item of waits.slice(0, MAX)) {
          link(word === "It" ? `It ${item.sentence}` : `${word} ${item.from.fullName}`, () => this.select({wait: item}));
        }
        if (waits.length > MAX) add("span", `and ${waits.length - MAX} more`, "quiet");
      }
    }
    const parts = [["graph", "Graph"], ["timeline", "Timeline"], ["waits", "Table"]];
    for (const [id, name] of parts) {
      const section = this.element(id);
      if (!section || section.hidden) continue;
      link(name, () => section.scrollIntoView(), "small").title = `Go to it in the ${name.toLowerCase()}`;
    }
    const close = link("\u00d7", () => this.select({}), "close small");
    close.title = "Close (Escape)";
    close.setAttribute("aria-label", "Clear the selection");
    this.say(`Selected: ${panel.textContent.replace(close.textContent, "")}`);
  }

  // ---- texts about one op or wait

  facts(op, slice = op.slice) {
    const facts = [];
    if (op.microBatch > 0) facts.push(`micro-batch ${op.microBatch}`);
    facts.push(op.kind === "host" ? `thread ${op.thread}` : `stream ${op.stream}`);
    facts.push(this.run.kinds[op.kind]);
    if (op.at) facts.push(op.at);
    if (op.statement) facts.push(op.statement);
    if (slice) {
      const launch = slice === op.launchSlice && slice !== op.slice ? "launch " : "";
      if (slice.done) {
        facts.push(`${launch}from ${timeText(slice.begin)} to ${timeText(slice.end)}: ${timeText(slice.end - slice.begin)}`);
      } else {
        facts.push(`${launch}since ${timeText(slice.begin)}`);
      }
      if (slice.workBegin > slice.begin) {
        facts.push(slice.workBegin >= slice.end ? "only waits" : `waits until ${timeText(slice.workBegin)}`);
      }
    }
    if (op.stage !== "done") facts.push(op.stage);
    return facts;
  }

  describe(op) {
    const waits = op.waits.map((wait) => wait.sentence).join("; ");
    return `${op.fullName}, ${this.facts(op).join(", ")}${waits ? `; ${waits}` : ""}`;
  }

  opTooltip(op, slice = op.slice) {
    const MAX = 5;
    let text = `<b>${escaped(op.fullName)}</b><br>${escaped(this.facts(op, slice).join(", "))}`;
    for (const wait of op.waits.slice(0, MAX)) {
      text += `<br>${wait.number > 0 ? `<b>${wait.number}</b> ` : ""}${escaped(wait.sentence)}`;
    }
    if (op.waits.length > MAX) text += `<br>and ${op.waits.length - MAX} more waits`;
    if (op.waiters.length > 0) text += `<br><span class="quiet">${counted(op.waiters.length, "op")} wait for it</span>`;
    return text;
  }

  waitTooltip(wait) {
    const number = wait.number > 0 ? `<b>${wait.number}</b> ` : "";
    return `${number}<b>${escaped(wait.from.fullName)}</b> ${escaped(wait.sentence)}
      <br><span class="quiet">${escaped(wait.kind)}</span>`;
  }

  showTooltip(html, x, y) {
    const tooltip = this.element("tooltip");
    tooltip.innerHTML = html;
    tooltip.hidden = false;
    const box = tooltip.getBoundingClientRect();
    const left = x + 14 + box.width > window.innerWidth ? x - 14 - box.width : x + 14;
    const top = y + 18 + box.height > window.innerHeight ? y - 12 - box.height : y + 18;
    tooltip.style.left = `${Math.max(4, left)}px`;
    tooltip.style.top = `${Math.max(4, top)}px`;
  }

  hideTooltip() {
    this.element("tooltip").hidden = true;
  }

  say(text) {
    this.element("live").textContent = text;
  }

  listen() {
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.hideTooltip();
      this.select({});
    });
    // Keeps the bar from covering the targets of links.
    new ResizeObserver(() => {
      const bar = this.element("bar");
      const sticks = getComputedStyle(bar).position === "sticky";
      document.documentElement.style.scrollPaddingTop = sticks ? `${bar.offsetHeight + 4}px` : "4px";
    }).observe(this.element("bar"));
    let undo = [];
    window.addEventListener("beforeprint", () => {
      undo = [this.timeline, this.graph].filter(Boolean).map((part) => part.forPrint());
    });
    window.addEventListener("afterprint", () => {
      for (const back of undo) back();
      undo = [];
    });
  }
}

new Page();
