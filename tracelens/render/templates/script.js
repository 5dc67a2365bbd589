"use strict";
(() => {
  const root = document.documentElement;
  const stored = {
    get: () => { try { return localStorage.getItem("tracelens-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("tracelens-theme", value); } catch { /* no storage */ } },
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  if (["light", "dark"].includes(stored.get())) root.dataset.theme = stored.get();

  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  function theme(button) {
    const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      stored.set(root.dataset.theme);
      label();
    });
    label();
  }

  /* The data at the end of the file, as text. */
  async function data() {
    const element = byId("data");
    if (element.type.endsWith("json")) return element.textContent.trim() + "\n";
    const bytes = Uint8Array.from(atob(element.textContent.trim()), (char) => char.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  /* What can be filtered: a row of the list, and its article where it has one. */
  let items = [];
  function collect() {
    items = all(".row").map((row, position) => ({
      row, position, article: byId(row.dataset.id), words: null, wanted: true, facts: { ...row.dataset },
    }));
  }
  const words = (item) => {
    item.words ??= (item.row.textContent + (item.article?.textContent ?? "")).toLowerCase();
    return item.words;
  };
  const visible = () => items.filter((item) => item.wanted);

  /* Rows in the document: a list of thousands is laid out anew with each letter that is typed. */
  const MAX_ROWS = 300;
  let most = MAX_ROWS;
  const within = (item, list) => (item.article?.parentElement === list ? [item.row, item.article] : [item.row]);
  function draw() {
    const list = document.querySelector(".overview");
    const found = visible();
    list.replaceChildren(...found.slice(0, most).flatMap((item) => within(item, list)));
    const more = document.querySelector("[data-more]");
    if (!more) return;
    more.hidden = found.length <= most;
    more.textContent = `Show the other ${(found.length - most).toLocaleString("en")}`;
  }

  /* A pane of a drawing: its view is a part of the whole, and the words of its axis follow. */
  function zoomable(pane) {
    const [canvas, drawing] = [pane.closest(".canvas"), pane.parentElement];
    const ticks = [...drawing.querySelectorAll("text.tick")];
    const [, , whole, height] = pane.getAttribute("viewBox").split(" ").map(Number);
    const told = ticks.map((tick) => tick.textContent);
    let [from, width] = [0, whole];
    function show(start, length) {
      width = Math.min(whole, Math.max(whole / 2000, length));
      from = Math.min(whole - width, Math.max(0, start));
      pane.setAttribute("viewBox", `${from} 0 ${width} ${height}`);
      ticks.forEach((tick, at) => {
        const ms = ((from + (width * at) / (ticks.length - 1)) / whole) * Number(pane.dataset.ms);
        tick.textContent = width === whole ? told[at] : `${Number(ms.toPrecision(6))} ms`;
      });
    }
    const zoom = (factor, at = 0.5) => show(from + width * at * (1 - factor), width * factor);
    const moves = {
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show(0, whole),
      ArrowLeft: () => show(from - width / 4, width), ArrowRight: () => show(from + width / 4, width),
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(moves, event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      moves[event.key]();
    });
    const share = (event) => {
      const box = drawing.getBoundingClientRect();
      return (event.clientX - box.left) / box.width;
    };
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, share(event));
    }, { passive: false });
    let held = null;
    pane.addEventListener("pointerdown", (event) => {
      canvas.focus({ preventScroll: true });
      held = { at: share(event), from };
      pane.setPointerCapture(event.pointerId);
    });
    pane.addEventListener("pointermove", (event) => {
      if (held && width < whole) show(held.from - (share(event) - held.at) * width, width);
    });
    ["pointerup", "pointercancel"].forEach((name) => pane.addEventListener(name, () => { held = null; }));
  }

  const fact = (facts, key) => (key === "family" ? facts.code.slice(0, 3) : facts[key]);

  function filter(tools) {
    const search = tools.querySelector("[type=search]");
    const boxes = [...tools.querySelectorAll("[type=checkbox]")];
    const choices = [...tools.querySelectorAll("select[data-key]")];
    const count = tools.querySelector("[role=status]");
    const apply = () => {
      const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
      const chosen = choices.filter((select) => select.value).map((select) => [select.dataset.key, select.value]);
      const said = search.value.toLowerCase();
      let shown = 0;
      most = MAX_ROWS;
      for (const item of items) {
        const { facts } = item;
        const show = wanted.has(facts.severity) && chosen.every(([key, value]) => fact(facts, key) === value) &&
          (!said || words(item).includes(said));
        item.wanted = show;
        if (item.article && item.article.hidden === show) item.article.hidden = !show;
        shown += show;
      }
      draw();
      count.textContent = shown === items.length ? "" : `${shown} of ${items.length} shown`;
    };
    tools.addEventListener("input", apply);
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      search.value = "";
      search.blur();
      apply();
    });
    tools.querySelector("[data-sort]").addEventListener("change", (event) => sort(event.target.value));
  }

  function sort(key) {
    const number = (item) => Number(item.facts[key]);
    const text = (item) => item.facts[key] ?? "\uffff";
    const by = {
      cost: (a, b) => number(b) - number(a),
      count: (a, b) => number(b) - number(a),
      file: (a, b) => (text(a) < text(b) ? -1 : Number(text(a) > text(b))),
      code: (a, b) => (text(a) < text(b) ? -1 : Number(text(a) > text(b))),
    }[key] ?? (() => 0);
    items.sort((a, b) => by(a, b) || a.position - b.position);
    const articles = document.querySelector(".articles");
    draw();
    articles.append(...items.flatMap(({ article }) => (article?.parentElement === articles ? [article] : [])));
    all(".run").forEach((heading) => { heading.hidden = Boolean(key); });
  }

  function element(tag, kind, text, ...children) {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text) made.textContent = text;
    made.append(...children);
    return made;
  }

  /* The full text of a finding that has only its row in a long page. */
  let parsed = null;
  async function unfold(item) {
    parsed ??= JSON.parse(await data());
    const several = parsed.runs.length > 1;
    const found = parsed.findings.find((one) => (several ? `${one.run}/${one.id}` : one.id) === item.row.dataset.id);
    if (!found || item.article) return;
    const body = element("div", "body", "", element("p", "message", found.message));
    for (const advice of found.advice) {
      body.append(element("p", "", advice.text));
      for (const text of [advice.setting, advice.env, advice.code]) {
        if (text) body.append(element("pre", "excerpt", text));
      }
    }
    const quotes = found.evidence.slice(0, 40).map((line) => `${line.line} | ${line.text}`).join("\n");
    if (quotes) body.append(element("pre", "excerpt", quotes));
    item.article = element("article", "finding", "", body);
    item.article.prepend(element("header", "", "", element("h3", "", `${found.code}: ${found.title}`)));
    item.article.id = item.row.dataset.id;
    item.article.tabIndex = -1;
    item.row.after(item.article);
  }

  async function go(item) {
    const before = visible().indexOf(item);
    if (before >= most) {
      most = before + MAX_ROWS;
      draw();
    }
    if (!item.article) await unfold(item);
    item.article?.scrollIntoView({ block: "start" });
    item.article?.focus({ preventScroll: true });
  }

  function step(by) {
    const shown = visible();
    const at = shown.findIndex((item) => item.article && item.article.contains(document.activeElement));
    const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
    if (next) go(next);
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "/") {
      const search = document.querySelector("[type=search]");
      if (!search) return;
      event.preventDefault();
      search.focus();
    }
  }

  async function write(button, text, place) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      if (place) getSelection().selectAllChildren(place);
      button.textContent = place ? "Selected" : "Not allowed";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  }

  function copy(button) {
    const place = button.parentElement.querySelector("pre");
    button.addEventListener("click", () => write(button, place.textContent.trimEnd(), place));
  }

  function markdown(button) {
    button.addEventListener("click", () => {
      const texts = JSON.parse(byId("markdown").textContent);
      if (button.dataset.copy) return write(button, texts[button.dataset.copy]);
      const shown = visible().map((item) => texts[item.row.dataset.id]).filter(Boolean);
      return write(button, [texts[""], ...shown].join("\n\n"));
    });
  }

  function save(button) {
    button.addEventListener("click", async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([await data()]));
      link.download = button.dataset.save || "report.json";
      link.click();
    });
  }

  /* A link to something folded opens it. */
  function reveal() {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    const folded = target?.closest("details");
    if (folded) {
      folded.open = true;
      target.scrollIntoView();
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    collect();
    all("[data-script]").forEach((element) => { element.hidden = false; });
    all("[data-theme-button]").forEach(theme);
    all(".tools").forEach(filter);
    all(".paste button").forEach(copy);
    all("svg.pane").forEach(zoomable);
    all("[data-copy], [data-copy-all]").forEach(markdown);
    all("[data-save]").forEach(save);
    document.querySelector(".overview")?.addEventListener("click", (event) => {
      const row = event.target.closest("a")?.closest(".row");
      const item = row && items.find((one) => one.row === row);
      if (!item || (item.article && item.article.parentElement !== row.parentElement)) return;
      event.preventDefault();
      go(item);
    });
    if (items.length > most) draw();
    document.querySelector("[data-more]")?.addEventListener("click", () => {
      const next = visible()[most];
      most = Infinity;
      draw();
      next?.row.querySelector("a").focus();
    });
    document.addEventListener("keydown", keys);
    addEventListener("hashchange", reveal);
    (globalThis.requestIdleCallback ?? setTimeout)(() => { items.forEach(words); });
    reveal();
  });
  addEventListener("beforeprint", () => {
    most = Infinity;
    if (items.length > MAX_ROWS) draw();
    all(".finding details").slice(0, 50).forEach((element) => { element.open = true; });
  });
})();
