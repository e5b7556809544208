"use strict";

// Tables that sort by any column, filter by rank, and mark the selected row.

const compareText = new Intl.Collator("en", {numeric: true}).compare;
const FIRST_ROWS = 60;  // number of rows shown at first; a button shows the rest

const CELLS = {
  text: (value) => value,
  number: (value) => value === 0 ? "" : value,
  cycle: (value) => value === 0 ? "" : value,
  rank: (value) => value,
  ranks: (value) => ranksCell(value),
  time: (value) => timeText(value),
  bytes: (value) => bytesText(value),
};

/** Formats [[0, 3], [8, 11], ...] as "0-3, 8-11, ... 56-59 (\u00d732)". */
function ranksCell(value, all = false) {
  const parts = value.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`);
  if (!all && parts.length > 3) parts.splice(2, parts.length - 3, "...");
  const count = value.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return count === 1 ? parts[0] : `${parts.join(", ").replace("..., ", "... ")} (\u00d7${count})`;
}
const cellText = (type, value) => value === null ? "" : CELLS[type](value);

class SortTable {
  /**
   * `table`: {id, title, columns: [{name, type}], rows: [[...]]}. Optional keys: `items`, one per row;
   * `select`, called with the item of a clicked row; `ranksOf(row, item)`, the ranks of a row;
   * `sorts: false` if the order of the rows has a meaning.
   */
  constructor(host, table, page) {
    this.table = table;
    this.page = page;
    this.ranks = null;
    this.words = [];      // words that a row must contain
    this.all = false;     // whether all rows are shown, not only FIRST_ROWS
    this.column = -1;     // column of the sort order; -1: none
    this.down = false;
    this.marked = new Set();
    this.order = table.rows.map((row, index) => index);
    this.element = document.createElement("table");
    this.element.id = `table-${table.id}`;
    if (/^(cycle|waits)/.test(table.id)) this.element.className = "cards";
    this.element.append(this.head(), document.createElement("tbody"));
    host.append(this.element);
    this.more = document.createElement("button");
    this.more.type = "button";
    this.more.className = "more-rows";
    this.more.addEventListener("click", () => {
      this.all = true;
      this.draw();
    });
    host.after(this.more);
    this.element.tBodies[0].addEventListener("click", (event) => this.onClick(event));
    this.draw();
  }

  head() {
    const head = document.createElement("thead");
    const row = head.insertRow();
    this.table.columns.forEach((column, index) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.className = `c-${column.type}`;
      if (this.table.sorts === false) {
        cell.textContent = column.name;
      } else {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = column.name;
        button.title = `Sort by ${column.name}`;
        button.addEventListener("click", () => this.sortBy(index));
        cell.append(button);
      }
      row.append(cell);
    });
    return head;
  }

  /** Sorts up, then down, then restores the original order. */
  sortBy(column) {
    if (this.column !== column) {
      this.column = column;
      this.down = false;
    } else if (!this.down) {
      this.down = true;
    } else {
      this.column = -1;
    }
    const rows = this.table.rows;
    const sign = this.down ? -1 : 1;
    this.order = rows.map((row, index) => index);
    if (this.column >= 0) {
      const isText = this.table.columns[column].type === "text";
      const ofRanks = this.table.columns[column].type === "ranks";
      const value = (index) => ofRanks ? rows[index][column][0][0] : rows[index][column];
      // Ops outside the cycle, which have no number, and empty cells come last.
      const number = (index) => value(index) === null ||
          (this.table.columns[column].type === "cycle" && value(index) === 0) ? Infinity : value(index);
      this.order.sort((a, b) => {
        if (isText) return sign * compareText(value(a), value(b)) || a - b;
        return number(a) === number(b) ? a - b : sign * (number(a) < number(b) ? -1 : 1);
      });
    }
    [...this.element.tHead.rows[0].cells].forEach((cell, index) => {
      if (index === this.column) cell.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    this.draw();
  }

  shown() {
    const {rows, columns, items, ranksOf} = this.table;
    if (this.ranks !== null && columns[0].type === "ranks") {
      const chosen = [...this.ranks];
      return this.order.filter((index) =>
        rows[index][0].some(([first, last]) => chosen.some((rank) => first <= rank && rank <= last)));
    }
    if (this.words.length > 0) {
      return this.order.filter((index) => {
        const cells = rows[index].map((value, i) => String(cellText(columns[i].type, value)).toLowerCase());
        const text = cells.join(" ");
        const whole = new Set([...text.split(" "), ...cells.map((cell, i) => `${columns[i].name}=${cell}`.toLowerCase())]);
        // Compares settings as whole words: acc=3 is not acc=30.
        return this.words.every((word) => word.includes("=") ? whole.has(word) : text.includes(word));
      });
    }
    if (this.ranks === null || !ranksOf) return this.order;
    return this.order.filter((index) => {
      const ranks = ranksOf(rows[index], items ? items[index] : null);
      return ranks.length === 0 || ranks.some((rank) => this.ranks.has(rank));
    });
  }

  draw() {
    const {rows, columns, items} = this.table;
    const shown = this.shown();
    const count = this.all ? shown.length : Math.min(shown.length, FIRST_ROWS);
    let text = "";
    for (const index of shown.slice(0, count)) {
      const cells = rows[index].map((value, i) => {
        const {type, name} = columns[i];
        const content = escaped(cellText(type, value));
        const isName = items && name === this.table.nameColumn;
        const inside = isName ? `<button type="button" class="link">${content}</button>` : content;
        const whole = type === "ranks" ? ` title="ranks ${ranksCell(value, true)}"` : "";
        return `<td${whole} class="c-${type} n-${name.replace(/\W+/g, "-")}">${inside}</td>`;
      });
      const marked = this.marked.has(index) ? ' class="selected" aria-selected="true"' : "";
      text += `<tr data-row="${index}"${items ? ' data-item=""' : ""}${marked}>${cells.join("")}</tr>`;
    }
    if (shown.length === 0) {
      text = `<tr><td colspan="${columns.length}" class="quiet">${this.words.length > 0 ? "No such row." : "Nothing on these ranks."}</td></tr>`;
    }
    this.element.tBodies[0].innerHTML = text;
    this.more.hidden = count === shown.length;
    this.more.textContent = `Show all ${shown.length} rows`;
  }

  onClick(event) {
    const row = event.target.closest("tr[data-item]");
    // Ignores a click that ends a text selection.
    if (!row || String(window.getSelection()) !== "") return;
    this.table.select(this.table.items[row.dataset.row]);
  }

  filter(ranks) {
    this.ranks = ranks;
    this.draw();
  }

  /** Shows only rows that contain all words. */
  find(words) {
    this.words = words;
    this.draw();
  }

  /** Marks the rows of items, and scrolls to the first of them. */
  mark(items) {
    if (!this.table.items) return;
    const before = this.marked;
    this.marked = new Set();
    this.table.items.forEach((item, index) => {
      if (items.has(item)) this.marked.add(index);
    });
    if (before.size === 0 && this.marked.size === 0) return;
    const places = this.shown();
    if (places.findLastIndex((index) => this.marked.has(index)) >= FIRST_ROWS) this.all = true;
    const focus = this.element.contains(document.activeElement)
      ? document.activeElement.closest("tr")?.dataset.row : undefined;
    this.draw();
    if (focus !== undefined) this.element.querySelector(`tr[data-row="${focus}"] button`)?.focus();
    const row = this.element.querySelector("tr.selected");
    const frame = this.element.parentElement;
    if (!row || frame.scrollHeight <= frame.clientHeight) return;
    const head = this.element.tHead.offsetHeight;
    const top = row.offsetTop - head;
    if (top < frame.scrollTop || top + row.offsetHeight > frame.scrollTop + frame.clientHeight - head) {
      frame.scrollTop = top - 20;
    }
  }
}

/** Returns a part of a page without a run: a heading, then lines, plot and table if present. */
function partSection(part) {
  const section = document.createElement("section");
  section.id = part.id;
  section.innerHTML = `<h2>${escaped(part.title)}</h2>
    ${part.about ? `<p class="quiet">${escaped(part.about)}</p>` : ""}
    ${part.left_out.map((text) => `<p class="left-out">${escaped(text)}</p>`).join("")}
    ${part.lines.length > 0 ? `<ul>${part.lines.map((line) => `<li>${escaped(line)}</li>`).join("")}</ul>` : ""}
    ${part.svg ? `<div class="plot" tabindex="0" role="img" aria-label="${escaped(part.title)}: the table has the numbers">${part.svg}</div>` : ""}
    ${part.rows.length > 0 ? `<div class="table-frame" tabindex="0" role="region" aria-label="${escaped(part.title)}"></div>` : ""}`;
  return section;
}

/** Returns the scrollable frame of a new section with a heading, for a table. */
function tableSection(host, id, title, about, leftOut) {
  const section = document.createElement("section");
  section.id = id;
  section.innerHTML = `<h2>${escaped(title)}</h2>
    ${about ? `<p class="quiet">${escaped(about)}</p>` : ""}
    ${leftOut.map((text) => `<p class="left-out">${escaped(text)}</p>`).join("")}
    <div class="table-frame" tabindex="0" role="region" aria-label="${escaped(title)}"></div>`;
  host.append(section);
  return section.querySelector(".table-frame");
}
