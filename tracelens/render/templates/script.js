"use strict";
(() => {
  const root = document.documentElement;
  const stored = {
    get: () => { try { return localStorage.getItem("tracelens-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("tracelens-theme", value); } catch { /* no storage */ } },
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
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

  function filter(tools) {
    const search = tools.querySelector("[type=search]");
    const boxes = [...tools.querySelectorAll("[type=checkbox]")];
    const count = tools.querySelector("[role=status]");
    const findings = all(".finding");
    const apply = () => {
      const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
      const words = search.value.toLowerCase();
      let shown = 0;
      for (const finding of findings) {
        const show = wanted.has(finding.dataset.severity) && finding.textContent.toLowerCase().includes(words);
        finding.hidden = !show;
        shown += show;
      }
      count.textContent = shown === findings.length ? "" : `${shown} of ${findings.length} shown`;
    };
    tools.addEventListener("input", apply);
  }

  function copy(button) {
    const text = button.parentElement.querySelector("pre").textContent.trimEnd();
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  function save(button) {
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([document.getElementById("data").textContent.trim() + "\n"]));
      link.download = "report.json";
      link.click();
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    all("[data-script]").forEach((element) => { element.hidden = false; });
    all("[data-theme-button]").forEach(theme);
    all(".tools").forEach(filter);
    all(".paste button").forEach(copy);
    all("[data-save]").forEach(save);
  });
  addEventListener("beforeprint", () => { all("details").forEach((element) => { element.open = true; }); });
})();
