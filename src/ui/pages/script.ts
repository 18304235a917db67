/**
 * The one script of the pages. They work without it: it tells the server that a page is open, and adds keys. `/` goes to
 * the search, the arrows (or j and k) to the next row, Enter opens it, `e` edits, `u` undoes, and
 * other letters click what has them as `data-key`. A file that is dropped on a
 * page with a field for one goes into that field.
 */
export const SCRIPT = `
(() => {
  const page = Math.random().toString(36).slice(2);
  const tell = (what) => navigator.sendBeacon("/" + what + "?page=" + page);
  addEventListener("pageshow", () => tell("open"));
  addEventListener("pagehide", () => tell("left"));
  setInterval(() => tell("open"), 600000);
  const rows = () => [...document.querySelectorAll("[data-row] a")];
  const move = (by) => {
    const all = rows();
    const at = all.indexOf(document.activeElement);
    const to = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
    if (to) to.focus();
  };
  const click = (key) => {
    const target = document.querySelector('[data-key="' + key + '"]');
    if (target) target.click();
    return target !== null;
  };
  const file = document.querySelector("input[type=file]");
  if (file) {
    const check = () => {
      const large = file.files.length > 0 && file.files[0].size > Number(file.dataset.max);
      document.getElementById("too-large").hidden = !large;
      return large;
    };
    file.addEventListener("change", check);
    file.form.addEventListener("submit", (event) => {
      if (check()) event.preventDefault();
    });
    for (const kind of ["dragover", "dragleave", "drop"]) {
      addEventListener(kind, (event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        file.classList.toggle("drop", kind === "dragover");
        if (kind !== "drop" || event.dataTransfer.files.length !== 1) return;
        file.files = event.dataTransfer.files;
        check();
        file.focus();
      });
    }
  }
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { key, target } = event;
    if (target.closest("input, textarea, select")) return;
    if (key === "/") {
      const search = document.querySelector("input[type=search]");
      if (!search) return;
      search.focus();
      search.select();
    } else if (key === "ArrowDown" || key === "j") move(1);
    else if (key === "ArrowUp" || key === "k") move(-1);
    else if (!/^[a-z]$/.test(key) || !click(key)) return;
    event.preventDefault();
  });
})();
`;
