"use strict";
// Texts of documents only ever become text nodes. Offsets count code points, as Python does.

const find = (id) => document.getElementById(id);

function make(tag, options = {}, ...children) {
  const element = Object.assign(document.createElement(tag), options);
  element.append(...children);
  return element;
}

function startTheme() {
  const button = find("theme");
  const remembered = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered === "dark" || remembered === "light" ? remembered : null;
  const show = () => {
    const theme = chosen ?? (system.matches ? "dark" : "light");
    if (chosen) document.documentElement.dataset.theme = chosen;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use the ${theme === "dark" ? "light" : "dark"} theme`);
  };
  button.addEventListener("click", () => {
    chosen = (chosen ?? (system.matches ? "dark" : "light")) === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", chosen); } catch { /* a page from a file may have no storage */ }
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

function startSorting(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  const key = (row, column) => {
    const cell = row.cells[column];
    return "value" in cell.dataset && cell.dataset.value !== "" ? Number(cell.dataset.value) : cell.textContent.trim();
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const number = head.classList.contains("number");
      const ascending = head.ariaSort ? head.ariaSort === "descending" : !number;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = ascending ? "ascending" : "descending";
      const missing = (row) => number && typeof key(row, column) !== "number";
      const sorted = [...rows].sort((a, b) => missing(a) - missing(b)
        || (ascending ? 1 : -1) * compare(key(a, column), key(b, column)));
      table.tBodies[0].append(...sorted);
    });
  });
}

class Browser {
  constructor({ systems, styles, metrics, examples }) {
    Object.assign(this, { systems, styles, metrics, examples, shown: [], current: null });
    metrics.forEach(([name, label]) => find("metric").append(new Option(label, name)));
    systems.forEach((name, index) => find("system").append(new Option(name, index + 1)));
    if (systems.length < 2) find("order").querySelector("[value=disagreement]").remove();
    for (const id of ["order", "metric", "system"]) find(id).addEventListener("change", () => this.arrange());
    find("system").addEventListener("change", () => this.mark(Number(find("system").value)));
    find("search").addEventListener("input", () => this.arrange());
    find("list").addEventListener("change", () => this.show(this.shown[find("list").selectedIndex]));
    find("previous").addEventListener("click", () => this.step(-1));
    find("next").addEventListener("click", () => this.step(1));
    find("examples").addEventListener("keydown", (event) => this.press(event));
    const controls = document.querySelector(".controls");
    controls.addEventListener("submit", (event) => event.preventDefault());
    controls.hidden = document.querySelector(".browser").hidden = false;
    this.marked = 1;
    this.arrange();
  }

  score(example, index) {
    return example.scores[index]?.[find("metric").value] ?? null;
  }

  rank(example) {
    const order = find("order").value;
    if (order === "given") return 0;
    if (order === "disagreement") {
      const scores = this.systems.map((_, index) => this.score(example, index + 1)).filter((score) => score !== null);
      return scores.length ? Math.min(...scores) - Math.max(...scores) : 1;
    }
    const score = this.score(example, Number(find("system").value));
    return score === null ? 2 : order === "best" ? -score : score;
  }

  arrange() {
    const wanted = find("search").value.trim().toLowerCase();
    find("system").disabled = find("order").value === "disagreement";
    this.shown = this.examples.filter((example) => example.id.toLowerCase().includes(wanted));
    this.shown.sort((a, b) => this.rank(a) - this.rank(b));
    find("list").replaceChildren(...this.shown.map((example) => {
      const score = this.score(example, Number(find("system").value));
      return new Option(score === null ? example.id : `${(100 * score).toFixed(1)}  ${example.id}`);
    }));
    find("count").textContent = this.shown.length === this.examples.length
      ? `(${this.examples.length})` : `(${this.shown.length} of ${this.examples.length})`;
    this.show(this.shown.includes(this.current) && wanted ? this.current : this.shown[0]);
  }

  step(by) {
    const next = this.shown[this.shown.indexOf(this.current) + by];
    if (next) this.show(next);
  }

  press(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.matches("input, select:not(#list)")) return;
    event.preventDefault();
    this.step(by);
  }

  show(example) {
    const place = this.shown.indexOf(example);
    find("list").selectedIndex = place;
    find("previous").disabled = place <= 0;
    find("next").disabled = place < 0 || place === this.shown.length - 1;
    if (!example || example === this.current) return;
    this.current = example;
    find("source-title").replaceChildren("Document ", make("bdi", {}, example.id));
    const names = ["Reference", ...this.systems];
    const cards = names.map((name, index) => this.card(example, name, index)).filter((card) => card);
    find("summaries").replaceChildren(...cards);
    find("document").scrollTop = 0;
    this.mark(example.texts[this.marked] ? this.marked : Math.max(1, example.texts.findIndex((text, index) => index && text)));
  }

  card(example, name, index) {
    const text = example.texts[index];
    if (text === null || text === undefined) return null;
    const card = make("article", { className: index ? this.styles[index - 1] : "published" });
    card.dataset.index = index;
    const scores = this.metrics.filter(([metric]) => example.scores[index]?.[metric] !== undefined)
      .map(([metric, label]) => `${label} ${(100 * example.scores[index][metric]).toFixed(1)}`);
    const words = text.split(/\s+/u).filter((word) => word).length;
    const body = make("div", { className: "text", dir: "auto" }, ...this.lines(example, text, index));
    card.append(
      make("h3", {}, make("bdi", {}, name)),
      make("p", { className: "note" }, ...[`${words} words`, ...scores].flatMap((fact) => [make("span", {}, fact), " "])),
    );
    if (example.document && text.trim()) {
      const button = make("button", { type: "button", className: "show" }, "Mark in the document");
      button.addEventListener("click", () => this.mark(index));
      card.append(make("p", { className: "note" }, button));
    }
    card.append(text.trim() ? body : make("p", { className: "note" }, "(empty)"));
    return card;
  }

  lines(example, text, index) {
    const characters = Array.from(text);
    const evidence = example.evidence[index];
    if (!evidence) return this.linked(characters, example.copied[index], index, 0, characters.length);
    let start = 0;
    return text.split("\n").flatMap((line, number) => {
      const end = start + Array.from(line).length;
      const sources = evidence[number] ?? [];
      const shown = make("div", {}, ...this.linked(characters, example.copied[index], index, start, end));
      start = end + 1;
      return sources.length ? [shown, this.sources(sources, index)] : [shown];
    });
  }

  linked(characters, passages, index, from, to) {
    const parts = [];
    let position = from;
    for (const [start, end, sourceStart] of passages) {
      const [begin, stop] = [Math.max(start, from), Math.min(end, to)];
      if (begin >= stop) continue;
      const link = this.link(characters.slice(begin, stop).join(""), () => this.mark(index, sourceStart));
      parts.push(characters.slice(position, begin).join(""), make("mark", {}, link));
      position = stop;
    }
    return [...parts, characters.slice(position, to).join("")];
  }

  link(text, show) {
    const link = make("a", { href: "#document", title: "Show in the document" }, text);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      show();
    });
    return link;
  }

  sources(sources, index) {
    const quotes = sources.map(([text, start, end]) => make("blockquote", {},
      start < 0 ? text : this.link(text, () => this.mark(index, start, [[0, 0, start, end]]))));
    return make("details", { className: "source" }, make("summary", {}, "Source"), ...quotes);
  }

  mark(index, wanted = null, only = null) {
    const example = this.current;
    if (!example) return;
    this.marked = index;
    for (const card of find("summaries").children) {
      const current = Number(card.dataset.index) === index;
      card.classList.toggle("current", current);
      card.querySelector(".show")?.setAttribute("aria-pressed", current);
    }
    const passages = [...(only ?? example.copied[index] ?? [])].sort((a, b) => a[2] - b[2]);
    const characters = Array.from(example.document);
    const parts = [];
    let position = 0;
    let found = null;
    for (const [, , start, end] of passages) {
      if (end <= position) { found = start === wanted ? parts.at(-1) : found; continue; }
      const begin = Math.max(start, position);
      parts.push(characters.slice(position, begin).join(""), make("mark", {}, characters.slice(begin, end).join("")));
      if (start === wanted) found = parts.at(-1);
      position = end;
    }
    find("document").replaceChildren(...parts, characters.slice(position).join(""));
    const name = index ? this.systems[index - 1] : "the reference";
    const marked = only ? "the source of a sentence of " : `${passages.length} passages of three words or more that also occur in `;
    find("marked").replaceChildren(...(example.document
      ? [`Marked: ${marked}`, make("bdi", {}, name), "."]
      : ["The text of this document is not in the comparison."]));
    if (!found) return;
    found.className = "found";
    found.scrollIntoView({ block: "center" });
  }
}

startTheme();
document.querySelectorAll("table.sortable").forEach(startSorting);
if (find("data")) new Browser(JSON.parse(find("data").textContent));
