"use strict";
const get = (id) => document.getElementById(id);
const form = get("form"), status = get("status"), which = get("which"), list = get("summary"), source = get("source");
let records = [], running = null;

function say(text, isError = false) {
  status.textContent = text;
  status.classList.toggle("error", isError);
}

/* Marks sentence `line` of the summary and its passages in the source, or no longer. What has the focus stays marked. */
function mark(line, on, from) {
  for (const each of document.querySelectorAll(".on")) each.classList.remove("on");
  for (const marked of [document.activeElement.dataset.line, on ? line : undefined])
    for (const each of document.querySelectorAll(`[data-line="${marked}"]`)) each.classList.add("on");
  if (!on) return;
  const other = (from === "summary" ? source : list).querySelector(`[data-line="${line}"]`);
  if (other) other.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

function link(element, line, from) {
  element.dataset.line = line;
  element.tabIndex = 0;
  element.addEventListener("mouseenter", () => mark(line, true, from));
  element.addEventListener("mouseleave", () => mark(line, false, from));
  element.addEventListener("focus", () => mark(line, true, from));
  element.addEventListener("blur", () => mark(line, false, from));
  element.addEventListener("click", () => mark(line, true, from));
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    const other = (from === "summary" ? source : list).querySelector(`[data-line="${line}"]`);
    if (other) other.focus();
  });
}

/* Offsets count characters, as Python does; JavaScript counts UTF-16 units. */
function showSource(text, evidence) {
  source.replaceChildren();
  const characters = Array.from(text);
  const passages = [];
  evidence.forEach((spans, line) => spans.forEach((span) => passages.push({ line, start: span.start, end: span.end })));
  passages.sort((one, other) => one.start - other.start || one.end - other.end);
  let position = 0;
  for (const passage of passages) {
    const start = Math.max(passage.start, position);
    if (passage.end <= start) continue;
    source.append(characters.slice(position, start).join(""));
    const marked = document.createElement("mark");
    marked.textContent = characters.slice(start, passage.end).join("");
    marked.setAttribute("aria-label", `Evidence of sentence ${passage.line + 1}: ${marked.textContent}`);
    link(marked, passage.line, "source");
    source.append(marked);
    position = passage.end;
  }
  source.append(characters.slice(position).join(""));
}

function show(record) {
  const evidence = record.evidence || [];
  list.replaceChildren();
  (record.summary || "").split("\n").filter(Boolean).forEach((text, line) => {
    const item = document.createElement("li");
    item.textContent = text;
    if (evidence[line]) link(item, line, "summary");
    list.append(item);
  });
  const notes = [`${record.source_tokens.toLocaleString("en")} tokens were read, ${record.dropped_tokens.toLocaleString("en")} were not.`, ...record.notes];
  if (record.status === "failed") notes.unshift(`This document failed: ${record.error}`);
  if (record.status === "empty") notes.unshift("This document has no text.");
  get("notes").replaceChildren(...notes.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  showSource(record.text || "", evidence);
}

function add(record) {
  records.push(record);
  const option = document.createElement("option");
  option.textContent = record.title || record.id;
  which.append(option);
  get("which-label").hidden = records.length < 2;
  get("result").hidden = false;
  if (records.length === 1) show(record);
}

function request() {
  const settings = {};
  for (const name of ["method", "length"]) if (get(name).value) settings[name] = get(name).value;
  const headers = get("key").value ? { Authorization: `Bearer ${get("key").value}` } : {};
  const file = get("file").files[0];
  if (file) {
    const query = new URLSearchParams({ ...settings, stream: "true" });
    headers["Content-Type"] = "application/octet-stream";
    headers["X-File-Name"] = encodeURIComponent(file.name);
    return [`v1/files?${query}`, { method: "POST", headers, body: file }];
  }
  headers["Content-Type"] = "application/json";
  const body = JSON.stringify({ texts: [get("text").value], settings, stream: true });
  return ["v1/summaries", { method: "POST", headers, body }];
}

/* Server-sent events are read from the answer: EventSource cannot send a document. */
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [name, data] = part.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
      yield { name, data: JSON.parse(data) };
    }
  }
}

async function summarize() {
  running = new AbortController();
  records = [];
  which.replaceChildren();
  get("result").hidden = get("which-label").hidden = true;
  get("start").disabled = true;
  get("stop").disabled = false;
  say("Reading and summarizing …");
  try {
    const [path, options] = request();
    const answer = await fetch(path, { ...options, signal: running.signal });
    if (!answer.ok) {
      if (answer.status === 401) get("key-label").hidden = false;
      throw new Error((await answer.json()).error);
    }
    for await (const event of events(answer)) {
      if (event.name === "error") throw new Error(event.data.error);
      if (event.name === "summary") {
        add(event.data);
        say(records.length === 1 ? "The summary is ready." : `${records.length} summaries are ready.`);
      }
    }
    if (!records.length) say("There is no document in this file.", true);
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped." : `It failed: ${error.message}`, error.name !== "AbortError");
  } finally {
    get("start").disabled = false;
    get("stop").disabled = true;
    running = null;
  }
}

function chosen() {
  return records[Math.max(0, which.selectedIndex)];
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!get("text").value.trim() && !get("file").files.length) return say("Paste a text or choose a file.", true);
  if (!running) summarize();
});
get("stop").addEventListener("click", () => running && running.abort());
get("text").addEventListener("input", () => { get("file").value = ""; });
which.addEventListener("change", () => show(chosen()));
get("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(chosen().summary || "");
    say("The summary is copied.");
  } catch {
    say("The browser does not allow copying here.", true);
  }
});
get("download").addEventListener("click", () => {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob([`${chosen().summary || ""}\n`], { type: "text/plain" }));
  anchor.download = "summary.txt";
  anchor.click();
  URL.revokeObjectURL(anchor.href);
});
for (const name of ["dragover", "dragleave", "drop"]) {
  form.addEventListener(name, (event) => {
    event.preventDefault();
    form.classList.toggle("over", name === "dragover");
    if (name === "drop" && event.dataTransfer.files.length) {
      get("file").files = event.dataTransfer.files;
      get("text").value = "";
    }
  });
}
fetch("healthz").then((answer) => answer.json()).then((health) => {
  get("model").textContent = `Model: ${health.model}. The documents stay on this server, and nothing of them is kept.`;
}).catch(() => {});
