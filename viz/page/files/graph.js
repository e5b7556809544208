"use strict";

// The wait-for graph: adds zoom, selection and tooltips to the SVG from Graphviz.

/** Pan and zoom of an SVG by its viewBox, with mouse, touch, wheel and keys. */
class PanZoom {
  constructor(frame, svg) {
    this.frame = frame;
    this.svg = svg;
    const box = svg.viewBox.baseVal;
    this.whole = {x: box.x, y: box.y, width: box.width, height: box.height};
    this.view = {...this.whole};
    this.pointers = new Map();
    this.moved = false;  // whether a pointer was dragged: a drag is not a click
    frame.addEventListener("wheel", (event) => this.onWheel(event), {passive: false});
    frame.addEventListener("pointerdown", (event) => this.onDown(event));
    frame.addEventListener("pointermove", (event) => this.onMove(event));
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      frame.addEventListener(name, (event) => this.onUp(event));
    }
  }

  show() {
    const {x, y, width, height} = this.view;
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  }

  /** Returns screen pixels per unit of the picture. */
  scale() {
    const frame = this.svg.getBoundingClientRect();
    return Math.min(frame.width / this.view.width, frame.height / this.view.height) || 1;
  }

  /** Converts a point of the screen to a point of the picture. */
  pointAt(x, y) {
    const point = new DOMPoint(x, y).matrixTransform(this.svg.getScreenCTM().inverse());
    return {x: point.x, y: point.y};
  }

  fit() {
    this.view = {...this.whole};
    this.show();
  }

  zoom(factor, at = null) {
    const centre = at || {x: this.view.x + this.view.width / 2, y: this.view.y + this.view.height / 2};
    const width = Math.min(this.whole.width * 2, Math.max(this.whole.width / 50, this.view.width / factor));
    const real = this.view.width / width;
    this.view = {
      x: centre.x - (centre.x - this.view.x) / real,
      y: centre.y - (centre.y - this.view.y) / real,
      width, height: this.view.height / real,
    };
    this.show();
  }

  move(dx, dy) {
    const scale = this.scale();
    this.view.x -= dx / scale;
    this.view.y -= dy / scale;
    this.show();
  }

  /** Moves the view to the rectangle, and zooms out if necessary. */
  reveal(box) {
    const margin = 30;
    const need = {
      x: box.x - margin, y: box.y - margin, width: box.width + 2 * margin, height: box.height + 2 * margin,
    };
    const factor = Math.max(need.width / this.view.width, need.height / this.view.height);
    if (factor > 1) this.zoom(1 / factor);
    const view = this.view;
    const inside = need.x >= view.x && need.y >= view.y &&
        need.x + need.width <= view.x + view.width && need.y + need.height <= view.y + view.height;
    if (!inside) {
      view.x = need.x + need.width / 2 - view.width / 2;
      view.y = need.y + need.height / 2 - view.height / 2;
    }
    this.show();
  }

  onWheel(event) {
    // The wheel without a modifier key scrolls the page.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 300), this.pointAt(event.clientX, event.clientY));
  }

  onDown(event) {
    if (event.button !== 0) return;
    this.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    if (this.pointers.size === 1) {
      this.start = {x: event.clientX, y: event.clientY};
      this.moved = false;
    }
  }

  onMove(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const now = {x: event.clientX, y: event.clientY};
    if (!this.moved && Math.hypot(now.x - this.start.x, now.y - this.start.y) < 4) return;
    if (!this.moved) {
      this.moved = true;
      this.frame.setPointerCapture(event.pointerId);
    }
    if (this.pointers.size === 1) {
      this.move(now.x - last.x, now.y - last.y);
    } else {
      const [a, b] = [...this.pointers.entries()].map(([id, at]) => id === event.pointerId ? now : at);
      const [c, d] = [...this.pointers.values()];
      const before = Math.hypot(c.x - d.x, c.y - d.y);
      const after = Math.hypot(a.x - b.x, a.y - b.y);
      if (before > 0) this.zoom(after / before, this.pointAt((a.x + b.x) / 2, (a.y + b.y) / 2));
      // Moves the picture by the mean movement of two fingers. One finger alone scrolls the page.
      this.move((now.x - last.x) / 2, (now.y - last.y) / 2);
    }
    this.pointers.set(event.pointerId, now);
  }

  onUp(event) {
    this.pointers.delete(event.pointerId);
  }
}

/** The graph and its interactions. `page` is the state shared by all parts, see page.js. */
class WaitGraph {
  constructor(frame, run, page) {
    this.frame = frame;
    this.run = run;
    this.page = page;
    this.svg = frame.querySelector("svg");
    this.opOf = new Map();    // node -> op
    this.nodeOf = new Map();   // index of an op -> node
    this.edgeOf = new Map();   // index of a wait -> edge
    this.waitOf = new Map();   // edge -> wait; node of a root -> first wait for this root
    this.focused = null;       // node with the keyboard focus
    this.findParts();
    this.size();
    this.panZoom = new PanZoom(frame, this.svg);
    this.listen();
    this.begin();
  }

  // Maps the nodes and edges to ops and waits, by the titles from Graphviz: "rank 0 B0#1" or
  // "A->B".
  findParts() {
    const ops = new Map(this.run.ops.map((op) => [op.fullName, op]));
    const waits = new Map();
    for (const wait of this.run.waits) {
      const name = `${wait.from.fullName}->${wait.toText}`;
      if (!waits.has(name)) waits.set(name, wait);
    }
    this.nodes = [];
    for (const group of this.svg.querySelectorAll("g.node, g.edge")) {
      const title = group.querySelector("title");
      let name = title ? title.textContent.trim() : "";
      // The title of an edge that is drawn upward has its two nodes in reverse order.
      const back = name.split("->").reverse().join("->");
      if (!waits.has(name) && waits.has(back)) name = back;
      // The browser would show the title as a second tooltip.
      if (title) title.remove();
      group.dataset.name = name;
      if (group.classList.contains("node")) {
        this.addNode(group, name, ops.get(name), this.run.waits.find((wait) => !wait.to && wait.toText === name));
      } else {
        this.addEdge(group, waits.get(name));
      }
    }
    for (const title of this.svg.querySelectorAll("title")) title.remove();
    // Removes Graphviz's background and title, because the page has a background and title already.
    const whole = this.svg.querySelector("g.graph");
    for (const part of [...whole.children]) {
      if (part.tagName === "polygon" || part.tagName === "text") part.remove();
    }
    const box = this.box(whole);
    const margin = 6;
    this.svg.setAttribute("viewBox", [box.x - margin, box.y - margin, box.width + 2 * margin, box.height + 2 * margin].join(" "));
  }

  addNode(group, name, op, waiter) {
    group.setAttribute("role", "img");
    this.nodes.push(group);
    if (!op) {
      group.classList.add("other");
      group.setAttribute("aria-label", group.textContent.trim().replace(/\s+/g, " "));
      const rank = /^rank (\d+)\b/.exec(name);
      if (rank) group.dataset.rank = rank[1];
      if (waiter) this.waitOf.set(group, waiter);
      if (waiter && waiter.isRoot) group.classList.add("on-cycle");
      return;
    }
    group.setAttribute("aria-label", this.page.describe(op));
    group.dataset.rank = op.rank;
    if (op.onCycle || op.isRoot) group.classList.add("on-cycle");
    this.opOf.set(group, op);
    this.nodeOf.set(op.index, group);
  }

  addEdge(group, wait) {
    if (!wait) {
      group.classList.add("other");
      return;
    }
    if (wait.number > 0 || wait.isRoot) group.classList.add("on-cycle");
    this.edgeOf.set(wait.index, group);
    this.waitOf.set(group, wait);
    // Adds a wide invisible line, because the visible line is too thin for touch or mouse.
    const path = group.querySelector("path");
    if (!path) return;
    const wide = path.cloneNode();
    wide.setAttribute("class", "wide");
    group.prepend(wide);
  }

  // Sets a readable height, limited to a little more than the height of the screen.
  size() {
    const box = this.svg.viewBox.baseVal;
    const scale = Math.min(1.1, this.frame.clientWidth / box.width);
    const most = Math.max(window.innerHeight * 0.75, Math.min(window.innerHeight * 1.2, box.height * 0.85));
    const height = Math.min(most, Math.max(200, box.height * scale));
    this.svg.setAttribute("width", "100%");
    this.svg.setAttribute("height", Math.round(height));
    this.svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
  }

  // Shows the whole graph, or the start of the cycle if the whole graph would be too small to read.
  begin() {
    this.panZoom.fit();
    // Accepts a smaller scale in a narrow window, where users zoom with two fingers.
    const readable = window.innerWidth < 640 ? 0.4 : 0.55;
    const scale = this.panZoom.scale();
    if (scale >= readable) return;
    const first = this.run.cycle.length > 0 ? this.nodeOf.get(this.run.cycle[0].from.index) : null;
    this.panZoom.zoom(readable / scale);
    if (first) this.centre(this.box(first));
  }

  centre(box) {
    const view = this.panZoom.view;
    const {whole} = this.panZoom;
    // Avoids empty space next to the picture, if possible.
    const within = (middle, length, from, all) => length >= all
      ? from + (all - length) / 2 : Math.max(from, Math.min(from + all - length, middle - length / 2));
    view.x = within(box.x + box.width / 2, view.width, whole.x, whole.width);
    view.y = within(box.y + box.height / 2, view.height, whole.y, whole.height);
    this.panZoom.show();
  }

  /** Returns the box of an element in units of the viewBox. */
  box(element) {
    const box = element.getBBox();
    const matrix = this.svg.getScreenCTM().inverse().multiply(element.getScreenCTM());
    const from = new DOMPoint(box.x, box.y).matrixTransform(matrix);
    const to = new DOMPoint(box.x + box.width, box.y + box.height).matrixTransform(matrix);
    return {x: Math.min(from.x, to.x), y: Math.min(from.y, to.y),
            width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y)};
  }

  partAt(event) {
    const group = event.target.closest ? event.target.closest("g.node, g.edge") : null;
    return group && this.svg.contains(group) ? group : null;
  }

  listen() {
    this.frame.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      const group = this.partAt(event);
      const text = group ? this.tooltip(group) : null;
      if (text && !this.panZoom.moved) {
        this.page.showTooltip(text, event.clientX, event.clientY);
      } else {
        this.page.hideTooltip();
      }
    });
    this.frame.addEventListener("pointerleave", () => this.page.hideTooltip());
    this.frame.addEventListener("click", (event) => {
      if (this.panZoom.moved) return;
      const group = this.partAt(event);
      if (group) this.choose(group);
    });
    this.frame.addEventListener("keydown", (event) => this.onKey(event));
    this.frame.addEventListener("blur", () => this.focusNode(null));
    window.addEventListener("resize", () => this.size());
  }

  tooltip(group) {
    const op = this.opOf.get(group);
    if (op) return this.page.opTooltip(op);
    const wait = this.waitOf.get(group);
    if (group.classList.contains("node")) {
      return `<b>${escaped(group.getAttribute("aria-label"))}</b>`;
    }
    if (wait) return this.page.waitTooltip(wait);
    return null;
  }

  choose(group) {
    const op = this.opOf.get(group);
    const wait = this.waitOf.get(group);
    if (op) this.page.select({op});
    if (wait) this.page.select({wait});
  }

  onKey(event) {
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps[event.key]) {
      const [dx, dy] = steps[event.key];
      if (event.shiftKey) this.panZoom.move(-60 * dx, -60 * dy);
      else this.focusNode(this.next(dx, dy));
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.focused) this.choose(this.focused);
    } else if (event.key === "+" || event.key === "=") {
      this.panZoom.zoom(1.3);
    } else if (event.key === "-") {
      this.panZoom.zoom(1 / 1.3);
    } else if (event.key === "0") {
      this.panZoom.fit();
    } else {
      return;
    }
    event.preventDefault();
  }

  // Returns the nearest node in a direction; a sideways distance counts more.
  next(dx, dy) {
    if (!this.focused) return this.nodeOf.get(this.run.cycle[0]?.from.index) || this.nodes[0];
    const centre = (node) => {
      const box = node.getBoundingClientRect();
      return {x: box.x + box.width / 2, y: box.y + box.height / 2};
    };
    const from = centre(this.focused);
    let best = null;
    let least = Infinity;
    for (const node of this.nodes) {
      const to = centre(node);
      const along = (to.x - from.x) * dx + (to.y - from.y) * dy;
      const aside = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
      if (node === this.focused || along < 1) continue;
      if (along + 2 * aside < least) {
        least = along + 2 * aside;
        best = node;
      }
    }
    return best || this.focused;
  }

  focusNode(node) {
    if (this.focused) this.focused.classList.remove("focused");
    this.focused = node;
    if (!node) return;
    node.classList.add("focused");
    this.panZoom.reveal(this.box(node));
    this.page.say(node.getAttribute("aria-label"));
  }

  /** Marks the selection and moves it into view. */
  mark(selection) {
    for (const marked of this.svg.querySelectorAll(".selected, .end")) {
      marked.classList.remove("selected", "end");
    }
    const parts = [];
    const add = (op, name) => {
      const node = this.nodeOf.get(op.index);
      if (!node) return;
      node.classList.add(name);
      parts.push(node);
    };
    for (const op of selection.ends) add(op, "end");
    for (const op of selection.ops) add(op, "selected");
    for (const wait of selection.waits) this.edgeOf.get(wait.index)?.classList.add("selected");
    if (parts.length === 0) return;
    const boxes = parts.map((part) => this.box(part));
    const x = Math.min(...boxes.map((box) => box.x));
    const y = Math.min(...boxes.map((box) => box.y));
    this.panZoom.reveal({
      x, y,
      width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
      height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
    });
  }

  /** Fades the nodes of all ranks outside `ranks` (null: none). The layout stays. */
  filter(ranks) {
    for (const node of this.nodes) {
      const hidden = ranks !== null && node.dataset.rank !== undefined && !ranks.has(Number(node.dataset.rank));
      node.classList.toggle("faded", hidden);
    }
    for (const [edge, wait] of this.waitOf) {
      if (edge.classList.contains("node")) continue;
      const shown = ranks === null || ranks.has(wait.from.rank) || (wait.to && ranks.has(wait.to.rank));
      edge.classList.toggle("faded", !shown);
    }
  }

  /** Shows the whole graph for printing. Returns a function that restores the view. */
  forPrint() {
    const view = {...this.panZoom.view};
    this.panZoom.fit();
    return () => {
      this.panZoom.view = view;
      this.panZoom.show();
    };
  }
}
